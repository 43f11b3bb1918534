"""What roles may ask about calls that were made: implements ``agentops.registry.made.CallRecord``."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from agentops.console.codes import session_code
from agentops.console.ports import approval_desk
from agentops.console.subject_calls import calls_of
from agentops.kernel.canonical import JSON
from agentops.kernel.money import Money
from agentops.ledger.append import Event, append_to
from agentops.registry.made import Approval, MadeCall, OpenSession, PersonAct, Stand, ToldCall
from agentops.runtime.models import Invocation, Session
from agentops.runtime.states import ENDED, InvocationState

AT_ONCE = 2_000
"""Keys that one query asks about."""

_STANDS = {
    InvocationState.INTENDED.value: Stand.UNDER_WAY,
    InvocationState.SUCCEEDED.value: Stand.DONE,
    InvocationState.COMPENSATED.value: Stand.DONE,
    InvocationState.UNKNOWN.value: Stand.UNKNOWN,
}


class Calls:
    """Calls that were begun, from the rows that hold an idempotency key: one that failed gave its key up."""

    def made(self, tenant_id: UUID, role: str, since: datetime, until: datetime) -> Sequence[MadeCall]:
        """Return the calls of a role that were begun from ``since`` up to, not including, ``until``."""
        sessions = Session.objects.filter(tenant_id=tenant_id, role=role)
        rows = _held(tenant_id).filter(intended_at__gte=since, intended_at__lt=until)
        return list(map(_made, rows.filter(session_id__in=sessions.values("id")).order_by("intended_at", "id")))

    def by_key(self, tenant_id: UUID, keys: Collection[str]) -> Mapping[str, MadeCall]:
        """Return the calls with these idempotency keys; a key that no call holds is left out."""
        return {row.key: row for row in map(_made, _with_keys(tenant_id, keys))}

    def approvals(self, tenant_id: UUID, keys: Collection[str]) -> Mapping[str, Approval]:
        """Return the requests that were approved for the calls with these keys; most calls need none."""
        calls = {row.pk: row.idempotency_key or "" for row in _with_keys(tenant_id, keys)}
        found = approval_desk().approved(tenant_id, calls) if calls else ()
        return {calls[request.invocation_id]: Approval(request.pk, request.code) for request in found}

    def of_subject(
        self, tenant_id: UUID, role: str, subject_id: str, *, reads: Collection[str] = ()
    ) -> Sequence[ToldCall]:
        """Return the writes of a role's sessions about a piece of work, and what was refused, the earliest first."""
        return calls_of(tenant_id, role, subject_id, reads)

    def note_export(self, tenant_id: UUID, *, role: str, actor: str, facts: Mapping[str, JSON]) -> None:
        """Record in the ledger stream ``exports:<role>`` that somebody takes a copy of records out."""
        event = Event("data.exported", actor, {"role": role, **facts})
        append_to(tenant_id=tenant_id, name=f"exports:{role}", events=[event])

    def note_act(self, tenant_id: UUID, act: PersonAct) -> None:
        """Record in the ledger stream ``acts:<role>`` what a person did with a piece of work, or that it was refused.

        Belongs in the transaction that makes the change.
        """
        facts = {"role": act.role, "act": act.what, **act.facts}
        if act.refused:
            facts["why"] = act.refused
        kind = "work.refused" if act.refused else "work.changed"
        event = Event(kind, act.actor, facts, {"subject": act.subject_id}, dict(act.words) or None)
        append_to(tenant_id=tenant_id, name=f"acts:{act.role}", events=[event])

    def open_session(self, tenant_id: UUID, role: str, subject_id: str) -> OpenSession | None:
        """Return the session that works on a piece of work at this moment, None when there is none."""
        rows = Session.objects.filter(tenant_id=tenant_id, role=role, subject_id=subject_id)
        row = rows.exclude(status__in=ENDED).order_by("-id").first()
        return None if row is None else OpenSession(row.pk, session_code(row.pk), row.taken_by)


def _held(tenant_id: UUID) -> QuerySet[Invocation]:
    return Invocation.objects.filter(tenant_id=tenant_id, state__in=_STANDS, idempotency_key__isnull=False)


def _with_keys(tenant_id: UUID, keys: Collection[str]) -> Iterator[Invocation]:
    wanted = sorted(set(keys) - {""})
    for first in range(0, len(wanted), AT_ONCE):
        yield from _held(tenant_id).filter(idempotency_key__in=wanted[first : first + AT_ONCE])


def _made(row: Invocation) -> MadeCall:
    return MadeCall(
        key=row.idempotency_key or "",
        tool=row.tool,
        stand=_STANDS[row.state],
        money=_money(row.preview.get("money")),
        at=row.intended_at or row.created_at,
        session_id=row.session_id,
        position=row.position,
    )


def _money(told: Any) -> Money | None:
    """The dry run keeps minor units and currency as a pair."""
    return None if told is None else Money(told[0], told[1])
