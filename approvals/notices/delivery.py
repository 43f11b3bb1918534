"""Sending what the outbox holds, at least once: a crash between sending and noting sends once more, under the same key.

Rows are claimed by lease, sent outside any transaction, and noted. Any number of processes may do so at once.
"""

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.runtime.ports import ApprovalState
from approvals.models import Notice, NoticePreference, SlackChannel
from approvals.notices.mail import message_id, send_mail
from approvals.notices.outbox import update_of
from approvals.notices.people import still_fits, zone_for
from approvals.notices.sending import AskedToWait, NeverSent, NotSent
from approvals.notices.slack import change_message, post_message
from approvals.notices.times import MOST_ATTEMPTS, wait_after
from approvals.notices.words import item_of
from approvals.queries import turn_count

log = logging.getLogger(__name__)

LEASE = timedelta(seconds=120)
"""Longer than sending one parcel takes, with every time-out on the way."""

MOST_IN_A_MAIL = 30
# Claims are made one after the other, so that two processes do not make two mails of what is one.
_CLAIMING = 7_283_114_021


@dataclass(frozen=True)
class Parcel:
    """Notices that are sent as one message. ``until`` is the lease, by which they are known to be ours."""

    notices: Sequence[Notice]
    until: datetime


def due(now: datetime) -> QuerySet[Notice]:
    """Return the notices whose time has come and that nobody is sending."""
    free = Q(leased_until=None) | Q(leased_until__lte=now)
    return Notice.objects.filter(free, state=Notice.State.WAITING, due_at__lte=now)


def deliver_due(*, limit: int, clock: Callable[[], datetime] = utcnow) -> int:
    """Send what is due, at most ``limit`` messages, and return how many were tried."""
    # Only a sender that stopped leaves so many attempts behind.
    words = "The sender stopped at it each time."
    due(clock()).filter(attempts__gte=MOST_ATTEMPTS).update(state=Notice.State.FAILED, last_error=words)
    done = 0
    while done < limit:
        parcel = _claim(clock())
        if parcel is None:
            break
        _deliver(parcel, clock)
        done += 1
    return done


@transaction.atomic
def _claim(now: datetime) -> Parcel | None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [_CLAIMING])
    rows = due(now).select_for_update(skip_locked=True).order_by("due_at", "id")
    first = rows.first()
    if first is None:
        return None
    notices = [first]
    if first.channel == Notice.Channel.MAIL:
        alike = rows.filter(channel=first.channel, tenant_id=first.tenant_id, person_id=first.person_id)
        # What was tried together is tried together again, under the same Message-ID.
        notices = list(alike.filter(address=first.address)[:MOST_IN_A_MAIL])
    address = first.address or (message_id(first.pk) if first.channel == Notice.Channel.MAIL else "")
    until = now + LEASE
    Notice.objects.filter(pk__in=[notice.pk for notice in notices]).update(
        leased_until=until, attempts=F("attempts") + 1, address=address
    )
    return Parcel(notices, until)


def _deliver(parcel: Parcel, clock: Callable[[], datetime]) -> None:
    try:
        notices = _still_of_use(parcel, clock())
        if not notices:
            return
        send = _send_mail if notices[0].channel == Notice.Channel.MAIL else _send_slack
        address = send(notices, clock())
        _note_sent(parcel, notices, address, clock())
    except AskedToWait as error:
        _put_off(parcel, error, clock())
    except AgentOpsError as error:
        _note_failure(parcel, error, clock())
    except Exception:
        log.exception("notices could not be sent", extra={"notice": str(parcel.notices[0].pk)})
        _note_failure(parcel, NotSent("A fault of this program; the log has it."), clock())


def _ours(parcel: Parcel) -> QuerySet[Notice]:
    return Notice.objects.filter(pk__in=[notice.pk for notice in parcel.notices], leased_until=parcel.until)


def _still_of_use(parcel: Parcel, now: datetime) -> list[Notice]:
    """Read the notices anew, and drop those that say nothing true any more or whose reader has no part in it now."""
    waiting = _ours(parcel).filter(state=Notice.State.WAITING).order_by("due_at", "id")
    fit: list[Notice] = []
    unfit: list[Notice] = []
    for notice in waiting.select_related("request__queue", "person", "tenant"):
        (fit if _is_of_use(notice, now) else unfit).append(notice)
    Notice.objects.filter(pk__in=[notice.pk for notice in unfit]).update(state=Notice.State.DROPPED)
    return fit


