"""What cannot be undone takes two people, a fresh second factor, and a fact that was read and typed."""

import pytest
from django.contrib.auth.models import User

from agentops.ledger.models import LedgerEvent
from approvals.duties.acknowledge import fact_of
from approvals.models import ApprovalRequest, Decision
from approvals.refusals import NeedsAcknowledgement, NeedsReason, NeedsStepUp
from tests.approvals.conftest import Stage
from tests.approvals.duties.conftest import vote
from tests.factories.irreversible import FinalToy

pytestmark = pytest.mark.django_db

WELL = {"acknowledged": "50.00 USD", "stepped_up": "totp"}


def test_two_people_and_both_say_what_and_prove_to_be_there(final: FinalToy, stage: Stage, dave: User) -> None:
    request = stage.ask()
    assert (request.irreversible, request.people, fact_of(request).expected) == (True, 2, "50.00 USD")
    assert vote(request, stage.cast.alice, **WELL).missing == 1
    stage.work()
    assert stage.toy.vendor.calls == []
    with pytest.raises(NeedsStepUp):
        vote(request, dave, acknowledged="usd 50")
    with pytest.raises(NeedsAcknowledgement):
        vote(request, dave, acknowledged="5.00 USD", stepped_up="webauthn")
    assert vote(request, dave, acknowledged=" usd 50", stepped_up="webauthn").missing == 0
    kept = Decision.objects.order_by("pk").values_list("acknowledged", "stepped_up")
    assert list(kept) == [("50.00 USD", "totp"), ("usd 50", "webauthn")]
    facts = LedgerEvent.objects.get(stream=request.session_id, type="approval.approved").facts
    assert (facts["acknowledged"], facts["stepped_up"]) == ("usd 50", "webauthn")
    stage.work()
    assert len(stage.toy.vendor.calls) == 1


def test_rejecting_takes_a_reason_and_no_more(final: FinalToy, stage: Stage) -> None:
    request = stage.ask()
    with pytest.raises(NeedsReason):
        vote(request, stage.cast.alice, "reject")
    vote(request, stage.cast.alice, "reject", reason="Not owed.")
    assert ApprovalRequest.objects.get().state == "rejected"


def test_the_same_vote_sent_again_needs_nothing_more(final: FinalToy, stage: Stage) -> None:
    request = stage.ask()
    vote(request, stage.cast.alice, **WELL)
    assert vote(request, stage.cast.alice).repeated


def test_what_can_be_undone_takes_one_person_and_nothing_typed(stage: Stage) -> None:
    request = stage.ask()
    assert request.people == 1
    assert vote(request, stage.cast.alice).missing == 0
