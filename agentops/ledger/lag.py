"""How far the log is behind the events."""

from dataclasses import dataclass
from datetime import datetime

from django.db import connection

MOST_COUNTED = 100_000


@dataclass(frozen=True)
class Lag:
    """Events that have no entry yet: how many (at most MOST_COUNTED are counted), and since when the first waits.

    ``catching_up`` is true while a database that came from another cluster is gone through.
    """

    waiting: int
    since: datetime | None
    catching_up: bool

    def seconds(self, now: datetime) -> int:
        """Return for how long the first one has been waiting, in whole seconds."""
        return 0 if self.since is None else max(int((now - self.since).total_seconds()), 0)


_LAG = """
SELECT count(*), min(at), (SELECT EXISTS (SELECT FROM ledger_head WHERE resume_at IS NOT NULL))
FROM (
  SELECT e.at FROM ledger_event e
  WHERE e.xid > COALESCE((SELECT LEAST(cursor, resume_at) FROM ledger_head), '0'::xid8)
    AND NOT EXISTS (SELECT FROM ledger_entry l WHERE l.stream = e.stream AND l.position = e.position)
  ORDER BY e.xid LIMIT %s
) waiting"""


def lag() -> Lag:
    """Return how far the log is behind. An event is counted from when it can be seen, that is, is committed."""
    with connection.cursor() as cursor:
        cursor.execute(_LAG, [MOST_COUNTED])
        waiting, since, catching_up = cursor.fetchone()
    return Lag(waiting, since, catching_up)
