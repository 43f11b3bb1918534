"""An approval that may still be taken back: nothing follows from it yet. And what an expiry leads to."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agentops.agents.models import Agent
from agentops.kernel.errors import IncidentCode
from agentops.runtime import control, deciding
from agentops.runtime.deciding import Decided, Frozen
from agentops.runtime.states import IllegalTransition
from agentops.runtime.sweep import sweep_once
from agentops.runtime.wakeup import Waiting, waiting_session
from agentops.tenancy.models import Freeze
from approvals.models import ApprovalQueue, ApprovalRequest, Verdict
from approvals.operations import take_back
from tests.factories.people import Cast
from tests.factories.runs import DONE, TELL, decide, events, go_on, pay, pending, results, work
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db


def later(request: ApprovalRequest) -> None:
    """Let the time to take it back be over."""
    ApprovalRequest.objects.filter(pk=request.pk).update(dispatch_at=timezone.now() - timedelta(seconds=1))
    sweep_once()


def test_nothing_runs_while_an_approval_may_be_taken_back(toy: Toy, cast: Cast, agent: Agent, settings: Any) -> None:
    settings.APPROVAL_UNDO_SECONDS = 10
    session = work(toy, agent, pay(5_000), DONE)
    request = decide(cast)
    assert go_on(session).status == "waiting_approval"
    assert (events(session)[-1], toy.vendor.calls) == ("approval.given", [])
    later(request)
    assert go_on(session).status == "finished"
    assert events(session).count("approval.approved") == 1
    assert len(toy.vendor.calls) == 1


def test_approval_that_was_taken_back_can_be_given_again(toy: Toy, cast: Cast, agent: Agent, settings: Any) -> None:
    settings.APPROVAL_UNDO_SECONDS = 10
    session = work(toy, agent, pay(5_000), TELL, DONE)
    request = decide(cast)
    take_back(request_id=request.pk, person=cast.alice, now=timezone.now())
    assert events(session)[-2:] == ["approval.given", "approval.taken_back"]
    sweep_once()
    assert go_on(session).status == "waiting_approval"
    decide(cast, Verdict.REJECT)
    assert go_on(session).status == "finished"
    assert toy.vendor.calls == []


def test_who_takes_over_takes_the_given_approval_away(toy: Toy, cast: Cast, agent: Agent, settings: Any) -> None:
    settings.APPROVAL_UNDO_SECONDS = 10
    session = work(toy, agent, pay(5_000), TELL, DONE)
    request = decide(cast)
    control.take_over(session_id=session.pk, actor="user:bob", reason="")
    request.refresh_from_db()
    assert request.state == "voided"
    later(request)
    assert go_on(session).status == "paused"
    assert toy.vendor.calls == []


def told(request: ApprovalRequest) -> tuple[Waiting, Decided]:
    waiting = waiting_session(session_id=request.session_id, invocation_id=request.invocation_id)
    return waiting, Decided(request.invocation_id, request.pk, "approved", "user:alice", "", {"until": "soon"})


@pytest.mark.parametrize("do", [deciding.hold, deciding.take_back])
def test_session_that_does_not_wait_is_left_alone(toy: Toy, cast: Cast, agent: Agent, do: Any) -> None:
    session = work(toy, agent, pay(5_000), DONE)
    request = decide(cast)
    go_on(session)
    with pytest.raises(IllegalTransition):
        do(*told(request))


def test_frozen_call_is_not_given_but_can_be_taken_back(toy: Toy, cast: Cast, agent: Agent) -> None:
    session = work(toy, agent, pay(5_000), TELL, DONE)
    request = pending()
    deciding.hold(*told(request))
    Freeze.objects.create(
        tenant_id=cast.tenant.pk, tool="pay", reason="Wait.", frozen_by="user:bob", frozen_at=timezone.now()
    )
    deciding.take_back(*told(request))
    with pytest.raises(Frozen):
        deciding.hold(*told(request))
    assert events(session)[-2:] == ["approval.given", "approval.taken_back"]


@pytest.mark.parametrize("code", ["wrong_amount", ""])
def test_rejection_reaches_the_planner_as_data(toy: Toy, cast: Cast, agent: Agent, code: str) -> None:
    session = work(toy, agent, pay(5_000), TELL, DONE)
    waiting, decided = told(pending())
    words = "Wrong amount: it was 30."
    deciding.resume(
        waiting,
        Decided(decided.invocation_id, decided.request_id, "rejected", "user:alice", words, {}, reason_code=code),
    )
    result = results(session, "approval.rejected")[0]
    assert {name: result[name] for name in ("code", "reason", "words", "by")} == {
        "code": "REJECTED",
        "reason": code,
        "words": words,
        "by": "alice",
    }
    assert words in result["message"]


@pytest.mark.parametrize("hands_over", [False, True])
def test_queue_says_what_an_expiry_leads_to(toy: Toy, cast: Cast, agent: Agent, hands_over: bool) -> None:
    ApprovalQueue.objects.update(on_expiry="hand_over" if hands_over else "nothing")
    session = work(toy, agent, pay(5_000), TELL, DONE)
    ApprovalRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    sweep_once()
    go_on(session)
    if hands_over:
        assert (session.status, session.stop_code) == ("stopped", IncidentCode.APPROVAL_EXPIRED)
        assert toy.handed_over == ["APPROVAL_EXPIRED"]
    else:
        assert (session.status, toy.handed_over) == ("finished", [])
    assert toy.vendor.calls == []


def test_person_who_takes_an_overdue_session_over_decides_how_it_goes_on(toy: Toy, cast: Cast, agent: Agent) -> None:
    ApprovalQueue.objects.update(on_expiry="hand_over")
    session = work(toy, agent, pay(5_000), TELL, TELL, DONE)
    ApprovalRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    sweep_once()
    control.take_over(session_id=session.pk, actor="user:bob", reason="")
    control.hand_back(session_id=session.pk, actor="user:bob", note="Only tell them.")
    assert go_on(session).status == "finished"
    assert toy.handed_over == []


def test_approval_of_who_may_not_decide_any_more_does_not_hold(toy: Toy, cast: Cast, agent: Agent) -> None:
    session = work(toy, agent, pay(5_000), TELL, DONE)
    request = decide(cast)
    cast.alice.is_active = False
    cast.alice.save()
    assert go_on(session).status == "waiting_approval"
    request.refresh_from_db()
    assert (request.state, toy.vendor.calls) == ("voided", [])
    assert "may no longer decide" in request.void_reason
    assert pending().supersedes_id == request.pk
