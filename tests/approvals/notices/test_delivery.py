"""What is due goes out: once, later when it fails, together when it is one person's, never inside a transaction."""

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail as outbox
from django.db import connection, transaction

from approvals.models import ApprovalRequest, Notice, NoticePreference
from approvals.notices import delivery, tasks
from approvals.notices.outbox import closed, tell
from tests.approvals.conftest import Stage
from tests.approvals.notices.conftest import Clock, ask, deliver, states
from tests.factories.people import make_approver

pytestmark = pytest.mark.django_db
ASKED = Notice.Kind.ASKED


class Broken:
    """A mail server that fails for so many mails, before or after it has taken them."""

    def __init__(self, times: int, *, after: bool = False) -> None:
        self.times, self.after, self.send = times, after, delivery.send_mail

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        if self.after:
            self.send(*args, **kwargs)
        if self.times:
            self.times -= 1
            raise KeyboardInterrupt if self.after else delivery.NotSent("The mail server could not be used.")
        if not self.after:
            self.send(*args, **kwargs)


def test_what_is_due_is_sent_once(mail: None, request_: ApprovalRequest, clock: Clock) -> None:
    tell(request_, ASKED, now=clock())
    assert [deliver(clock), deliver(clock)] == [1, 0]
    notice = Notice.objects.get()
    assert (notice.state, notice.attempts, notice.sent_at, notice.last_error) == ("sent", 1, clock(), "")
    assert len(outbox.outbox) == 1


def test_what_is_not_due_waits(mail: None, stage: Stage, request_: ApprovalRequest, clock: Clock) -> None:
    NoticePreference.objects.create(person=stage.cast.alice, digest_minutes=15)
    clock.now = clock.now.replace(minute=1)
    tell(request_, ASKED, now=clock())
    assert deliver(clock) == 0
    clock.on(minutes=14)
    assert deliver(clock) == 1


def test_several_of_one_person_are_one_mail(mail: None, stage: Stage, clock: Clock) -> None:
    make_approver("dave", stage.cast.queue)
    requests = [ask(stage), ask(stage, 6000), ask(stage, 7000)]
    for request in requests:
        tell(request, ASKED, now=clock())
    assert deliver(clock) == 2
    assert {state for *_, state in states()} == {"sent"}
    assert sorted(sent.to[0] for sent in outbox.outbox) == ["alice@example.com", "dave@example.com"]
    for sent in outbox.outbox:
        assert sent.subject == "3 approval requests"
        assert all(request.code in str(sent.body) for request in requests)


def test_failure_is_tried_again_later_and_given_up_in_the_end(
    mail: None, request_: ApprovalRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "send_mail", Broken(100))
    ApprovalRequest.objects.update(expires_at=clock() + timedelta(days=3))
    tell(request_, ASKED, now=clock())
    waits = []
    for _ in range(8):
        assert deliver(clock) == 1
        assert deliver(clock) == 0
        waits.append((Notice.objects.get().due_at - clock()).total_seconds())
        clock.now = max(Notice.objects.get().due_at, clock())
    notice = Notice.objects.get()
    assert (notice.state, notice.attempts) == ("failed", 8)
    assert notice.last_error == "The mail server could not be used."
    assert all(0.8 * 15 * 2**n <= wait <= 1.2 * 15 * 2**n for n, wait in enumerate(waits[:7]))
    assert deliver(clock) == 0


def test_mail_server_that_comes_back(
    mail: None, request_: ApprovalRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "send_mail", Broken(2))
    tell(request_, ASKED, now=clock())
    for _ in range(3):
        deliver(clock)
        clock.on(minutes=2)
    assert (Notice.objects.get().state, len(outbox.outbox)) == ("sent", 1)


def test_crash_between_sending_and_noting_sends_once_more_under_the_same_id(
    mail: None, stage: Stage, request_: ApprovalRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "send_mail", Broken(1, after=True))
    tell(request_, ASKED, now=clock())
    with pytest.raises(KeyboardInterrupt):
        deliver(clock)
    # What came in the meantime is not mixed into the mail that is repeated.
    other = ask(stage, 6000)
    tell(other, ASKED, now=clock())
    assert deliver(clock) == 1
    clock.on(seconds=delivery.LEASE.total_seconds())
    assert [deliver(clock), deliver(clock)] == [1, 0]
    first, second, repeated = (sent.extra_headers["Message-ID"] for sent in outbox.outbox)
    assert first == repeated != second
    assert request_.code in str(outbox.outbox[2].body)
    assert other.code not in str(outbox.outbox[2].body)


