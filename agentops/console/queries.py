"""What the screens read. Every query names the tenant; lists cost the same number of queries at any length."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Count, Max, Q, QuerySet

from agentops.console.records import Told
from agentops.kernel.canonical import loads
from agentops.kernel.ids import first_id
from agentops.ledger.bodies import size_of
from agentops.ledger.models import LedgerEvent
from agentops.ledger.payloads import Erased, Read, read_payloads
from agentops.runtime.models import Invocation, Session
from agentops.runtime.states import ENDED, SessionStatus
from agentops.tenancy.models import Freeze

PAGE = 30
EVENTS_A_PAGE = 200
WORKED = (SessionStatus.QUEUED, SessionStatus.RUNNING, SessionStatus.SLEEPING)
LONGEST_RUN = timedelta(days=7)
"""How long before today a session may have begun and still be looked for among those that stopped today."""


@dataclass(frozen=True)
class SessionFilter:
    """What the list is restricted to; empty values restrict nothing.

    ``text`` is looked for in title and requester, and may be an incident code. ``status`` may also be ``open`` (not
    ended), ``mine`` (taken over by ``actor``) and ``frozen``.
    """

    text: str = ""
    status: str = ""
    outcome: str = ""
    stop: str = ""
    actor: str = ""

    @property
    def active(self) -> bool:
        """Whether anything is restricted."""
        return any((self.text, self.status, self.outcome, self.stop))


def sessions_of(tenant_id: UUID) -> QuerySet[Session]:
    """Return the tenant's sessions with their agents, newest first."""
    return (
        Session.objects.filter(tenant_id=tenant_id)
        .select_related("agent_version", "agent_version__agent")
        .order_by("-id")
    )


@dataclass(frozen=True)
class Frozen:
    """What of a tenant no worker takes at the moment: all of it, or the sessions of some agents."""

    everything: bool
    agents: frozenset[UUID]

    def covers(self, session: Session) -> bool:
        """Whether the session waits for a freeze to be lifted."""
        return session.status == SessionStatus.QUEUED and (self.everything or session.agent_id in self.agents)


def freezes_of(tenant_id: UUID) -> QuerySet[Freeze]:
    """Return the freezes that concern a tenant: its own and those of every tenant."""
    return Freeze.objects.filter(Q(tenant_id=tenant_id) | Q(tenant_id=None)).order_by("-id")


def frozen_in(tenant_id: UUID) -> Frozen:
    """Return what the active freezes keep from the workers; one of a tool keeps no session from them."""
    rows = freezes_of(tenant_id).filter(tool="", lifted_at=None)
    agents = list(rows.values_list("agent_id", flat=True))
    return Frozen(None in agents, frozenset(agent for agent in agents if agent is not None))


def session_page(
    tenant_id: UUID, chosen: SessionFilter, frozen: Frozen, *, after: UUID | None
) -> tuple[list[Session], bool]:
    """Return at most 30 sessions older than ``after``, and whether there are more."""
    found = sessions_of(tenant_id).filter(_matching(chosen, frozen))
    if after is not None:
        found = found.filter(id__lt=after)
    rows = list(found[: PAGE + 1])
    return rows[:PAGE], len(rows) > PAGE


def _matching(chosen: SessionFilter, frozen: Frozen) -> Q:
    found = Q()
    if chosen.text:
        words = Q(title__icontains=chosen.text) | Q(requester__icontains=chosen.text)
        code = Q(stop_code=chosen.text.upper())
        found &= words | code | Q(subject_id=chosen.text) | Q(customer_id=chosen.text)
    if chosen.status == "open":
        found &= ~Q(status__in=sorted(ENDED))
    elif chosen.status == "mine":
        found &= Q(taken_by=chosen.actor)
    elif chosen.status == "frozen":
        found &= Q(status=SessionStatus.QUEUED)
        found &= Q() if frozen.everything else Q(agent_id__in=frozen.agents)
    elif chosen.status:
        found &= Q(status=chosen.status)
    if chosen.outcome:
        found &= Q(outcome=chosen.outcome, status__in=sorted(ENDED))
    if chosen.stop:
        found &= Q(stop_code=chosen.stop)
    return found


def session_or_none(tenant_id: UUID, session_id: UUID) -> Session | None:
    """Return the tenant's session of that id."""
    return sessions_of(tenant_id).filter(pk=session_id).first()


