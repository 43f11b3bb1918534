"""How often a minute the provider is asked, over all workers, and whose turn it is.

``AGENT_MODEL_PER_MINUTE`` calls are shared fairly between the tenants that want one: each may have an equal share,
and more only of what the others leave. Whoever has to wait is told for how long, and counts as wanting a call until
then, so that a tenant with many sessions does not take the turns of one with few. See ``quota_rule``.
"""

from uuid import UUID

from django.conf import settings
from django.db import transaction

from agentops.kernel.ids import derived_id
from agentops.ledger.sql import fetch_all, fetch_one
from agentops.runtime.quota_rule import WINDOW, Second, wait_of

_LOCK = 0x61677175
"""The advisory lock under which turns are given out, one at a time."""


def wait_for_turn(tenant_id: UUID) -> int:
    """Take a turn for one model call of the tenant: 0 when it may be made now, otherwise seconds to wait.

    One short transaction of its own, on the database's clock; without a quota nothing is read.
    """
    per_minute: int = settings.AGENT_MODEL_PER_MINUTE
    if not per_minute:
        return 0
    with transaction.atomic():
        fetch_one("SELECT pg_advisory_xact_lock(%(lock)s)", {"lock": _LOCK})
        return _wait(tenant_id, per_minute)


def _wait(tenant_id: UUID, per_minute: int) -> int:
    now = _now()
    fetch_one(_CAME_BACK, {"tenant": tenant_id, "now": now})
    rows = fetch_all(_SECONDS, {"since": now - WINDOW})
    wait = wait_of([Second(*row) for row in rows], tenant_id=tenant_id, now=now, per_minute=per_minute)
    params = {
        "id": derived_id("quota", str(tenant_id), str(now + wait)),
        "tenant": tenant_id,
        "second": now + wait,
        "calls": int(not wait),
        "waits": int(bool(wait)),
        "old": now - WINDOW,
    }
    fetch_one(_COUNT, params)
    return wait


def _now() -> int:
    """Return the database's second, read only now that the lock is held."""
    row = fetch_one("SELECT floor(extract(epoch FROM clock_timestamp()))::bigint", {})
    return int(row[0]) if row else 0


# Whoever asks is taken for one of those who were told to come back by now.
_CAME_BACK = """
UPDATE quota_second SET waits = waits - 1
WHERE id = (SELECT id FROM quota_second WHERE tenant_id = %(tenant)s AND waits > 0 AND second <= %(now)s
  ORDER BY second LIMIT 1)
RETURNING second"""

_SECONDS = """
SELECT tenant_id, second, calls, waits FROM quota_second WHERE second >= %(since)s"""

_COUNT = """
WITH forgotten AS (DELETE FROM quota_second WHERE second < %(old)s)
INSERT INTO quota_second (id, tenant_id, second, calls, waits)
VALUES (%(id)s, %(tenant)s, %(second)s, %(calls)s, %(waits)s)
ON CONFLICT (id) DO UPDATE SET calls = quota_second.calls + excluded.calls, waits = quota_second.waits + excluded.waits
RETURNING second"""
