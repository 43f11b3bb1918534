"""For some seconds an approval can be taken back; then it is handed over, once, whoever drives that."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from agentops.runtime.control import cancel_session
from agentops.runtime.freezing import freeze
from agentops.runtime.models import Session
from agentops.runtime.sweep import sweep_once
from approvals.models import Act, ApprovalRequest, Decision
from approvals.operations import dispatch_due, take_back
from approvals.refusals import NotAllowed, TooLate
from tests.approvals.conftest import Stage
from tests.approvals.duties.conftest import needs, vote

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def ten_seconds(settings: Any) -> None:
    settings.APPROVAL_UNDO_SECONDS = 10


def state() -> tuple[str, bool, str]:
    request = ApprovalRequest.objects.get()
    return request.state, request.dispatch_at is None, Session.objects.get().status


def later(seconds: int = 11) -> Any:
    return timezone.now() + timedelta(seconds=seconds)


def told(request: ApprovalRequest) -> list[str]:
    found = LedgerEvent.objects.filter(stream=request.session_id, type__startswith="approval.").order_by("position")
    return list(found.values_list("type", flat=True))


def test_nothing_runs_before_the_time_is_over(stage: Stage) -> None:
    request, now = stage.ask(), timezone.now()
    receipt = vote(request, stage.cast.alice, now=now)
    assert receipt.dispatch_at == now + timedelta(seconds=10)
    assert state() == ("approved", False, "waiting_approval")
    assert dispatch_due(now=later(9), limit=10) == 0
    stage.work()
    assert stage.toy.vendor.calls == []
    assert dispatch_due(now=later(), limit=10) == 1
    assert dispatch_due(now=later(), limit=10) == 0
    assert state() == ("approved", True, "queued")
    stage.work()
    assert len(stage.toy.vendor.calls) == 1
    assert told(request) == ["approval.requested", "approval.given", "approval.approved"]
    approved = LedgerEvent.objects.get(stream=request.session_id, type="approval.approved")
    assert (approved.actor, approved.facts["digest"]) == ("user:alice", request.digest)


def test_sweep_hands_over(stage: Stage) -> None:
    vote(stage.ask(), stage.cast.alice)
    with time_machine.travel(later(), tick=True):
        sweep_once()
        stage.work()
    assert len(stage.toy.vendor.calls) == 1


def test_taken_back_it_is_pending_and_can_be_decided_anew(stage: Stage) -> None:
    request, alice = stage.ask(), stage.cast.alice
    vote(request, alice)
    take_back(request_id=request.pk, person=alice, now=timezone.now())
    assert state() == ("pending", True, "waiting_approval")
    assert ApprovalRequest.objects.get().closed_at is None
    assert Decision.objects.get().taken_back_at is not None
    assert list(Act.objects.values_list("kind", "person__username")) == [("taken_back", "alice")]
    assert dispatch_due(now=later(), limit=10) == 0
    vote(request, alice, "reject", reason="On second thought, no.")
    stage.work()
    assert stage.toy.vendor.calls == []
    wanted = ["approval.requested", "approval.given", "approval.taken_back", "approval.rejected"]
    assert told(request) == wanted


def test_each_takes_back_their_own(stage: Stage, dave: User) -> None:
    request = needs(stage.ask(), 2)
    vote(request, stage.cast.alice)
    vote(request, dave)
    with pytest.raises(NotAllowed):
        take_back(request_id=request.pk, person=stage.cast.bob, now=timezone.now())
    take_back(request_id=request.pk, person=stage.cast.alice, now=timezone.now())
    assert [d.person.username for d in Decision.objects.filter(taken_back_at=None)] == ["dave"]
    assert vote(request, stage.cast.alice).missing == 0


def test_what_was_handed_over_is_not_taken_back(stage: Stage) -> None:
    request = stage.ask()
    vote(request, stage.cast.alice)
    dispatch_due(now=later(), limit=10)
    with pytest.raises(TooLate):
        take_back(request_id=request.pk, person=stage.cast.alice, now=later())
    assert state() == ("approved", True, "queued")


def test_vote_that_is_not_the_last_one_is_not_taken_back_here(stage: Stage) -> None:
    request = needs(stage.ask(), 2)
    vote(request, stage.cast.alice)
    with pytest.raises(TooLate):
        take_back(request_id=request.pk, person=stage.cast.alice, now=timezone.now())


def test_rejection_takes_effect_at_once(stage: Stage) -> None:
    vote(stage.ask(), stage.cast.alice, "reject", reason="No.")
    assert state() == ("rejected", True, "queued")


def test_deadline_that_is_near_leaves_no_time_to_take_back(stage: Stage) -> None:
    request = stage.ask()
    receipt = vote(request, stage.cast.alice, now=request.expires_at - timedelta(seconds=5))
    assert receipt.dispatch_at is None
    assert state() == ("approved", True, "queued")


def test_frozen_meanwhile_nothing_is_handed_over(stage: Stage) -> None:
    vote(stage.ask(), stage.cast.alice)
    freeze(tenant_id=stage.cast.tenant.pk, agent_id=None, tool="pay", actor="user:bob", reason="Stop.")
    assert dispatch_due(now=later(), limit=10) == 0
    stage.work()
    assert stage.toy.vendor.calls == []
    assert ApprovalRequest.objects.get().state == "voided"


def test_cancelled_meanwhile_nothing_is_handed_over(stage: Stage) -> None:
    request = stage.ask()
    vote(request, stage.cast.alice)
    cancel_session(session_id=request.session_id, actor="user:bob", reason="Enough.")
    assert dispatch_due(now=later(), limit=10) == 0
    stage.work()
    assert stage.toy.vendor.calls == []


def test_approver_who_loses_the_right_meanwhile_approved_nothing(stage: Stage) -> None:
    vote(stage.ask(), stage.cast.alice)
    User.objects.filter(pk=stage.cast.alice.pk).update(is_active=False)
    dispatch_due(now=later(), limit=10)
    stage.work()
    assert stage.toy.vendor.calls == []
