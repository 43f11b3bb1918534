"""How far the evidence is behind what happened, and when that is too far.

Three things can be late: an event has no place in the log, an entry is in no signed checkpoint, a checkpoint has not
reached a sink. Each is late since the moment of the event or checkpoint that waits longest.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.sinks import sinks

log = logging.getLogger(__name__)

MOST_BEHIND = timedelta(seconds=60)
BEHIND, CONTRADICTED = "LEDGER_BEHIND", "LEDGER_CONTRADICTED"


@dataclass(frozen=True)
class Trouble:
    """Something about the evidence that a person has to look at. ``code`` is BEHIND or CONTRADICTED."""

    code: str
    words: str


@dataclass(frozen=True)
class Evidence:
    """What waits: since when each, None when nothing does. ``contradicted`` names sinks that hold another history."""

    unsequenced: datetime | None
    unsigned: datetime | None
    undelivered: datetime | None
    contradicted: tuple[str, ...] = ()

    def troubles(self, now: datetime) -> tuple[Trouble, ...]:
        """Return what is wrong at this moment, the worst first."""
        return (*self._contradictions(), *self._late(now))

    def _contradictions(self) -> Iterator[Trouble]:
        for sink in self.contradicted:
            yield Trouble(CONTRADICTED, f"The sink {sink} holds a history that contradicts the ledger")

    def _late(self, now: datetime) -> Iterator[Trouble]:
        waiting = (
            (self.unsequenced, "An event has had no place in the log"),
            (self.unsigned, "An entry of the log has been in no checkpoint"),
            (self.undelivered, "A checkpoint has not reached its sink"),
        )
        for since, words in waiting:
            if since is not None and now - since > MOST_BEHIND:
                yield Trouble(BEHIND, f"{words} for {int((now - since).total_seconds())} s")


_EVIDENCE = """
SELECT
  (SELECT min(at) FROM (
     SELECT e.at FROM ledger_event e
     WHERE e.xid > COALESCE((SELECT cursor FROM ledger_head), '0'::xid8)
       AND NOT EXISTS (SELECT FROM ledger_entry l WHERE l.stream = e.stream AND l.position = e.position)
     ORDER BY e.xid FETCH FIRST 1 ROWS WITH TIES) of_the_first_transaction),
  (SELECT e.at FROM ledger_entry l JOIN ledger_event e ON e.stream = l.stream AND e.position = l.position
   WHERE l.index = COALESCE((SELECT max(size) FROM ledger_checkpoint), 0)),
  (SELECT min(c.at) FROM ledger_delivery d JOIN ledger_checkpoint c ON c.size = d.size
   WHERE d.delivered_at IS NULL AND d.covered_by IS NULL AND d.sink = ANY(%(sinks)s)),
  (SELECT array_agg(DISTINCT sink ORDER BY sink) FROM ledger_delivery WHERE refused AND sink = ANY(%(sinks)s))"""


def evidence() -> Evidence:
    """Return what waits. One query, whose cost does not grow with the ledger. Raises BadSinks."""
    with connection.cursor() as cursor:
        cursor.execute(_EVIDENCE, {"sinks": [one.name for one in sinks()]})
        unsequenced, unsigned, undelivered, contradicted = cursor.fetchone()
    return Evidence(unsequenced, unsigned, undelivered, tuple(contradicted or ()))


def troubles(now: datetime) -> tuple[Trouble, ...]:
    """Return what is wrong at this moment; nothing, without a query, where no checkpoints are signed."""
    if not settings.LEDGER_KEY:
        return ()
    try:
        return evidence().troubles(now)
    except AgentOpsError as error:
        return (Trouble(BEHIND, error.message),)


def watch_in_sweep(now: datetime, limit: int) -> int:
    """Put what is wrong into the log, under its code, as a duty of the sweep. Returns 0."""
    for trouble in troubles(now):
        log.error("%s: %s", trouble.code, trouble.words)
    return 0
