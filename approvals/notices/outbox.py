"""What is to be told, written in the transaction that has something to say. Nothing is sent here.

The table is the outbox: a crash before the commit tells nobody of what did not happen, one after it loses nothing.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q

from agentops.kernel.ids import first_id, new_id
from approvals.models import ApprovalRequest, Notice, SlackChannel
from approvals.notices.people import Ways, told
from approvals.notices.times import due_at

_WAITING = Notice.State.WAITING
KEPT_FOR = timedelta(days=90)
"""So long it can be looked up who was told."""


def tell(
    request: ApprovalRequest,
    kind: Notice.Kind,
    *,
    now: datetime,
    people: Iterable[User] | None = None,
    urgent: bool = False,
) -> int:
    """Note in the caller's transaction what people are told, and return by how many messages.

    ``people`` None: whoever may decide the request, and the queue's Slack channel. An escalation is always urgent. One
    of a kind that waits for a person already is not made again.
    """
    slack = list(SlackChannel.objects.filter(tenant_id=request.tenant_id, is_active=True))
    if not slack and not mail_is_set_up():
        return 0
    urgent = urgent or kind is Notice.Kind.ESCALATED
    # An update that says "decided" is wrong by now.
    Notice.objects.filter(request=request, kind=Notice.Kind.CLOSED, state=_WAITING).update(state=Notice.State.DROPPED)
    made = [
        notice
        for way in told(request, now, people)
        for notice in _to_person(request, kind, way, now=now, urgent=urgent, slack=bool(slack))
    ]
    if any(channel.queue_id == request.queue_id for channel in slack) and (people is None or urgent):
        made.append(_notice(request, kind, None, Notice.Channel.SLACK, due=now, now=now, urgent=urgent))
    return len(Notice.objects.bulk_create(made, ignore_conflicts=True))


def mail_is_set_up() -> bool:
    """Return whether this installation sends mail."""
    return bool(settings.MAIL_FROM and settings.SITE_URL)


def _to_person(
    request: ApprovalRequest, kind: Notice.Kind, way: Ways, *, now: datetime, urgent: bool, slack: bool
) -> list[Notice]:
    due = due_at(now, way.habits, urgent=urgent, until=request.expires_at)
    channels = []
    if way.mail and mail_is_set_up():
        channels.append(Notice.Channel.MAIL)
    if way.slack and slack:
        channels.append(Notice.Channel.SLACK)
    return [_notice(request, kind, way.person, channel, due=due, now=now, urgent=urgent) for channel in channels]


def _notice(
    request: ApprovalRequest,
    kind: Notice.Kind,
    person: User | None,
    channel: Notice.Channel,
    *,
    due: datetime,
    now: datetime,
    urgent: bool,
) -> Notice:
    return Notice(
        id=new_id(),
        tenant_id=request.tenant_id,
        request_id=request.pk,
        person=person,
        channel=channel,
        kind=kind,
        urgent=urgent,
        due_at=due,
        created_at=now,
    )


def closed(request: ApprovalRequest, now: datetime) -> int:
    """Note in the caller's transaction that a request is closed, and return how many messages will be changed.

    What waits to be sent is dropped. Messages in Slack are changed; mail that was sent stays as it is.
    """
    others = ~Q(kind=Notice.Kind.CLOSED)
    Notice.objects.filter(others, request_id=request.pk, state=_WAITING).update(state=Notice.State.DROPPED)
    sent = Notice.objects.filter(others, request_id=request.pk, channel=Notice.Channel.SLACK, state=Notice.State.SENT)
    readers = sent.order_by().values_list("tenant_id", "person_id").distinct()
    made = [update_of(request.pk, tenant_id, person_id, now) for tenant_id, person_id in readers]
    return len(Notice.objects.bulk_create(made, ignore_conflicts=True))


def update_of(request_id: UUID, tenant_id: UUID, person_id: int | None, now: datetime) -> Notice:
    """Return the notice that has a reader's messages about a request changed."""
    return Notice(
        id=new_id(),
        tenant_id=tenant_id,
        request_id=request_id,
        person_id=person_id,
        channel=Notice.Channel.SLACK,
        kind=Notice.Kind.CLOSED,
        urgent=True,
        due_at=now,
        created_at=now,
    )


def forget_old(now: datetime, limit: int) -> int:
    """Delete notices that were done with long ago, ``limit`` at most, and return how many. Part of the sweep."""
    old = Notice.objects.filter(pk__lt=first_id(now - KEPT_FOR)).exclude(state=_WAITING)
    return Notice.objects.filter(pk__in=old.order_by("pk").values("pk")[:limit]).delete()[0]
