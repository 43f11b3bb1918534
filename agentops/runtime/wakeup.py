"""The hand-written SQL between a person's decision and the approved call, beside that of ``statements``.

A person has just clicked and waits, so each statement here reads everything its moment needs at once: a decision reads
the session it wakes, a claim the session it takes, and its worker the one unfinished call. They return whole rows, in
the order of the model's columns, so that the rest of the code sees what the ORM would have given it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from django.db import DEFAULT_DB_ALIAS
from django.db.models import DateTimeField, Field, JSONField, Model

from agentops.kernel.canonical import loads
from agentops.ledger.sql import fetch_one
from agentops.runtime.models import Invocation, Session
from agentops.runtime.states import UNFINISHED
from agentops.tenancy.switchboard import EPOCH

_M = TypeVar("_M", bound=Model)


def columns(fields: Sequence["Field[Any, Any]"], alias: str) -> str:
    """Return the columns of these fields for ``row_of``, as ``alias.column, …``."""
    # The connection would hand JSON out as text for Django to read; as text it says so.
    return ", ".join(f"{alias}.{field.column}{'::text' if isinstance(field, JSONField) else ''}" for field in fields)


def row_of(model: type[_M], fields: Sequence["Field[Any, Any]"], values: Sequence[Any]) -> _M:
    """Return the instance of ``model`` whose ``fields`` a statement returned first, in the model's order.

    Further values are left out; a field that was not read is read by Django when somebody asks for it.
    """
    read = [
        loads(value) if value is not None and isinstance(field, JSONField) else value
        for field, value in zip(fields, values, strict=False)
    ]
    return model.from_db(DEFAULT_DB_ALIAS, [field.attname for field in fields], read)


def fields_of(model: type[Model]) -> Sequence["Field[Any, Any]"]:
    """Return the fields of a model that have a column, in the order in which Django reads them."""
    return model._meta.concrete_fields  # noqa: SLF001 - Django's public interface to a model's fields


# Moments are slow to read, and nobody who works a session needs them.
_OF_SESSION = [field for field in fields_of(Session) if not isinstance(field, DateTimeField)]
_SESSION = columns(_OF_SESSION, "s")
_UNFINISHED = ", ".join(f"'{state.value}'" for state in sorted(UNFINISHED))

# Each tenant that may run more offers its first few sessions; the most deserving one that nobody else is just
# claiming is taken. A tenant that is frozen, has spent its day's money or runs as many sessions as it may offers
# nothing, so it costs one look, however long its queue. What an operator wants done is done even then.
# Two workers that claim for one tenant then take turns at its row, so that together they do not exceed its limit.
_CLAIM = f"""
WITH running AS (
  SELECT tenant_id, count(*) AS sessions FROM session
  WHERE status = 'running' AND id IS DISTINCT FROM %(giving_up)s GROUP BY tenant_id
), lane AS (
  SELECT t.id FROM agentops_tenant t LEFT JOIN running r ON r.tenant_id = t.id
  WHERE coalesce(r.sessions, 0) < t.max_running
    AND NOT EXISTS (SELECT 1 FROM agentops_freeze f WHERE f.lifted_at IS NULL AND f.tool = ''
      AND f.agent_id IS NULL AND (f.tenant_id IS NULL OR f.tenant_id = t.id))
    AND (t.max_day_micro IS NULL OR t.max_day_micro > coalesce((
      SELECT d.spent_micro + d.reserved_micro FROM spend_day d WHERE d.tenant_id = t.id AND d.scope = 'tenant'
        AND d.day = (clock_timestamp() AT TIME ZONE t.timezone)::date), 0))
), offer AS (
  SELECT best.id FROM lane CROSS JOIN LATERAL (
    SELECT s.id FROM session s
    WHERE s.tenant_id = lane.id AND s.status = 'queued' AND s.priority > %(above)s
      AND s.role || ':' || s.role_version = ANY(%(builds)s)
      AND NOT EXISTS (SELECT 1 FROM agentops_freeze f WHERE f.lifted_at IS NULL AND f.tool = ''
        AND f.tenant_id = s.tenant_id AND f.agent_id = s.agent_id)
    ORDER BY s.rank_at LIMIT 64) best
  UNION ALL (
    SELECT s.id FROM session s WHERE s.status = 'queued' AND s.wanted <> '' AND s.priority > %(above)s
      AND s.role || ':' || s.role_version = ANY(%(builds)s) LIMIT 64)
)
SELECT {_SESSION}, t.max_running
FROM session s JOIN agentops_tenant t ON t.id = s.tenant_id
WHERE s.id IN (SELECT id FROM offer) AND s.status = 'queued'
ORDER BY s.rank_at LIMIT 1 FOR UPDATE OF s SKIP LOCKED FOR NO KEY UPDATE OF t"""  # noqa: S608 - constants only

_RUNNING_BESIDE = """
SELECT count(*) FROM session WHERE tenant_id = %(tenant)s AND status = 'running' AND id <> %(giving_up)s"""

# What the tenant runs is counted in a statement of its own, begun when it is this worker's turn: the one that waited
# for the turn would still count what was there before. What an operator wants done is done whatever else is running.
TAKE = f"""
UPDATE session SET status = 'running', fence = fence + 1, lease_owner = %(owner)s, planner = %(planner)s,
  lease_until = clock_timestamp() + %(lease)s * interval '1 second', position = position + %(ledger_count)s
