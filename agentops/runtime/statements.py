"""The hand-written SQL of the hot path, all of it: claim, step, leave, intend, settle.

Everything else uses the ORM. Each UPDATE of a session names the position, the fencing number and the
status it expects, so that a worker whose lease has passed to somebody else changes nothing.
"""

from datetime import timedelta

CLASS_WORTH = timedelta(minutes=10)
"""One priority class is worth this much waiting: ``rank_at`` is the moment of becoming runnable, less that.
Ageing is thereby a constant, and one partial index on ``rank_at`` serves the claim."""

CLAIM = """
SELECT id FROM session
WHERE status = 'queued' AND role = ANY(%(roles)s)
ORDER BY rank_at
LIMIT 1
FOR UPDATE SKIP LOCKED"""

TAKE = """
UPDATE session SET status = 'running', fence = fence + 1, lease_owner = %(owner)s, planner = %(planner)s,
  lease_until = clock_timestamp() + %(lease)s * interval '1 second', position = position + 1
WHERE id = %(session)s AND status = 'queued' AND position = %(position)s
RETURNING fence"""

_COUNTERS = """position = position + %(count)s, steps = steps + %(steps)s, writes = writes + %(writes)s,
  gates = gates + %(gates)s, attempts = %(attempts)s, worked_ms = worked_ms + %(worked_ms)s,
  input_tokens = input_tokens + %(input_tokens)s, output_tokens = output_tokens + %(output_tokens)s,
  cost_micro = cost_micro + %(cost_micro)s"""

_STILL_MINE = """
WHERE id = %(session)s AND position = %(position)s AND fence = %(fence)s AND status = 'running'
RETURNING position"""

STEP = f"""
UPDATE session SET {_COUNTERS},
  lease_until = clock_timestamp() + %(lease)s * interval '1 second'{_STILL_MINE}"""  # noqa: S608 - constants only

LEAVE = f"""
UPDATE session SET {_COUNTERS}, status = %(status)s, stop_code = %(stop_code)s, outcome = %(outcome)s,
  wake_at = %(wake_at)s, finished_at = %(finished_at)s, lease_until = NULL, lease_owner = ''{_STILL_MINE}"""  # noqa: S608 - constants only

RETURN_TO_QUEUE = """
UPDATE session SET status = 'queued', position = position + %(count)s, wake_at = NULL, lease_until = NULL,
  attempts = attempts + %(lost)s,
  lease_owner = '', rank_at = %(at)s - priority * interval '10 minutes'
WHERE id = %(session)s AND position = %(position)s AND status = %(before)s
RETURNING position"""

PROPOSE = """
INSERT INTO invocation (id, session_id, tenant_id, position, tool, tool_version, arguments, preview, state,
  idempotency_key, money_family, window_day, rationale, created_at)
SELECT %(invocation)s, %(session)s, %(tenant)s, %(position)s, %(tool)s, %(tool_version)s, %(arguments)s, %(preview)s,
  %(invocation_state)s, %(key)s, %(family)s, %(window_day)s, %(rationale)s, %(at)s FROM head"""

INTEND = """
UPDATE invocation SET state = 'intended', idempotency_key = %(key)s, tool_version = %(tool_version)s,
  preview = %(preview)s, window_day = %(window_day)s
FROM head WHERE id = %(invocation)s AND state = 'awaiting_approval' RETURNING 1"""

ASK_AGAIN = """
UPDATE invocation SET tool_version = %(tool_version)s, preview = %(preview)s
FROM head WHERE id = %(invocation)s AND state = 'awaiting_approval' RETURNING 1"""

SETTLE = """
UPDATE invocation SET state = %(invocation_state)s,
  idempotency_key = CASE WHEN %(keeps_key)s THEN idempotency_key END
FROM head WHERE id = %(invocation)s AND state = %(invocation_before)s RETURNING 1"""

STATE_OF_KEY = """
SELECT state FROM invocation WHERE idempotency_key = %(key)s"""

OPEN_WINDOW = """
INSERT INTO money_window (id, tenant_id, family, target, currency, day, total_minor)
VALUES (%(window)s, %(tenant)s, %(family)s, %(target)s, %(currency)s, %(day)s, 0)
ON CONFLICT (id) DO UPDATE SET total_minor = money_window.total_minor
RETURNING total_minor"""

COUNT_MONEY = """
UPDATE money_window SET total_minor = total_minor + %(window_minor)s FROM head WHERE money_window.id = %(window)s"""
