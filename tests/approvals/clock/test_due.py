"""What the sweep does to requests whose time runs: each thing once, in order, also after a pause."""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import Group, User
from guardian.shortcuts import assign_perm

from agentops.ledger.models import LedgerEvent
from agentops.tenancy.models import Role
from approvals.access import view_of
from approvals.clock import due, ladder
from approvals.clock.due import do_due
from approvals.clock.ladder import AtTheTop, escalate
from approvals.models import Act, ActKind, ApprovalRequest, Notice, OnCallShift, Rung
from approvals.queries import Bucket, requests_in
from approvals.refusals import AlreadyClosed, NotAllowed
from tests.factories.cases import NOW, open_request
from tests.factories.people import Cast, make_person

pytestmark = pytest.mark.django_db

HOUR = timedelta(hours=1)


class Told(list[tuple[str, tuple[str, ...] | None, bool]]):
    """What people were told: the kind, their names, and whether it is urgent."""

    def __call__(
        self,
        request: ApprovalRequest,
        kind: Notice.Kind,
        *,
        now: datetime,
        people: list[User] | None = None,
        urgent: bool = False,
    ) -> int:
        names = None if people is None else tuple(person.get_username() for person in people)
        self.append((kind.value, names, urgent))
        return 1


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> Told:
    told = Told()
    monkeypatch.setattr(due, "tell", told)
    monkeypatch.setattr(ladder, "tell", told)
    return told


@pytest.fixture
def boss(cast: Cast) -> User:
    return make_person("boss", cast.tenant, Role.ADMIN)


@pytest.fixture
def steps(cast: Cast, boss: User) -> list[Rung]:
    """A group at half time, the boss at eighty percent, then whoever is on call."""
    group = Group.objects.create(name="seniors")
    cast.bob.groups.add(group)
    cast.charlie.groups.add(group)  # of another company
    return [
        Rung.objects.create(queue=cast.queue, place=1, kind="group", group=group, after_percent=50),
        Rung.objects.create(queue=cast.queue, place=2, kind="person", person=boss, after_percent=80),
        Rung.objects.create(queue=cast.queue, place=3, kind="on_call", after_percent=90),
    ]


@pytest.fixture
def request_(cast: Cast, steps: list[Rung]) -> ApprovalRequest:
    """A request with four hours to decide it."""
    return open_request(cast.tenant.pk)


def acts(request: ApprovalRequest, kind: ActKind) -> list[dict[str, object]]:
    return [act.facts for act in Act.objects.filter(request=request, kind=kind)]


def test_nothing_is_due_before_its_moment(request_: ApprovalRequest, told: Told) -> None:
    assert request_.next_at == NOW + 2 * HOUR
    assert do_due(NOW + 2 * HOUR - timedelta(seconds=1), 10) == 0
    assert told == []


def test_reminders_and_steps_come_once_each_at_their_moments(request_: ApprovalRequest, told: Told) -> None:
    for minutes in range(0, 240, 5):
        do_due(NOW + timedelta(minutes=minutes), 10)
    assert acts(request_, ActKind.REMINDED) == [{"left": 50}, {"left": 25}, {"left": 10}]
    assert acts(request_, ActKind.ESCALATED) == [
        {"rung": 1, "to": "group seniors"},
        {"rung": 2, "to": "boss"},
        {"rung": 3, "to": "on call: nobody has a shift now"},
    ]
    assert told == [
        ("escalated", ("bob",), True),
        ("reminded", None, False),
        ("reminded", None, False),
        ("escalated", ("boss",), True),
        ("escalated", (), True),
        ("reminded", None, False),
    ]
    request_.refresh_from_db()
    assert (request_.rung, request_.reminded, request_.next_at) == (3, 3, None)
    assert LedgerEvent.objects.filter(type="request.escalated").count() == 3


def test_after_a_pause_the_latest_reminder_and_all_steps_come(request_: ApprovalRequest, told: Told) -> None:
    assert do_due(NOW + 3.3 * HOUR, 10) == 1
    assert told == [("escalated", ("bob",), True), ("escalated", ("boss",), True), ("reminded", None, False)]
    assert acts(request_, ActKind.REMINDED) == [{"left": 25}]
    assert do_due(NOW + 3.3 * HOUR, 10) == 0


def test_only_whoever_it_is_assigned_to_is_reminded(request_: ApprovalRequest, cast: Cast, told: Told) -> None:
    ApprovalRequest.objects.update(assigned_to=cast.alice)
    do_due(NOW + 2 * HOUR, 10)
    assert ("reminded", ("alice",), False) in told


