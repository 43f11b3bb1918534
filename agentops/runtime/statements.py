"""The hand-written SQL of the hot path: step, leave, intend, settle, an operator's move. The claim: ``wakeup``.

Everything else uses the ORM. Each UPDATE of a session names the position, the fencing number and the
status it expects, so that a worker whose lease has passed to somebody else changes nothing. Stream, position, number of
events, tenant and time are the ledger's own parameters (``ledger.append``).
"""

from datetime import timedelta
from functools import lru_cache

from agentops.tenancy.switchboard import EPOCH

CLASS_WORTH = timedelta(minutes=10)
"""One priority class is worth this much waiting: ``rank_at`` is the moment of becoming runnable, less that.
Ageing is thereby a constant, and one partial index on (tenant, ``rank_at``) serves the claim."""
_CLASS = f"interval '{CLASS_WORTH.total_seconds():.0f} seconds'"

_STILL_MINE = """
WHERE id = %(ledger_stream)s AND position = %(ledger_position)s AND fence = %(fence)s AND status = 'running'"""
_LEASED = "lease_until = clock_timestamp() + %(lease)s * interval '1 second'"
_LEFT = """status = %(status)s, stop_code = %(stop_code)s, outcome = %(outcome)s, wanted = %(wanted)s,
  taken_by = %(taken_by)s, wake_at = %(wake_at)s, finished_at = %(finished_at)s, lease_until = NULL, lease_owner = ''"""


@lru_cache(maxsize=256)
def step(counted: tuple[str, ...], *, leaving: bool, as_decided: bool) -> str:
    """Return the UPDATE of a durable point in which the columns ``counted`` grow.

    A step that decides something is only recorded under the epoch it was decided in; one that reports what has
    happened is recorded in any. Either way the epoch is read once: a second look at it costs 35 µs a step.
    """
    grown = "".join(f", {column} = {column} + %({column})s" for column in counted)
    moved = f"position = position + %(ledger_count)s, attempts = %(attempts)s, reserved_micro = 0{grown}"
    guard, epoch = (f" AND {EPOCH} = %(epoch)s", "%(epoch)s::bigint") if as_decided else ("", EPOCH)
    left = _LEFT if leaving else _LEASED
    return f"UPDATE session SET {moved}, {left}{_STILL_MINE}{guard} RETURNING position, {epoch} AS epoch"  # noqa: S608 - constants only


WHERE_IT_STANDS = f"""
SELECT steps, position, wanted, taken_by, priority, {EPOCH} AS epoch FROM session
WHERE id = %(session)s AND fence = %(fence)s AND status = 'running'"""  # noqa: S608 - constants only

MOVE = f"""
UPDATE session SET status = %(status)s, position = position + %(ledger_count)s, wake_at = NULL, lease_until = NULL,
  attempts = attempts + %(lost)s, cost_micro = cost_micro + reserved_micro, reserved_micro = 0,
  lease_owner = '', rank_at = %(ledger_at)s - priority * {_CLASS}, wanted = %(wanted)s,
  taken_by = %(taken_by)s, stop_code = %(stop_code)s, outcome = %(outcome)s, finished_at = %(finished_at)s
WHERE id = %(ledger_stream)s AND position = %(ledger_position)s AND status = %(before)s
RETURNING position"""  # noqa: S608 - constants only

WISH = """
UPDATE session SET wanted = %(wanted)s, taken_by = %(taken_by)s, position = position + %(ledger_count)s
WHERE id = %(ledger_stream)s AND position = %(ledger_position)s AND status = 'running'
RETURNING position"""

# Something is noted in the stream of a session, whoever holds it and wherever it stands.
NOTE = """
UPDATE session SET position = position + %(ledger_count)s
WHERE id = %(ledger_stream)s AND position = %(ledger_position)s RETURNING position"""

RANK = f"""
UPDATE session SET position = position + %(ledger_count)s, priority = %(priority)s,
  rank_at = rank_at + (priority - %(priority)s) * {_CLASS}
WHERE id = %(ledger_stream)s AND position = %(ledger_position)s RETURNING position"""  # noqa: S608 - constants only

