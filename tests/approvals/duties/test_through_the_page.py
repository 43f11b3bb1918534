"""Something irreversible, approved by two people through the page, from the question to the effect."""

from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from agentops.tenancy.models import Role
from approvals.models import Decision
from tests.approvals.conftest import Stage, client_of, decide, page_url
from tests.approvals.duties.conftest import approver, lend
from tests.factories.factors import add_app, step_up
from tests.factories.irreversible import FinalToy
from tests.factories.people import make_person

pytestmark = pytest.mark.django_db

FIELDS = {"acknowledged": "50.00 USD", "checked": "The account."}


@pytest.fixture(autouse=True)
def nothing_counted() -> Iterator[None]:
    cache.clear()
    yield
    cache.clear()


def test_two_people_with_fresh_factors_carry_it_out(final: FinalToy, stage: Stage, alice: Client) -> None:
    request, dave = stage.ask(), approver(stage, "dave")
    add_app(stage.cast.alice)
    add_app(dave)
    refused = decide(alice, request, **FIELDS)
    assert refused.status_code == 302
    assert refused.headers["Location"].startswith(reverse("step_up"))
    assert Decision.objects.count() == 0
    step_up(alice)
    assert decide(alice, request, **FIELDS).status_code == 302
    assert stage.work() == 0
    other = client_of(dave)
    step_up(other)
    assert decide(other, request, acknowledged="49.00 USD", checked="x").status_code == 422
    assert decide(other, request, **FIELDS).status_code == 302
    stage.work()
    assert len(stage.toy.vendor.calls) == 1
    kept = Decision.objects.order_by("pk").values_list("person__username", "stepped_up", "acknowledged")
    assert list(kept) == [("alice", "totp", "50.00 USD"), ("dave", "totp", "50.00 USD")]


def test_whoever_has_no_factor_is_led_to_add_one(final: FinalToy, stage: Stage, alice: Client) -> None:
    request = stage.ask()
    answer = alice.post(
        reverse("approval_decide", args=[request.pk]),
        {"verb": "approve", "digest": request.digest, **FIELDS},
        follow=True,
    )
    page = answer.content.decode()
    assert "Add one, then go on" in page
    assert page_url(request) in answer.redirect_chain[-1][0].replace("%2F", "/")


def test_delegated_decision_is_made_on_the_page(stage: Stage) -> None:
    request = stage.ask()
    erin = make_person("erin", stage.cast.tenant, Role.SUPPORT)
    lend(stage, stage.cast.alice, erin)
    answer = decide(client_of(erin), request, checked="x", on_behalf_of=str(stage.cast.alice.pk))
    assert answer.status_code == 302, answer.content.decode()[:3000]
    assert Decision.objects.get().on_behalf_of == stage.cast.alice
