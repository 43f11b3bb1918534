"""Whatever happens at the same moment ends in one outcome and at most one effect."""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from agentops.runtime.models import Session
from agentops.runtime.sweep import sweep_once
from approvals.models import ApprovalRequest, Decision
from tests.approvals.conftest import Stage, client_of, decide
from tests.factories.people import make_approver

pytestmark = pytest.mark.django_db(transaction=True)

AT_ONCE = 10


def at_once(calls: Sequence[Callable[[], int]]) -> Counter[int]:
    """Run the calls, ``AT_ONCE`` of them side by side from the same moment on, and count their results."""
    start = threading.Barrier(min(AT_ONCE, len(calls)))

    def begin() -> None:
        start.wait(30)

    def run(call: Callable[[], int]) -> int:
        try:
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(start.parties, initializer=begin) as pool:
        return Counter(pool.map(run, calls))


@pytest.fixture
def dave(stage: Stage) -> Client:
    """A second approver of the same queue."""
    return client_of(make_approver("dave", stage.cast.queue))


def outcomes(request: ApprovalRequest) -> list[str]:
    """The events of the request's session that end the question."""
    ends = ("approval.approved", "approval.rejected", "approval.expired")
    found = LedgerEvent.objects.filter(stream=request.session_id, type__in=ends)
    return list(found.values_list("type", flat=True))


def test_hundred_approvals_by_two_people_are_one_decision_and_one_effect(
    stage: Stage, alice: Client, dave: Client
) -> None:
    request = stage.ask()

    def approve(client: Client) -> Callable[[], int]:
        return lambda: decide(client, request).status_code

    statuses = at_once([approve(client) for client in (alice, dave) * 50])
    decision = Decision.objects.get()
    assert statuses == {302: 50, 409: 50}
    assert outcomes(request) == ["approval.approved"]
    stage.work()
    stage.work()
    assert len(stage.toy.vendor.calls) == 1
    assert stage.toy.vendor.balances["a-1"] == 95_000
    assert Session.objects.get().status == "finished"
    assert decision.person.username in ("alice", "dave")


@pytest.mark.parametrize("round_", range(3))
def test_approve_against_reject_is_one_outcome(stage: Stage, alice: Client, dave: Client, round_: int) -> None:
    request = stage.ask()
    approve = [lambda: decide(alice, request).status_code] * 5
    reject = [lambda: decide(dave, request, "reject", reason="policy").status_code] * 5
    statuses = at_once([call for pair in zip(approve, reject, strict=True) for call in pair])
    assert statuses == {302: 5, 409: 5}
    state = ApprovalRequest.objects.get().state
    assert outcomes(request) == [f"approval.{state}"]
    assert Decision.objects.get().verdict == {"approved": "approve", "rejected": "reject"}[state]
    stage.work()
    assert len(stage.toy.vendor.calls) == (1 if state == "approved" else 0)


@pytest.mark.parametrize("round_", range(3))
def test_same_person_against_herself_is_one_outcome(stage: Stage, alice: Client, round_: int) -> None:
    request = stage.ask()
    verbs = ["approve", "reject"] * 5
    statuses = at_once(
        [lambda verb=verb: decide(alice, request, verb, reason="policy").status_code for verb in verbs]  # type: ignore[misc]
    )
    assert statuses == {302: 5, 409: 5}
    assert (Decision.objects.count(), len(outcomes(request))) == (1, 1)


@pytest.mark.parametrize("ahead_ms", [0, 20, 40, 80])
def test_expiry_against_approval_is_one_outcome(stage: Stage, alice: Client, dave: Client, ahead_ms: int) -> None:
    request = stage.ask()
    expires_at = timezone.now() + timedelta(milliseconds=ahead_ms)
    ApprovalRequest.objects.update(expires_at=expires_at)

    def approve() -> int:
        return decide(alice, request).status_code

    def expire() -> int:
        while timezone.now() < expires_at:
            pass
        sweep_once()
        return 0

    statuses = at_once([approve, expire] * 4)
    sweep_once()
    state = ApprovalRequest.objects.get().state
    assert state in ("approved", "expired")
    assert outcomes(request) == [f"approval.{state}"]
    assert statuses == ({0: 4, 302: 4} if state == "approved" else {0: 4, 409: 4})
    assert Decision.objects.count() == (1 if state == "approved" else 0)
    stage.work()
    assert len(stage.toy.vendor.calls) == (1 if state == "approved" else 0)