PROPOSE = """
INSERT INTO invocation (id, session_id, tenant_id, position, tool, tool_version, arguments, preview, state,
  idempotency_key, money_family, window_day, rationale, undoes, created_at, intended_at)
SELECT %(invocation)s, %(ledger_stream)s, %(ledger_tenant)s, %(ledger_position)s, %(tool)s, %(tool_version)s,
  %(arguments)s::jsonb, %(preview)s::jsonb, %(invocation_state)s, %(key)s, %(family)s, %(window_day)s, %(rationale)s,
  %(undoes)s, %(ledger_at)s, %(intended_at)s
FROM head"""

INTEND = """
UPDATE invocation SET state = 'intended', idempotency_key = %(key)s, tool_version = %(tool_version)s,
  preview = %(preview)s::jsonb, window_day = %(window_day)s, intended_at = %(ledger_at)s
FROM head WHERE id = %(invocation)s AND state = 'awaiting_approval' RETURNING 1"""

ASK_AGAIN = """
UPDATE invocation SET tool_version = %(tool_version)s, preview = %(preview)s::jsonb
FROM head WHERE id = %(invocation)s AND state = 'awaiting_approval' RETURNING 1"""

SUCCEED = """
UPDATE invocation SET state = 'succeeded' FROM head WHERE id = %(invocation)s AND state = 'intended' RETURNING 1"""

SETTLE = """
UPDATE invocation SET state = %(invocation_state)s, undo = %(undo)s::jsonb, undo_until = %(undo_until)s,
  idempotency_key = CASE WHEN %(keeps_key)s THEN idempotency_key END, unknown_since = %(unknown_since)s
FROM head WHERE id = %(invocation)s AND state = %(invocation_before)s RETURNING 1"""

UNDONE = """
UPDATE invocation SET state = 'compensated' FROM head WHERE id = %(undone)s AND state = 'succeeded'"""

STATE_OF_KEY = """
SELECT state FROM invocation WHERE idempotency_key = %(key)s"""

# A statement of its own, so that the sums are looked at after the lock was got.
LOCK_TARGET = """
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws('/', 'money', %(tenant)s::text, %(family)s::text,
  %(target)s::text, %(currency)s::text), 0))"""

# The rows are locked in the order in which they stand here.
OPEN_WINDOW = """
WITH opened AS (
  INSERT INTO money_window (id, tenant_id, family, target, currency, day, total_minor)
  SELECT w.id, %(tenant)s, %(family)s, w.target, %(currency)s, %(day)s, 0
  FROM unnest(%(windows)s::uuid[], %(targets)s::text[]) AS w(id, target)
  ON CONFLICT (id) DO UPDATE SET total_minor = money_window.total_minor
  RETURNING id, total_minor
)
SELECT (SELECT total_minor FROM opened WHERE id = %(own)s),
  (SELECT coalesce(sum(total_minor), 0) FROM money_window WHERE id = ANY(%(before)s::uuid[])),
  (SELECT total_minor FROM opened WHERE id = %(agent)s)"""

COUNT_MONEY = """
UPDATE money_window SET total_minor = total_minor + %(window_minor)s
FROM head, (SELECT id FROM money_window WHERE id = ANY(%(windows)s::uuid[]) ORDER BY id FOR UPDATE) locked
WHERE money_window.id = locked.id"""

ASK_PERSON = """
INSERT INTO agentops_question (id, tenant_id, session_id, text, options, asked_at, expires_at, answered_by, answer)
SELECT %(question)s, %(ledger_tenant)s, %(ledger_stream)s, %(text)s, %(options)s::jsonb, %(asked_at)s, %(expires_at)s,
  '', ''
FROM head"""

CLOSE_QUESTION = """
UPDATE agentops_question SET closed_at = %(closed_at)s, answered_by = %(answered_by)s, answer = %(answer)s
FROM head WHERE agentops_question.id = %(question)s AND closed_at IS NULL RETURNING 1"""

PROCESS_AT = """
INSERT INTO process_instance (id, tenant_id, session_id, process, version, state, compensating)
SELECT p.id, %(ledger_tenant)s, %(ledger_stream)s, p.process, p.version, p.state, p.compensating
FROM head, unnest(%(process_ids)s::uuid[], %(processes)s::text[], %(process_versions)s::int[],
  %(process_states)s::text[], %(compensating)s::boolean[]) AS p(id, process, version, state, compensating)
ON CONFLICT (id) DO UPDATE SET state = excluded.state, compensating = excluded.compensating"""
