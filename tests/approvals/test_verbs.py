"""Editing, asking and taking over: who may, about what, and what else happens at the same moment."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from guardian.shortcuts import remove_perm

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.models import LedgerEvent
from agentops.runtime.audit import audit_session
from agentops.runtime.deciding import BadEdit
from agentops.runtime.models import Session
from agentops.runtime.sweep import sweep_once
from approvals.models import Act, ApprovalRequest, Verdict
from approvals.operations import decide_request
from approvals.refusals import AlreadyClosed, ChangedSince, Excluded, NeedsReason, NotAllowed
from approvals.verbs import CannotAsk
from tests.approvals.conftest import Stage, client_of, overdue
from tests.approvals.test_races import at_once
from tests.factories.people import make_approver
from tests.factories.verbs import ask, edit, take_over

pytestmark = pytest.mark.django_db

Verb = Callable[..., ApprovalRequest]
VERBS: dict[str, Verb] = {
    "ask": lambda *given: ask(given[0], "Why?", given[1]),
    "edit": lambda *given: edit(*given, minor=3_000),
    "take over": take_over,
}
every_verb = pytest.mark.parametrize("do", VERBS.values(), ids=VERBS)
BOUND = [VERBS["ask"], VERBS["edit"]]


def second_approver(stage: Stage) -> User:
    return make_approver("dave", stage.cast.queue)


@every_verb
def test_only_who_may_decide_the_queue_may(stage: Stage, do: Verb) -> None:
    request = stage.ask()
    for person in (stage.cast.bob, stage.cast.charlie):
        with pytest.raises(NotAllowed):
            do(person, request)
    request.refresh_from_db()
    assert (request.state, Act.objects.filter(request=request).count()) == ("pending", 0)


@every_verb
def test_permission_is_asked_at_the_moment_of_acting(stage: Stage, do: Verb) -> None:
    request = stage.ask()
    remove_perm("approvals.decide_queue", stage.cast.alice, stage.cast.queue)
    with pytest.raises(NotAllowed):
        do(stage.cast.alice, request)


@every_verb
def test_closed_or_overdue_request_is_left_alone(stage: Stage, do: Verb) -> None:
    request = stage.ask()
    overdue(request)
    with pytest.raises(AlreadyClosed):
        do(stage.cast.alice, request)
    closed = stage.ask()
    _decide(stage.cast.alice, closed, Verdict.REJECT)
    with pytest.raises(AlreadyClosed):
        do(stage.cast.alice, closed)


@pytest.mark.parametrize("do", BOUND, ids=["ask", "edit"])
def test_verb_about_another_page_than_the_request_is_refused(stage: Stage, do: Verb) -> None:
    request = stage.ask()
    request.digest = "0" * 64
    with pytest.raises(ChangedSince):
        do(stage.cast.alice, request)


@pytest.mark.parametrize("question", ["", "   ", "\n\t"])
def test_empty_question_is_none(stage: Stage, question: str) -> None:
    with pytest.raises(CannotAsk):
        ask(stage.cast.alice, question, stage.ask())


@pytest.mark.parametrize("question", ["a\x00b", "\ud800", "x" * 100_000, "<script>alert(1)</script>"])
def test_any_other_question_is_asked_and_kept_as_far_as_it_can_be(stage: Stage, question: str) -> None:
    request = ask(stage.cast.alice, question, stage.ask())
    act = Act.objects.get(request=request, kind="asked")
    assert act.person == stage.cast.alice
    assert 0 < len(act.words) <= 2_000
    assert stage.work()
    assert Act.objects.get(request=request, kind="answered").person is None


def test_agent_is_not_asked_what_a_person_proposed(stage: Stage) -> None:
    dave = second_approver(stage)
    edit(stage.cast.alice, stage.ask(), minor=3_000)
    stage.work()
    request = ApprovalRequest.objects.get(state="pending")
    with pytest.raises(CannotAsk, match="alice proposed this"):
        ask(dave, request=request)


def test_edit_needs_a_reason_and_a_change(stage: Stage) -> None:
    request = stage.ask()
    with pytest.raises(NeedsReason):
        edit(stage.cast.alice, request, reason=" ", minor=3_000)
    with pytest.raises(BadEdit, match="Nothing was changed"):
        edit(stage.cast.alice, request)
    assert ApprovalRequest.objects.get().state == "pending"


def test_edit_is_told_in_the_chain_and_withdraws_the_request(stage: Stage) -> None:
    request = edit(stage.cast.alice, stage.ask(), minor=3_000, reason="The price is 30.")
    request.refresh_from_db()
    act = Act.objects.get(request=request)
    assert (request.state, request.void_reason) == ("voided", "Edited by alice.")
    assert (act.kind, act.words, act.facts) == ("edited", "The price is 30.", {"changed": ["minor"]})
    assert LedgerEvent.objects.filter(type="request.edited").count() == 1


def test_editor_does_not_change_their_own_edit(stage: Stage) -> None:
    edit(stage.cast.alice, stage.ask(), minor=3_000)
    stage.work()
    with pytest.raises(Excluded):
        edit(stage.cast.alice, minor=2_900)


def test_whoever_takes_over_has_the_session(stage: Stage) -> None:
    request = take_over(stage.cast.alice, stage.ask())
    request.refresh_from_db()
    session = Session.objects.get()
    assert (request.state, session.status, session.taken_by) == ("voided", "paused", "user:alice")
    assert [act.kind for act in Act.objects.filter(request=request)] == ["taken_over"]
    stage.work()
    assert stage.toy.vendor.calls == []


def test_request_that_is_not_there(stage: Stage) -> None:
    request = stage.ask()
    request.pk = request.session_id
    for do in VERBS.values():
        with pytest.raises(ApprovalRequest.DoesNotExist):
            do(stage.cast.alice, request)


def _decide(person: User, request: ApprovalRequest, verdict: Verdict = Verdict.APPROVE) -> None:
    decide_request(
        request_id=request.pk,
        person=person,
        verdict=verdict,
        digest=request.digest,
        reason="" if verdict is Verdict.APPROVE else "No.",
        now=timezone.now(),
    )


def _won(do: Callable[[], Any], name: int = 1) -> Callable[[], int]:
    """Return ``name`` when it was done, 0 when somebody else was faster."""

    def run() -> int:
        try:
            do()
        except AgentOpsError:
            return 0
        return name

    return run


RACES: dict[str, list[Callable[[User, ApprovalRequest], Any]]] = {
    "ask against approve": [VERBS["ask"], _decide],
    "edit against approve": [VERBS["edit"], _decide],
    "edit against ask": [VERBS["edit"], VERBS["ask"]],
    "edit against edit": [VERBS["edit"], VERBS["edit"]],
    "take over against approve": [take_over, _decide],
    "take over against edit": [take_over, VERBS["edit"]],
}


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("what", RACES)
def test_two_verbs_at_once_are_one_outcome(stage: Stage, what: str) -> None:
    first, second = RACES[what]
    people = [stage.cast.alice, second_approver(stage)]
    request = stage.ask()
    calls = [_won(partial(first, people[0], request), 1), _won(partial(second, people[1], request), 2)]
    done = at_once(calls * 3)
    # Taking over comes after anything: what was approved or asked a moment ago is withdrawn again.
    assert 1 <= len({1, 2} & set(done)) <= (2 if "take over" in what else 1)
    session = Session.objects.get()
    assert audit_session(session.pk) == []
    stage.work()
    request.refresh_from_db()
    closed = LedgerEvent.objects.filter(
        stream=session.pk, type__in=("approval.approved", "approval.edited"), refs__request=str(request.pk)
    )
    assert closed.count() <= 1
    assert len(stage.toy.vendor.calls) == (1 if request.state == "approved" else 0)
    assert audit_session(session.pk) == []


@pytest.mark.django_db(transaction=True)
def test_sweep_against_edit_is_one_outcome(stage: Stage) -> None:
    request = stage.ask()
    expires_at = timezone.now() + timedelta(milliseconds=30)
    ApprovalRequest.objects.update(expires_at=expires_at)

    def expire() -> int:
        while timezone.now() < expires_at:
            pass
        sweep_once()
        return 0

    done = at_once([_won(lambda: VERBS["edit"](stage.cast.alice, request)), expire] * 3)
    sweep_once()
    request.refresh_from_db()
    assert request.state == ("voided" if done[1] else "expired")
    assert audit_session(request.session_id) == []


def test_approver_who_took_the_work_over_does_its_steps(stage: Stage, alice: Client, dave_page: Client) -> None:
    """Approvers operate no sessions otherwise, and nobody else than who took it over does this one's steps."""
    request = stage.ask()
    place = f"/sessions/{request.session_id}/"
    assert alice.post(f"{place}finish/", {"message": "Done."}).status_code == 404
    take_over(stage.cast.alice, request)
    assert b"Hand back" in alice.get(place).content
    assert b"Hand back" not in dave_page.get(place).content
    assert dave_page.post(f"{place}finish/", {"message": "Done."}).status_code == 404
    assert dave_page.post(f"{place}hand-back/", {"note": ""}).status_code == 404
    assert alice.post(f"{place}cancel/", {"reason": ""}).status_code == 404
    assert alice.post(f"{place}finish/", {"message": "I paid it by hand."}).status_code == 302
    stage.work()
    assert Session.objects.get().status == "finished"


@pytest.fixture
def dave_page(stage: Stage) -> Client:
    return client_of(second_approver(stage))