def test_sender_that_dies_each_time_is_given_up(
    mail: None, request_: ApprovalRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "send_mail", Broken(100, after=True))
    tell(request_, ASKED, now=clock())
    for _ in range(8):
        with pytest.raises(KeyboardInterrupt):
            deliver(clock)
        clock.on(seconds=delivery.LEASE.total_seconds())
    assert deliver(clock) == 0
    notice = Notice.objects.get()
    assert (notice.state, notice.last_error) == ("failed", "The sender stopped at it each time.")


def test_one_that_cannot_be_sent_does_not_hold_up_the_others(
    mail: None, stage: Stage, request_: ApprovalRequest, clock: Clock
) -> None:
    stage.cast.alice.email = "nobody at all"
    stage.cast.alice.save()
    make_approver("dave", stage.cast.queue)
    tell(request_, ASKED, now=clock())
    assert deliver(clock) == 2
    assert [row[2:] for row in states()] == [("alice", "failed"), ("dave", "sent")]
    assert "nobody at all" not in Notice.objects.get(state="failed").last_error


def test_fault_of_the_program_is_a_failed_attempt(
    mail: None, request_: ApprovalRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fault(*args: Any, **kwargs: Any) -> None:
        raise ZeroDivisionError("secret words")

    monkeypatch.setattr(delivery, "send_mail", fault)
    tell(request_, ASKED, now=clock())
    assert deliver(clock) == 1
    assert Notice.objects.get().last_error == "A fault of this program; the log has it."


@pytest.mark.parametrize("change", ["closed", "decided", "expired", "left", "inactive"])
def test_what_is_of_no_more_use_is_not_sent(
    mail: None, stage: Stage, request_: ApprovalRequest, clock: Clock, change: str
) -> None:
    tell(request_, ASKED, now=clock())
    alice = stage.cast.alice
    if change == "closed":
        closed(request_, clock())
    elif change == "decided":
        ApprovalRequest.objects.update(state="approved", closed_at=clock())
    elif change == "expired":
        clock.now = request_.expires_at
    elif change == "left":
        alice.memberships.all().delete()
    else:
        alice.is_active = False
        alice.save()
    deliver(clock)
    assert [row[3] for row in states()] == ["dropped"]
    assert outbox.outbox == []


def test_ring_asks_a_worker_only_when_something_is_due(
    mail: None, request_: ApprovalRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    rung: list[str] = []
    monkeypatch.setattr(tasks.current_app, "send_task", lambda name, **_: rung.append(name))
    tasks.ring_if_due()
    tell(request_, ASKED, now=clock())
    tasks.ring_if_due()
    assert rung == ["approvals.notices.tasks.deliver"]


def test_broker_that_is_down_is_no_failure_of_the_sweep(
    mail: None, request_: ApprovalRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(name: str, **_: Any) -> None:
        raise ConnectionError

    monkeypatch.setattr(tasks.current_app, "send_task", down)
    tell(request_, ASKED, now=clock())
    tasks.ring_if_due()


@pytest.mark.django_db(transaction=True)
def test_many_senders_at_once_send_each_message_once(mail: None, stage: Stage, clock: Clock) -> None:
    for name in ("dave", "erin", "frank"):
        make_approver(name, stage.cast.queue)
    for request in [ask(stage, minor) for minor in (5000, 6000, 7000)]:
        tell(request, ASKED, now=clock())
    start = threading.Barrier(4)

    def send(_: int) -> int:
        try:
            start.wait(30)
            return deliver(clock)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(send, range(4))) == 4
    assert sorted(sent.to[0] for sent in outbox.outbox) == [
        f"{n}@example.com" for n in ("alice", "dave", "erin", "frank")
    ]
    assert {sent.subject for sent in outbox.outbox} == {"3 approval requests"}


@pytest.mark.django_db(transaction=True)
def test_nothing_is_sent_inside_a_transaction(
    mail: None, request_: ApprovalRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside: list[bool] = []
    monkeypatch.setattr(delivery, "send_mail", lambda *_, **__: inside.append(connection.in_atomic_block))
    tell(request_, ASKED, now=clock())
    deliver(clock)
    assert inside == [False]


@pytest.mark.django_db(transaction=True)
def test_own_thread_sends_and_a_second_one_is_not_begun(
    mail: None, request_: ApprovalRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, begun = threading.Event(), threading.Event()

    def slow(*_: Any, **__: Any) -> None:
        begun.set()
        assert go.wait(30)

    monkeypatch.setattr(delivery, "send_mail", slow)
    tell(request_, ASKED, now=clock())
    thread = tasks.begin()
    assert thread is not None
    assert begun.wait(30)
    assert tasks.begin() is None
    # A decision does not wait for a mail that is being sent.
    with transaction.atomic():
        closed(request_, clock())
    go.set()
    thread.join(30)
    assert Notice.objects.get().state == "sent"
    assert tasks.begin() is not None
