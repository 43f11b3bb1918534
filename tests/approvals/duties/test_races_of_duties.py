"""Whoever decides, takes back or hands over at the same moment: one outcome, one effect, different people."""

from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.utils import timezone

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.models import LedgerEvent
from approvals.models import ApprovalRequest, Decision
from approvals.operations import dispatch_due, take_back
from tests.approvals.conftest import Stage
from tests.approvals.duties.conftest import approver, lend, needs, vote
from tests.approvals.duties.test_walls import insert
from tests.approvals.test_races import at_once, outcomes

pytestmark = pytest.mark.django_db(transaction=True)


def counted(act: Callable[[], Any]) -> Callable[[], int]:
    """1 when it was done, 0 when it was refused."""

    def run() -> int:
        try:
            act()
        except (AgentOpsError, IntegrityError):
            return 0
        return 1

    return run


def test_hundred_decisions_by_four_people_are_one_decision_and_one_effect(stage: Stage) -> None:
    request = stage.ask()
    people = [stage.cast.alice, *(approver(stage, name) for name in ("dave", "erin", "frank"))]

    def decide(n: int) -> Callable[[], int]:
        verdict = "approve" if n % 2 else "reject"
        return counted(lambda: vote(request, people[n // 2 % 4], verdict, reason="x" if verdict == "reject" else ""))

    results = at_once([decide(n) for n in range(100)])
    decision = Decision.objects.get()
    # Whoever was first sent the same thing again, and learned that it stands.
    assert results[1] in (12, 13)
    state = ApprovalRequest.objects.get().state
    assert state == {"approve": "approved", "reject": "rejected"}[decision.verdict]
    assert outcomes(request) == [f"approval.{state}"]
    stage.work()
    stage.work()
    assert len(stage.toy.vendor.calls) == (1 if state == "approved" else 0)


def test_one_person_through_many_names_is_one_of_two(stage: Stage) -> None:
    request, alice = needs(stage.ask(), 2), stage.cast.alice
    takers = [approver(stage, name) for name in ("dave", "erin", "frank")]
    for taker in takers:
        lend(stage, alice, taker)
    calls = [counted(lambda: vote(request, alice))]
    calls += [counted(lambda taker=taker: vote(request, taker, on_behalf_of=alice)) for taker in takers]  # type: ignore[misc]
    results = at_once(calls * 5)
    assert Decision.objects.count() == 1
    assert results[1] == 5
    assert ApprovalRequest.objects.get().state == "pending"


def test_database_alone_lets_one_of_two_through(stage: Stage) -> None:
    request, alice = needs(stage.ask(), 2), stage.cast.alice
    takers = [approver(stage, name) for name in ("dave", "erin", "frank", "grace")]

    def raw(taker: User) -> Callable[[], int]:
        return counted(lambda: insert(request, taker, alice))

    assert at_once([raw(taker) for taker in takers]) == Counter({1: 1, 0: 3})


@pytest.mark.parametrize("round_", range(4))
def test_taking_back_against_handing_over_is_one_outcome(stage: Stage, settings: Any, round_: int) -> None:
    settings.APPROVAL_UNDO_SECONDS = 10
    request, alice = stage.ask(), stage.cast.alice
    vote(request, alice)
    later = timezone.now() + timedelta(seconds=11)

    def back() -> None:
        take_back(request_id=request.pk, person=alice, now=later)

    def hand_over() -> None:
        if not dispatch_due(now=later, limit=10):
            raise IntegrityError("nothing to hand over")

    results = at_once([counted(back), counted(hand_over)] * 5)
    dispatch_due(now=later, limit=10)
    state = ApprovalRequest.objects.get().state
    assert results[1] == 1
    assert outcomes(request) == (["approval.approved"] if state == "approved" else [])
    taken = LedgerEvent.objects.filter(stream=request.session_id, type="approval.taken_back").count()
    assert (state, taken) in (("approved", 0), ("pending", 1))
    stage.work()
    assert len(stage.toy.vendor.calls) == (1 if state == "approved" else 0)


def test_decision_waits_for_a_delegation_that_is_being_ended(stage: Stage) -> None:
    request, alice = stage.ask(), stage.cast.alice
    dave = approver(stage, "dave")
    lent = lend(stage, alice, dave)

    def end() -> int:
        with transaction.atomic():
            type(lent).objects.filter(pk=lent.pk, revoked_at=None).update(revoked_at=timezone.now())
        return 0

    results = at_once([counted(lambda: vote(request, dave, on_behalf_of=alice)), end])
    assert Decision.objects.count() == results[1]
