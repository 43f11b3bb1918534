"""A role's pages stand in the navigation of whoever may read them, and a call is found by its key."""

from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse

from agentops.registry import roles
from agentops.registry.screens import Screens
from agentops.runtime.models import Invocation
from agentops.tenancy.models import Membership, Role
from tests.console.conftest import DONE, Stage, pay, signed_in


def labels(client: Client) -> list[str]:
    return [item.label for item in client.get("/").context["shell"].nav]


@pytest.fixture
def with_pages(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    """The toy role brings the list of sessions as its page, for support staff."""
    screens = Screens("Toys", "sum", "session_list", "agentops.console.urls", frozenset({Role.SUPPORT}))
    spec = replace(stage.toy.spec(), screens=screens)
    monkeypatch.setattr(roles, "all_roles", lambda: (spec,))


def test_a_role_without_pages_has_no_entry(stage: Stage) -> None:
    assert labels(signed_in(stage.cast.bob)) == ["Home", "Approvals", "Sessions", "Operations"]


@pytest.mark.usefixtures("with_pages")
def test_pages_are_shown_to_their_readers(stage: Stage) -> None:
    assert labels(signed_in(stage.cast.bob)) == ["Home", "Approvals", "Sessions", "Toys", "Operations"]
    assert labels(signed_in(stage.cast.alice)) == ["Home", "Approvals", "Sessions", "Operations"]


def test_a_key_leads_to_the_step_of_its_call(stage: Stage) -> None:
    session = stage.work(pay(), DONE)
    made = Invocation.objects.get(session_id=session.pk)
    url = reverse("call", args=[made.idempotency_key])
    expected = f"/sessions/{session.pk}/?at={made.position}#step-{made.position}"
    assert signed_in(stage.cast.bob).get(url).headers["Location"] == expected
    assert signed_in(stage.cast.charlie).get(url).status_code == 404
    assert signed_in(stage.cast.bob).get("/calls/nothing/").status_code == 404
    assert Membership.objects.filter(user=stage.cast.charlie).exists()