def invocations_of(session_id: UUID) -> list[Invocation]:
    """Return the writes that the session proposed, in their order."""
    return list(Invocation.objects.filter(session_id=session_id).order_by("position"))


LARGE_BYTES = 150_000

_EVENTS = """
SELECT e.position, e.at, e.type, e.actor, e.refs::text, e.facts::text,
  CASE WHEN octet_length(p.body) <= %s THEN p.body END, substring(p.body FOR 5), coalesce(octet_length(p.body), 0)
FROM ledger_event e LEFT JOIN ledger_payload p ON p.stream = e.stream AND p.position = e.position
WHERE e.stream = %s AND e.position >= %s AND e.position < %s
ORDER BY e.position"""


def events_page(session_id: UUID, *, start: int) -> list[Told]:
    """Return at most 200 events from position ``start`` on, with their payloads except huge ones."""
    with connection.cursor() as cursor:
        cursor.execute(_EVENTS, [LARGE_BYTES, session_id, start, start + EVENTS_A_PAGE])
        rows = cursor.fetchall()
    read = read_payloads((session_id, row[0], row[-3]) for row in rows)
    return [
        Told(position, at, type_, actor, loads(refs), loads(facts), *_payload(payload, head, stored))
        for (position, at, type_, actor, refs, facts, _, head, stored), payload in zip(rows, read, strict=True)
    ]


def _payload(read: Read, head: bytes | None, stored: int) -> tuple[Any, int, datetime | None]:
    """Return a payload, empty when it is huge or erased, its size, and when it was erased.

    The size of a huge one is what its first bytes tell.
    """
    if isinstance(read, Erased):
        return {}, 0, read.at
    if read is None:
        return {}, 0 if head is None else size_of(head, whole=stored), None
    size = len(read.body)
    return {} if size > LARGE_BYTES else read.value, size, None


_OUTLINE = """
SELECT position, at, type, actor, refs::text, facts::text FROM ledger_event
WHERE stream = %s AND type <> ALL(%s) ORDER BY position"""


def outline_of(session_id: UUID) -> list[Told]:
    """Return the events of a session without their payloads, but for those that only tell which worker had it."""
    with connection.cursor() as cursor:
        cursor.execute(_OUTLINE, [session_id, ["session.claimed", "session.woken", "session.lease_expired"]])
        return [
            Told(position, at, type_, actor, loads(refs), loads(facts), {}, 0)
            for position, at, type_, actor, refs, facts in cursor.fetchall()
        ]


def related_positions(session_id: UUID, position: int) -> list[int] | None:
    """Return the positions of the events that tell of the same call as this one, None when there is no such event."""
    events = LedgerEvent.objects.filter(stream=session_id)
    refs = events.filter(position=position).values_list("refs", flat=True).first()
    if refs is None:
        return None
    invocation = refs.get("invocation")
    if not invocation:
        return [position]
    return list(events.filter(refs__invocation=invocation).order_by("position").values_list("position", flat=True))


@dataclass(frozen=True)
class Today:
    """How a tenant's sessions of a day stand: rows of (status, outcome, count) and (stop code, count, last)."""

    standing: Sequence[tuple[str, str, int]]
    stopped: Sequence[tuple[str, int, datetime]]


def sessions_today(tenant_id: UUID, *, since: datetime) -> Today:
    """Return the counts of the sessions that began since ``since``, and of those that stopped since then."""
    began = Session.objects.filter(tenant_id=tenant_id, id__gte=first_id(since))
    standing = (
        began.values_list("status", "outcome").annotate(count=Count("pk")).order_by("-count", "status", "outcome")
    )
    stopped = (
        Session.objects.filter(
            tenant_id=tenant_id,
            id__gte=first_id(since - LONGEST_RUN),
            status=SessionStatus.STOPPED,
            finished_at__gte=since,
        )
        .values_list("stop_code")
        .annotate(count=Count("pk"), last=Max("finished_at"))
        .order_by("-count", "stop_code")
    )
    stops: list[Any] = list(stopped)
    return Today(list(standing), stops)


def sessions_at_work(tenant_id: UUID, *, limit: int) -> tuple[list[Session], int]:
    """Return the sessions that are queued, running or about to try again, newest first, and how many there are."""
    found = sessions_of(tenant_id).filter(status__in=WORKED)
    return list(found[:limit]), found.count()
