"""The calls that were made for a piece of work, as its sessions' streams and the rows of calls tell them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from agentops.kernel.canonical import loads
from agentops.ledger.payloads import bodies
from agentops.registry.made import MOST_TOLD, Became, ToldCall
from agentops.runtime.models import Invocation, Session
from agentops.runtime.states import InvocationState

_MOST_SESSIONS = 100
_MOST_EVENTS = 8 * MOST_TOLD
"""A call has rarely more than eight events; of one that has, the latest are read."""

_BECAME = {
    InvocationState.AWAITING_APPROVAL.value: Became.WAITS,
    InvocationState.REFUSED.value: Became.REFUSED,
    InvocationState.INTENDED.value: Became.UNDER_WAY,
    InvocationState.SUCCEEDED.value: Became.DONE,
    InvocationState.FAILED.value: Became.FAILED,
    InvocationState.UNKNOWN.value: Became.UNKNOWN,
    InvocationState.COMPENSATED.value: Became.UNDONE,
}
_REFUSED = "call.refused"
_ENDS = (_REFUSED, "call.succeeded", "call.failed", "call.unknown", "call.reconciled")
_APPROVES = ("approval.voted", "approval.given", "approval.approved")
_TAKEN_BACK = "approval.taken_back"
_TURNED_DOWN = {"approval.rejected": "REJECTED", "approval.edited": "EDITED", "approval.expired": "EXPIRED"}
"""What ends a call before it is made, and the code with which that is told."""
_READ = "call.read"
_PROPOSED = ("call.intended", "approval.requested")

_EVENTS = """
SELECT e.stream, e.position, e.at, e.type, e.actor, e.refs->>'invocation', e.facts->>'tool', p.body
FROM ledger_event e
LEFT JOIN ledger_payload p
  ON p.stream = e.stream AND p.position = e.position AND (e.type = ANY(%(ends)s) OR e.type = %(read)s)
WHERE e.stream = ANY(%(streams)s) AND e.tenant_id = %(tenant)s
  AND (e.type = ANY(%(types)s) OR (e.type = %(read)s AND e.facts->>'tool' = ANY(%(reads)s)))
ORDER BY e.at DESC, e.stream DESC, e.position DESC LIMIT %(most)s"""


@dataclass(frozen=True, slots=True)
class _Row:
    stream: UUID
    position: int
    at: datetime
    type: str
    actor: str
    invocation: str | None
    tool: str | None
    body: bytes | None


@dataclass
class _Told:
    """What the events of one call tell."""

    actor: str = ""
    approvers: list[str] = field(default_factory=list)
    result: Mapping[str, Any] = field(default_factory=dict)

    def add(self, row: _Row) -> None:
        if row.type in _PROPOSED:
            self.actor = self.actor or row.actor
        elif row.type in _APPROVES and row.actor not in self.approvers:
            self.approvers.append(row.actor)
        elif row.type == _TAKEN_BACK and row.actor in self.approvers:
            self.approvers.remove(row.actor)
        elif row.type in _TURNED_DOWN:
            self.result = _turned_down(row)
        elif row.type in _ENDS:
            self.result = _part(_body(row), "result")


def calls_of(tenant_id: UUID, role: str, subject_id: str, reads: Collection[str]) -> Sequence[ToldCall]:
    """Return the writes of a role's sessions about a piece of work, and what was refused, the earliest first.

    ``reads`` are tools whose look-ups are told too. Where there are more than MOST_TOLD, those are the latest. Three
    queries, however many there are.
    """
    sessions = Session.objects.filter(tenant_id=tenant_id, role=role, subject_id=subject_id).order_by("-id")
    streams = list(sessions.values_list("id", flat=True)[:_MOST_SESSIONS])
    if not streams:
        return []
    made = list(
        Invocation.objects.filter(tenant_id=tenant_id, session_id__in=streams).order_by("-created_at", "-id")[
            :MOST_TOLD
        ]
    )
    told: dict[str, _Told] = {}
    found = []
    for row in _events(tenant_id, streams, reads):
        if row.invocation is not None:
            told.setdefault(row.invocation, _Told()).add(row)
        elif row.type in (_REFUSED, _READ):
            found.append(_without_row(row))
    found += [_made(each, told.get(str(each.pk), _Told())) for each in made]
    return sorted(found, key=lambda call: (call.at, call.session_id, call.position))[-MOST_TOLD:]


def _events(tenant_id: UUID, streams: Sequence[UUID], reads: Collection[str]) -> Iterable[_Row]:
    """Return the latest events of calls, the earliest first."""
    params: dict[str, Any] = {
        "tenant": tenant_id,
        "streams": streams,
        "reads": list(reads),
        "read": _READ,
        "ends": [*_ENDS, *_TURNED_DOWN],
        "types": [*_ENDS, *_TURNED_DOWN, *_APPROVES, _TAKEN_BACK, *_PROPOSED],
        "most": _MOST_EVENTS,
    }
    with connection.cursor() as cursor:
        cursor.execute(_EVENTS, params)
        rows = cursor.fetchall()[::-1]
    read = bodies((row[0], row[1], row[-1]) for row in rows)
    return [_Row(*(*row[:-1], body)) for row, body in zip(rows, read, strict=True)]


def _turned_down(row: _Row) -> Mapping[str, Any]:
    """Return who turned a call down, and with which words where somebody gave a reason."""
    words = str(_body(row).get("reason") or "")
    return {"code": _TURNED_DOWN[row.type], "by": row.actor, **({"message": words} if words else {})}


def _made(row: Invocation, told: _Told) -> ToldCall:
    return ToldCall(
        key=row.idempotency_key or "",
        tool=row.tool,
        became=_BECAME[row.state],
        arguments=row.arguments,
        preview=row.preview,
        result=told.result,
        actor=told.actor,
        # Votes on what is still asked are sealed: nobody is told of one before the last.
        approvers=() if row.intended_at is None else tuple(told.approvers),
        at=row.created_at,
        made_at=row.intended_at,
        session_id=row.session_id,
        position=row.position,
        undo=row.undo,
    )


def _without_row(row: _Row) -> ToldCall:
    """Return a look-up, or a call that was refused when it was proposed: neither has a row."""
    body, done = _body(row), row.type == _READ
    return ToldCall(
        key="",
        tool=row.tool or "",
        became=Became.DONE if done else Became.REFUSED,
        arguments=_part(body, "arguments"),
        preview=_part(body, "preview"),
        result=_part(body, "result"),
        actor=row.actor,
        approvers=(),
        at=row.at,
        made_at=row.at if done else None,
        session_id=row.stream,
        position=row.position,
    )


def _body(row: _Row) -> Mapping[str, Any]:
    """Return the payload of an event, empty when it was erased or cannot be read."""
    try:
        body = {} if row.body is None else loads(row.body)
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}


def _part(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return an object in a payload, empty when it is none; what a planner proposed may be of any type."""
    value = body.get(name)
    return value if isinstance(value, dict) else {}