WHERE id = %(ledger_stream)s AND status = 'queued' AND position = %(ledger_position)s
  AND (wanted <> '' OR (SELECT count(*) FROM session r WHERE r.tenant_id = %(ledger_tenant)s AND r.status = 'running')
    < %(most)s)
RETURNING fence, {EPOCH} AS epoch"""  # noqa: S608 - constants only

# For a statement that begins when it is known that nobody else decides, such as one after the lock of the request.
# A freeze that covers the call comes with the session, as who froze it and why.
WAITING = f"""
SELECT {_SESSION}, i.tool, f.frozen_by, f.reason AS frozen_for
FROM session s JOIN invocation i ON i.id = %(invocation)s AND i.session_id = s.id
LEFT JOIN LATERAL (
  SELECT frozen_by, reason FROM agentops_freeze
  WHERE lifted_at IS NULL AND (tenant_id IS NULL OR tenant_id = s.tenant_id)
    AND (agent_id IS NULL OR agent_id = s.agent_id) AND tool IN ('', i.tool)
  ORDER BY frozen_at LIMIT 1) f ON true
WHERE s.id = %(session)s FOR UPDATE OF s"""  # noqa: S608 - constants only

_UNFINISHED_CALL = f"""
SELECT {columns(fields_of(Invocation), "i")} FROM invocation i
WHERE i.session_id = %(session)s AND i.state IN ({_UNFINISHED}) ORDER BY i.id LIMIT 1"""  # noqa: S608 - constants only


@dataclass(frozen=True)
class Waiting:
    """A session whose row is locked, with the tool that people were asked about; ``frozen`` is why it may not run."""

    session: Session
    tool: str
    frozen: str


def waiting_session(*, session_id: UUID, invocation_id: UUID) -> Waiting:
    """Lock a session, in the caller's transaction, and return it. Raises Session.DoesNotExist."""
    row = fetch_one(WAITING, {"session": session_id, "invocation": invocation_id})
    if row is None:
        raise Session.DoesNotExist(f"there is no session {session_id} with a call {invocation_id}")
    return as_waiting(row)


def as_waiting(row: Sequence[Any]) -> Waiting:
    """Return what a row of ``WAITING`` says."""
    tool, by, reason = row[len(_OF_SESSION) :]
    frozen = "" if by is None else f"Frozen by {by.removeprefix('user:')}: {reason}"
    return Waiting(row_of(Session, _OF_SESSION, row), tool, frozen)


def unfinished_call(session_id: UUID) -> Invocation | None:
    """Return the session's unfinished call, None when it has none."""
    row = fetch_one(_UNFINISHED_CALL, {"session": session_id})
    return None if row is None else row_of(Invocation, fields_of(Invocation), row)


def next_session(*, builds: Sequence[str], above: int, giving_up: UUID | None) -> tuple[Session, int] | None:
    """Lock the most deserving runnable session, in the caller's transaction, and the turn of its tenant.

    ``above``: of a higher priority only; ``giving_up`` is the session that the caller would give up for it. Return it
    with how many sessions its tenant may run; None when there is none.
    """
    row = fetch_one(_CLAIM, {"builds": builds, "above": above, "giving_up": giving_up})
    return None if row is None else (row_of(Session, _OF_SESSION, row), int(row[len(_OF_SESSION)]))


def running_beside(tenant_id: UUID, giving_up: UUID) -> int:
    """Return how many sessions of the tenant are running besides the one that the caller would give up."""
    row = fetch_one(_RUNNING_BESIDE, {"tenant": tenant_id, "giving_up": giving_up})
    return 0 if row is None else int(row[0])