def test_whoever_has_a_shift_is_on_call(request_: ApprovalRequest, cast: Cast, told: Told) -> None:
    now = NOW + 3.7 * HOUR
    OnCallShift.objects.create(tenant=cast.tenant, person=cast.alice, begins=now - HOUR, ends=now)
    OnCallShift.objects.create(tenant=cast.tenant, person=cast.bob, begins=now, ends=now + HOUR)
    OnCallShift.objects.create(tenant=cast.tenant, person=cast.charlie, begins=now, ends=now + HOUR)
    do_due(now, 10)
    assert told[2] == ("escalated", ("bob",), True)


def test_closed_and_expired_requests_are_left_alone(request_: ApprovalRequest, told: Told) -> None:
    assert do_due(NOW + 4 * HOUR, 10) == 0
    ApprovalRequest.objects.update(state="voided", closed_at=NOW)
    assert do_due(NOW + 3 * HOUR, 10) == 0
    assert told == []


def test_one_that_cannot_be_done_does_not_hold_up_the_others(
    request_: ApprovalRequest, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = open_request(cast.tenant.pk)
    climb = due.climb

    def fails(request: ApprovalRequest, *arguments: object, **named: object) -> None:
        if request.pk == request_.pk:
            raise AtTheTop("broken")
        climb(request, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(due, "climb", fails)
    assert do_due(NOW + 2 * HOUR, 10) == 1
    request_.refresh_from_db()
    assert (request_.rung, request_.reminded) == (0, 0)
    assert request_.next_at == NOW + 2 * HOUR + due.TRY_AGAIN
    other.refresh_from_db()
    assert other.rung == 1


def test_the_people_of_a_step_see_it_and_gain_no_right(
    request_: ApprovalRequest, cast: Cast, boss: User, told: Told
) -> None:
    now = NOW + 3.3 * HOUR
    assert not requests_in(view_of(boss, cast.tenant.pk, now), Bucket.ESCALATED).exists()
    do_due(now, 10)
    request_.refresh_from_db()
    view = view_of(boss, cast.tenant.pk, now)
    assert requests_in(view, Bucket.ESCALATED).get() == request_
    assert not requests_in(view, Bucket.TURN).exists()
    assert not requests_in(view_of(cast.charlie, cast.tenant.pk, now), Bucket.ESCALATED).exists()


def test_a_person_escalates_to_the_next_step(request_: ApprovalRequest, cast: Cast, told: Told) -> None:
    ApprovalRequest.objects.update(claimed_by=cast.alice, claimed_until=NOW + HOUR)
    rung = escalate(request_id=request_.pk, person=cast.alice, words="I am not sure.", now=NOW + HOUR / 2)
    assert rung.place == 1
    request_.refresh_from_db()
    assert (request_.rung, request_.claimed_by, request_.next_at) == (1, None, NOW + 2 * HOUR)
    act = Act.objects.get(request=request_)
    assert (act.person, act.words, act.kind) == (cast.alice, "I am not sure.", ActKind.ESCALATED)
    do_due(NOW + 2 * HOUR, 10)  # the step that was taken by hand is not taken again
    assert [kind for kind, *_ in told] == ["escalated", "reminded"]


def test_escalating_ends_at_the_top(request_: ApprovalRequest, cast: Cast, told: Told) -> None:
    for _ in range(3):
        escalate(request_id=request_.pk, person=cast.alice, words="", now=NOW)
    with pytest.raises(AtTheTop):
        escalate(request_id=request_.pk, person=cast.alice, words="", now=NOW)
    assert len(acts(request_, ActKind.ESCALATED)) == 3


def test_a_queue_without_a_ladder_has_no_next_step(cast: Cast) -> None:
    request = open_request(cast.tenant.pk)
    with pytest.raises(AtTheTop, match="without a ladder"):
        escalate(request_id=request.pk, person=cast.alice, words="", now=NOW)


def test_who_only_reads_does_not_escalate(request_: ApprovalRequest, cast: Cast, boss: User, told: Told) -> None:
    assign_perm("approvals.see_queue", boss, cast.queue)
    for person in (boss, cast.charlie):
        with pytest.raises(NotAllowed):
            escalate(request_id=request_.pk, person=person, words="", now=NOW)
    ApprovalRequest.objects.update(rung=2)
    assert escalate(request_id=request_.pk, person=boss, words="", now=NOW).place == 3  # it has come up to the boss


def test_a_closed_request_is_not_escalated(request_: ApprovalRequest, cast: Cast) -> None:
    with pytest.raises(AlreadyClosed):
        escalate(request_id=request_.pk, person=cast.alice, words="", now=NOW + 4 * HOUR)


def test_words_that_no_row_takes_are_cleaned(request_: ApprovalRequest, cast: Cast, told: Told) -> None:
    escalate(request_id=request_.pk, person=cast.alice, words="a\x00\ud800b" + "x" * 5000, now=NOW)
    assert len(Act.objects.get(request=request_).words) <= 2000
