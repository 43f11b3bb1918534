"""What cannot be undone, on the page: a typed fact, a second factor, two people who do not see each other's verdict."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals.models import Decision, Delegation, Draft
from tests.approvals.conftest import Stage, page_url
from tests.approvals.duties.conftest import final  # noqa: F401 - a fixture
from tests.approvals.request.conftest import body_of, send, state
from tests.factories.factors import add_app, step_up
from tests.factories.irreversible import FinalToy

pytestmark = pytest.mark.django_db
FACT = {"acknowledged": "50.00 USD", "checked": "Ann's invoice."}


def prove(client: Client, person: User) -> None:
    """Let the person show their authenticator app in this browser."""
    add_app(person)
    step_up(client)


def test_page_says_what_approving_takes_and_never_what_to_type(final: FinalToy, stage: Stage, alice: Client) -> None:  # noqa: F811
    body = body_of(alice, stage.ask())
    assert "Type the amount with its currency" in body
    assert 'id="acknowledged" name="acknowledged" autocomplete="off"' in body
    assert "0 of 2" in body
    assert "Your second factor is asked for first" in body
    assert "50.00 USD" not in body


def test_wrong_fact_comes_back_at_its_field_and_is_not_filled_in_again(
    final: FinalToy,  # noqa: F811
    stage: Stage,
    alice: Client,
) -> None:
    request = stage.ask()
    prove(alice, stage.cast.alice)
    for typed in ("", "yes", "5.00 USD"):
        response = send(alice, request, "approve", checked="Seen.", acknowledged=typed)
        panel = response.context["page"].panel
        assert (response.status_code, set(panel.errors)) == (422, {"acknowledged"})
        assert panel.draft.checked == "Seen."
        assert f'value="{typed}"' not in response.content.decode() or not typed
    assert Decision.objects.count() == 0


def test_stale_factor_leads_to_proving_again_with_the_draft_kept(
    final: FinalToy,  # noqa: F811
    stage: Stage,
    alice: Client,
) -> None:
    request = stage.ask()
    response = send(alice, request, "approve", **FACT)
    assert response.status_code == 302
    assert response["Location"].startswith(reverse("step_up"))
    assert str(request.pk) in response["Location"]
    assert Draft.objects.get().fields["checked"] == "Ann's invoice."
    assert (state(request), Decision.objects.count()) == ("pending", 0)


def test_two_people_approve_blind_and_it_happens_once(
    final: FinalToy,  # noqa: F811
    stage: Stage,
    alice: Client,
    dave: Client,
    dave_: User,
) -> None:
    request = stage.ask()
    prove(alice, stage.cast.alice)
    prove(dave, dave_)
    assert "Your second factor was confirmed in the last minutes." in body_of(alice, request)
    assert send(alice, request, "approve", **FACT).status_code == 302
    body = body_of(dave, request)
    assert "1 of 2" in body
    assert "invoice" not in body
    assert alice.get(page_url(request)).context["page"].panel is None
    assert send(dave, request, "approve", **FACT).status_code == 302
    stage.work()
    assert len(stage.toy.vendor.calls) == 1
    assert "signed in again by totp" in body_of(alice, request)


def test_delegate_chooses_in_whose_name_and_both_names_are_told(
    stage: Stage, alice: Client, dave: Client, dave_: User
) -> None:
    now = timezone.now()
    request = stage.ask()
    assert "for myself" not in body_of(dave, request)
    Delegation.objects.create(
        tenant=stage.cast.tenant,
        giver=stage.cast.alice,
        taker=dave_,
        begins=now,
        ends=now + timedelta(days=1),
    )
    body = body_of(dave, request)
    assert "for myself" in body
    assert "for alice" in body
    for wrong in ("999999", str(stage.cast.bob.pk), "x"):
        assert send(dave, request, "approve", checked="ok", on_behalf_of=wrong).status_code == 422
    assert send(dave, request, "approve", checked="ok", on_behalf_of=str(stage.cast.alice.pk)).status_code == 302
    assert Decision.objects.get().on_behalf_of == stage.cast.alice
    assert "dave for you" in body_of(alice, request)
