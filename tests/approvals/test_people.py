"""Requests that more than one person must approve."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from agentops.runtime.audit import audit_session
from agentops.runtime.models import Session
from agentops.runtime.sweep import sweep_once
from approvals.models import ApprovalRequest, Decision, Verdict
from approvals.operations import Receipt, decide_request
from approvals.refusals import AlreadyClosed, AlreadyDecided
from tests.approvals.conftest import Stage, client_of, decide, overdue, page_url, queue_url
from tests.approvals.duties.conftest import needs
from tests.approvals.test_races import at_once
from tests.factories.people import make_approver

pytestmark = pytest.mark.django_db


def person(stage: Stage, name: str) -> User:
    """Somebody who may decide the queue."""
    return make_approver(name, stage.cast.queue)


@pytest.fixture
def dave(stage: Stage) -> User:
    return person(stage, "dave")


def ask(stage: Stage, people: int = 2) -> ApprovalRequest:
    return needs(stage.ask(), people)


def say(request: ApprovalRequest, who: User, verdict: Verdict = Verdict.APPROVE) -> Receipt:
    return decide_request(
        request_id=request.pk,
        person=who,
        verdict=verdict,
        digest=request.digest,
        now=timezone.now(),
        reason="policy" if verdict is Verdict.REJECT else "",
    )


def told(request: ApprovalRequest) -> list[tuple[str, str]]:
    """What the ledger says of the request after the question, with who did it."""
    found = LedgerEvent.objects.filter(stream=request.session_id, type__startswith="approval.").order_by("position")
    return [event for event in found.values_list("type", "actor") if event[0] != "approval.requested"]


def state(request: ApprovalRequest) -> str:
    return ApprovalRequest.objects.values_list("state", flat=True).get(pk=request.pk)


def test_first_of_two_leaves_it_pending_and_the_second_lets_it_run(stage: Stage, dave: User) -> None:
    request = ask(stage)
    assert say(request, stage.cast.alice) == Receipt(repeated=False, missing=1)
    assert (state(request), Session.objects.get().status, stage.work()) == ("pending", "waiting_approval", 0)
    assert say(request, dave) == Receipt(repeated=False, missing=0)
    assert (state(request), stage.work(), len(stage.toy.vendor.calls)) == ("approved", 1, 1)
    assert told(request) == [("approval.voted", "user:alice"), ("approval.approved", "user:dave")]
    intended = LedgerEvent.objects.get(stream=request.session_id, type="call.intended")
    assert intended.facts["approved_by"] == "user:alice and dave"
    assert audit_session(request.session_id) == []


def test_same_person_never_counts_twice(stage: Stage, dave: User) -> None:
    request = ask(stage)
    say(request, stage.cast.alice)
    assert say(request, stage.cast.alice) == Receipt(repeated=True, missing=1)
    assert (state(request), Decision.objects.count(), len(told(request))) == ("pending", 1, 1)
    with pytest.raises(AlreadyDecided, match="decided this already"):
        say(request, stage.cast.alice, Verdict.REJECT)


def test_one_rejection_closes_it(stage: Stage, dave: User) -> None:
    request = ask(stage, people=3)
    say(request, stage.cast.alice)
    assert say(request, dave, Verdict.REJECT) == Receipt(repeated=False, missing=0)
    with pytest.raises(AlreadyClosed):
        say(request, person(stage, "erin"))
    stage.work()
    assert (state(request), stage.toy.vendor.calls) == ("rejected", [])
    assert told(request) == [("approval.voted", "user:alice"), ("approval.rejected", "user:dave")]


def test_it_expires_although_one_of_two_approved(stage: Stage, dave: User) -> None:
    request = ask(stage)
    say(request, stage.cast.alice)
    overdue(request)
    with pytest.raises(AlreadyClosed):
        say(request, dave)
    sweep_once()
    stage.work()
    assert (state(request), stage.toy.vendor.calls) == ("expired", [])


@pytest.mark.parametrize("people", [0, 6])
def test_number_of_people_is_from_one_to_five(stage: Stage, people: int) -> None:
    request = stage.ask()
    with pytest.raises(IntegrityError, match="a_request_needs_one_to_five_people"), transaction.atomic():
        ApprovalRequest.objects.filter(pk=request.pk).update(people=people)


def test_pages_say_how_many_approved_and_whose_turn_it_is(stage: Stage, alice: Client, dave: User) -> None:
    request, other = ask(stage), client_of(dave)
    assert decide(alice, request).status_code == 302
    mine, theirs = alice.get(page_url(request)), other.get(page_url(request))
    assert "1 of 2 approvals" in mine.content.decode()
    assert (mine.context["page"].panel, mine.context["page"].cannot) == (
        None,
        ("You have approved this request.", "It is carried out after 1 more person has approved it."),
    )
    assert (theirs.context["page"].panel is None, theirs.context["page"].decision) == (False, None)
    assert "1 of 2 votes" in other.get(queue_url()).content.decode()
    counts = {b.key: b.count for b in alice.get(queue_url()).context["page"].buckets}
    assert (counts["turn"], counts["others"]) == (0, 1)
    assert "1 of 2 votes" in alice.get(queue_url(bucket="others")).content.decode()
    decide(other, request)
    assert other.get(page_url(request)).context["page"].decision.by == "alice and you"
    assert decide(alice, request).status_code == 302


def test_timeline_tells_each_approval(stage: Stage, alice: Client, dave: User) -> None:
    request = ask(stage)
    decide(alice, request)
    body = alice.get(f"/sessions/{request.session_id}/").content.decode()
    assert "approved; others still have to" in body


@pytest.mark.django_db(transaction=True)
def test_many_approvals_at_once_count_each_person_once(stage: Stage, dave: User) -> None:
    request = ask(stage, people=3)
    clients = [client_of(who) for who in (stage.cast.alice, dave, person(stage, "erin"))]

    def approve(client: Client) -> Callable[[], int]:
        return lambda: decide(client, request).status_code

    statuses = at_once([approve(client) for client in clients * 10])
    assert statuses == {302: 30}
    assert (state(request), Decision.objects.count()) == ("approved", 3)
    assert [kind for kind, _ in told(request)] == ["approval.voted", "approval.voted", "approval.approved"]
    stage.work()
    assert len(stage.toy.vendor.calls) == 1
    assert audit_session(request.session_id) == []
