"""What is under way, in all of a tenant or under one freeze, from queries to what the templates receive."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.conf import settings
from django.urls import reverse

from agentops.console.marks import State
from agentops.console.operations import in_flight, queries
from agentops.console.operations.in_flight import Scope
from agentops.console.operations.presenters import AtWork, Draining, FreezeLine, InFlight, OpenCall
from agentops.console.operations.standing import freeze_lines
from agentops.console.operations.words import WISHES, counted, doing
from agentops.console.reveal import reveal_cut
from agentops.runtime.states import SessionStatus
from agentops.tenancy.access import Reader
from agentops.tenancy.models import Freeze

TITLE = 160


def scope_of(reader: Reader, freeze: Freeze | None) -> Scope:
    """Return what of the reader's tenant a freeze covers; all of it without one, or when it covers every tenant."""
    if freeze is None:
        return Scope(reader.tenant.pk)
    return Scope(reader.tenant.pk, freeze.agent_id, freeze.tool)


def live_part(reader: Reader, freeze: Freeze | None, *, now: datetime) -> InFlight:
    """Return what is under way. The same number of queries however much it is."""
    scope = scope_of(reader, freeze)
    sessions, sessions_total = ([], 0) if scope.tool else in_flight.running(scope)
    calls, calls_total = in_flight.open_calls(scope, now)
    under_way = sum(call.status == SessionStatus.RUNNING for call in calls)
    quiet = not sessions and not under_way
    since = in_flight.quiet_since(scope) if quiet else None
    if quiet and freeze is not None:
        since = max(since or freeze.frozen_at, freeze.frozen_at)
    return InFlight(
        url=_url(freeze),
        as_of=now,
        moving=not quiet,
        summary=_summary(scope, sessions_total, under_way),
        quiet=quiet,
        quiet_since=since,
        queued=0 if scope.tool else in_flight.queued(scope),
        sessions=[_at_work(session, now) for session in sessions],
        sessions_total=sessions_total,
        calls=[_call(call) for call in calls],
        calls_total=calls_total,
        draining=[] if freeze else _draining(reader),
    )


def _url(freeze: Freeze | None) -> str:
    url = reverse("operations")
    return url if freeze is None else f"{url}?{urlencode({'freeze': str(freeze.pk)})}"


def _summary(scope: Scope, sessions: int, under_way: int) -> str:
    calls = f"{counted(under_way, 'call')}{f' of {scope.tool}' if scope.tool else ''} under way"
    return calls if scope.tool else f"{counted(sessions, 'session')} at work, {calls}"


def _at_work(found: in_flight.Running, now: datetime) -> AtWork:
    return AtWork(
        session_pk=str(found.session_id),
        title=reveal_cut(found.title, TITLE),
        agent=found.agent,
        doing=doing(found.event, found.tool),
        since=found.at,
        worker=found.worker,
        heard=found.lease_until - timedelta(seconds=settings.LEASE_SECONDS),
        silent=found.lease_until if found.lease_until < now else None,
        wish=WISHES.get(found.wanted, ""),
    )


_AT_IT = {
    SessionStatus.RUNNING.value: State("plain", "under way"),
    SessionStatus.SLEEPING.value: State("gone", "its outcome is asked for later"),
    SessionStatus.PAUSED.value: State("gone", "found out once the session is resumed"),
    SessionStatus.QUEUED.value: State("gone", "found out by the next worker"),
}


def _call(found: in_flight.Call) -> OpenCall:
    return OpenCall(
        session_pk=str(found.session_id),
        title=reveal_cut(found.title, TITLE),
        position=found.position,
        tool=found.tool,
        effect=reveal_cut(found.effect, TITLE),
        since=found.at,
        state=_AT_IT[found.status],
    )


def _draining(reader: Reader) -> list[Draining]:
    active, _ = queries.active_freezes(reader.tenant.pk)
    if not active:
        return []
    found = in_flight.busy(reader.tenant.pk)
    lines = freeze_lines(active, reader.tenant)
    return [_drains(reader, freeze, line, found) for freeze, line in zip(active, lines, strict=True)]


def _drains(reader: Reader, freeze: Freeze, line: FreezeLine, found: Sequence[in_flight.Busy]) -> Draining:
    left = in_flight.left_of(scope_of(reader, freeze), found)
    words = counted(left, "call" if freeze.tool else "session")
    return Draining(line=line, left=left, words=f"{words} still under way" if left else "all quiet")