def _is_of_use(notice: Notice, now: datetime) -> bool:
    if notice.kind == Notice.Kind.CLOSED:
        return True
    request = notice.request
    is_open = request.state == ApprovalState.PENDING and now < request.expires_at
    return is_open and (notice.person is None or still_fits(request, notice.person))


def _send_mail(notices: Sequence[Notice], now: datetime) -> str:
    person, address = notices[0].person, notices[0].address
    if person is None:
        raise NeverSent("Mail needs a person.")
    zone = zone_for(person, notices[0].tenant)
    items = [item_of(notice, zone, now) for notice in notices]
    send_mail(person, items, waiting=turn_count(person, notices[0].tenant_id), key=address)
    return address


def _send_slack(notices: Sequence[Notice], now: datetime) -> str:
    (notice,) = notices
    # Slack shows times on each reader's own clock.
    item = item_of(notice, UTC, now)
    if notice.kind == Notice.Kind.CLOSED:
        for address in _messages_of(notice):
            change_message(tenant_id=notice.tenant_id, address=address, item=item)
        return ""
    to, waiting = _slack_reader(notice)
    return post_message(tenant_id=notice.tenant_id, to=to, item=item, waiting=waiting, key=notice.pk)


def _messages_of(notice: Notice) -> list[str]:
    """Return the addresses of the messages about the request that the notice's reader has."""
    sent = Notice.objects.filter(
        request_id=notice.request_id, person_id=notice.person_id, channel=notice.channel, state=Notice.State.SENT
    )
    return list(sent.exclude(address="").order_by("id").values_list("address", flat=True))


def _slack_reader(notice: Notice) -> tuple[str, int | None]:
    """Return where a message goes, and how many requests wait for its reader if that is a person."""
    if notice.person is None:
        channel = SlackChannel.objects.filter(queue_id=notice.request.queue_id, is_active=True).first()
        if channel is None:
            raise NeverSent("The queue has no Slack channel any more.")
        return channel.channel, None
    own = NoticePreference.objects.filter(person=notice.person).first()
    if own is None or not own.slack_user:
        raise NeverSent("The person has no Slack member id any more.")
    return own.slack_user, turn_count(notice.person, notice.tenant_id)


@transaction.atomic
def _note_sent(parcel: Parcel, notices: Sequence[Notice], address: str, now: datetime) -> None:
    """Note it as sent. One whose request was closed in the meantime gets its update after all."""
    for row in _ours(parcel).filter(pk__in=[notice.pk for notice in notices]).select_for_update():
        overtaken = row.state == Notice.State.DROPPED and row.channel == Notice.Channel.SLACK
        row.state, row.address, row.sent_at = Notice.State.SENT, address, now
        row.leased_until, row.last_error = None, ""
        row.save(update_fields=["state", "address", "sent_at", "leased_until", "last_error"])
        if overtaken:
            update = update_of(row.request_id, row.tenant_id, row.person_id, now)
            Notice.objects.bulk_create([update], ignore_conflicts=True)


def _note_failure(parcel: Parcel, error: AgentOpsError, now: datetime) -> None:
    attempts = parcel.notices[0].attempts + 1
    told = error.message[:300]
    rows = _ours(parcel).filter(state=Notice.State.WAITING)
    if isinstance(error, NeverSent) or attempts >= MOST_ATTEMPTS:
        rows.update(state=Notice.State.FAILED, leased_until=None, last_error=told)
        log.warning("gave up a notice: %s", told, extra={"notice": str(parcel.notices[0].pk), "attempts": attempts})
        return
    wait = wait_after(attempts, jitter=random.random())  # noqa: S311 - spreads load, guards nothing
    rows.update(due_at=now + wait, leased_until=None, last_error=told)


@transaction.atomic
def _put_off(parcel: Parcel, error: AskedToWait, now: datetime) -> None:
    """Let the tenant's Slack rest for as long as Slack asks. That is no failed attempt."""
    later, first = now + timedelta(seconds=error.seconds), parcel.notices[0]
    rows = _ours(parcel).filter(state=Notice.State.WAITING)
    rows.update(due_at=later, leased_until=None, attempts=F("attempts") - 1, last_error=error.message[:300])
    others = due(now).filter(tenant_id=first.tenant_id, channel=Notice.Channel.SLACK)
    others.update(due_at=later)
