"""What a step makes the server do: statements, commits, bytes of log and of tables. These do not drift as times do.

Bytes of log are those of the records of the scratch database, read with pg_walinspect, without the images of full
pages: how many of those there are depends on how long ago the last checkpoint was, not on the step. So neither
a checkpoint nor another user of the server changes the figure. Where the extension cannot be had, they are the median
of what the log grows by in a session, after a checkpoint and sessions that wrote the hot pages' images.
"""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import psycopg
from django.db.models import QuerySet

from agentops.agents.models import Agent
from agentops.ledger.models import LedgerEvent
from agentops.runtime.dispatch import claim, work_session
from agentops.runtime.models import Invocation, Session
from agentops.runtime.session import Held
from benchmarks.runtime_base import (
    LONG,
    SHORT,
    BenchmarkFailed,
    conninfo,
    flush_statistics,
    median,
    own_connection,
    start,
)
from benchmarks.runtime_raw import Raw

Work = Callable[[], object]


def counts(agent: Agent, raw: Raw, *, sessions: int) -> dict[str, Any]:
    """Return the counts a step, of ours and of the reference."""
    with psycopg.connect(conninfo(), autocommit=True) as server:
        log = _Log(server)
        log.settle(lambda: _warm(agent, raw))
        wal_20 = log.bytes_of(_ours(agent, "write", SHORT, sessions), SHORT)
        by_relation = log.by_relation
        wal_300 = log.bytes_of(_ours(agent, "write", LONG, max(2, sessions // 10)), LONG)
        wal_read = log.bytes_of(_ours(agent, "read", SHORT, sessions), SHORT)
        figures: dict[str, Any] = {
            "wal_20": round(wal_20),
            "wal_300": round(wal_300),
            "wal_growth_300_over_20": round(wal_300 / wal_20, 3),
            # The session of reads has one write, which is taken out.
            "read_wal_20": round(wal_read - wal_20 / SHORT),
            "raw_wal_20": round(log.bytes_of(_raws(raw, sessions), SHORT)),
            "wal_how": log.how,
            "wal_20_by_relation": by_relation,
        }
        # What a connection did is told late: each tells before every reading, or it would count in a later one.
        both = (own_connection(), raw.connection)
        ours = _activity(server, both, _ours(agent, "write", SHORT, sessions))
        long = _activity(server, both, _ours(agent, "write", LONG, max(2, sessions // 10)), LONG)
        theirs = _activity(server, both, _raws(raw, sessions))
        one_more = (long["commits_step"] * LONG - ours["commits_step"] * SHORT) / (LONG - SHORT)
        figures["commits_one_more_step"] = round(one_more, 2)
    return figures | ours | {f"raw_{name}": value for name, value in theirs.items()} | _statements(agent)


def _warm(agent: Agent, raw: Raw) -> None:
    for work in (*_ours(agent, "write", SHORT, 20), *_raws(raw, 20)):
        work()


def _ours(agent: Agent, kind: str, steps: int, sessions: int) -> list[Work]:
    """Start and claim sessions, so that what is counted is what is timed: from the claim to the end."""
    for _ in range(sessions):
        start(agent, kind, steps)
    return [partial(work_session, _claimed()) for _ in range(sessions)]


def _claimed() -> Held:
    held = claim()
    if held is None:
        raise BenchmarkFailed("a session that was started could not be claimed")
    return held


def _raws(raw: Raw, sessions: int) -> list[Work]:
    started = [raw.start() for _ in range(sessions)]
    return [partial(raw.work, session, SHORT) for session in started]


# Records are padded to eight bytes. A commit names no table, but its transaction does.
_OWN_RECORDS = """
WITH record AS MATERIALIZED (
  SELECT xid, ceil((record_length - fpi_length) / 8.0) * 8 AS bytes, resource_manager,
    substring(block_ref FROM %(place)s)::oid AS file
  FROM pg_get_wal_records_info(%(before)s, %(after)s)
)
SELECT coalesce(pg_filenode_relation(0, file)::regclass::text, resource_manager), sum(bytes)::float FROM record
WHERE file IS NOT NULL OR xid IN (SELECT xid FROM record WHERE file IS NOT NULL AND xid <> '0')
GROUP BY 1 ORDER BY 2 DESC"""

_THIS_DATABASE = "SELECT oid FROM pg_database WHERE datname = current_database()"


class _Log:
    """The server's log, and how its bytes can be counted."""

    def __init__(self, server: "psycopg.Connection[Any]") -> None:
        self._server = server
        self._inspects = False
        with suppress(psycopg.Error):
            before = self._one("SELECT pg_current_wal_insert_lsn()")
            server.execute("CREATE EXTENSION IF NOT EXISTS pg_walinspect")
            self._one("SELECT count(*) FROM pg_get_wal_records_info(%s, pg_current_wal_flush_lsn())", [before])
            self._inspects = True
        self.how = "records of this database" if self._inspects else "growth of the log, median of sessions"
        self.by_relation: dict[str, int] = {}

    def _one(self, query: str, params: Any = None) -> Any:
        row = self._server.execute(query, params).fetchone()
        assert row is not None
        return row[0]

    def settle(self, warm: Callable[[], None]) -> None:
        """Begin a new checkpoint cycle where we may, so that none begins while bytes are counted."""
        with suppress(psycopg.errors.InsufficientPrivilege):
            self._server.execute("CHECKPOINT")
        warm()

    def bytes_of(self, works: Sequence[Work], steps: int) -> float:
        """Do the work and return the bytes of log a step; ``by_relation`` then says where they went."""
        if not self._inspects:
            return median([self._growth(work) / steps for work in works])
        before = self._one("SELECT pg_current_wal_insert_lsn()")
        for work in works:
            work()
        params = {
            "before": before,
            "after": self._one("SELECT pg_current_wal_flush_lsn()"),
            "place": f"rel [0-9]+/{self._one(_THIS_DATABASE)}/([0-9]+)",
        }
        found = self._server.execute(_OWN_RECORDS, params).fetchall()
        count = steps * len(works)
        self.by_relation = {name: round(taken / count) for name, taken in found if taken / count >= 10}
        return float(sum(taken for _, taken in found)) / count

    def _growth(self, work: Work) -> float:
        before = self._one("SELECT pg_current_wal_insert_lsn()")
        work()
        return float(self._one("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), %s)", [before]))


_COUNTERS = """
SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()),
  (SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace),
  (SELECT {})"""
_SYNCS = "wal_sync FROM pg_stat_wal"
_SYNCS_SINCE_18 = "coalesce(sum(fsyncs), 0) FROM pg_stat_io WHERE object = 'wal'"


Working = tuple["psycopg.Connection[Any]", ...]


def _activity(
    server: "psycopg.Connection[Any]", working: Working, works: Sequence[Work], length: int = SHORT
) -> dict[str, float]:
    """Return commits and bytes of tables a step, and the syncs of the log of the whole server."""
    steps = length * len(works)
    before = _counters(server, working)
    for work in works:
        work()
    commits, size, syncs = (b - a for a, b in zip(before, _counters(server, working), strict=True))
    return {
        "commits_step": round(commits / steps, 2),
        "table_kb_step": round(size / 1024 / steps, 2),
        "wal_syncs_step": round(syncs / steps, 2),
    }


def _counters(server: "psycopg.Connection[Any]", working: Working) -> list[int]:
    flush_statistics(*working)
    syncs = _SYNCS_SINCE_18 if server.info.server_version >= 180_000 else _SYNCS
    row = server.execute(_COUNTERS.format(syncs)).fetchone()
    assert row is not None
    return [int(value) for value in row]


def _statements(agent: Agent) -> dict[str, float]:
    """Count what libpq sends: one execution each, BEGIN and COMMIT included."""
    write, reads = (_sent(agent, kind) / SHORT for kind in ("write", "read"))
    return {"statements_step": round(write, 2), "read_statements_step": round(reads - write / SHORT, 2)}


def _sent(agent: Agent, kind: str) -> int:
    work = _ours(agent, kind, SHORT, 1)[0]
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as file:
        pgconn = own_connection().pgconn
        pgconn.trace(file.fileno())
        work()
        pgconn.untrace()
        file.seek(0)
        return sum("\tF\t" in line and ("\tExecute\t" in line or "\tQuery\t" in line) for line in file)


def rows(raw: Raw) -> dict[str, int]:
    """Count what both sides have on record, so that nobody's step is half a step."""
    subjects = [name.split("-", 2) for name in Session.objects.values_list("subject_id", flat=True)]
    # Each session of reads ends in one write.
    reading = sum(kind == "read" for kind, *_ in subjects)

    def events(name: str) -> "QuerySet[LedgerEvent]":
        return LedgerEvent.objects.filter(type=name)

    return {
        **raw.counted(),
        "write_steps": sum(int(steps) for kind, steps, _ in subjects if kind == "write"),
        "intents": events("call.intended").count() - reading,
        "results": events("call.succeeded").count() - reading,
        "calls_succeeded": Invocation.objects.filter(state="succeeded").count() - reading,
        "read_steps": sum(int(steps) for kind, steps, _ in subjects if kind == "read"),
        "reads": events("call.read").count(),
    }
