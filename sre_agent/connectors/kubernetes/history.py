"""The writes of ours that an object carries: the latest keys, each with a digest of what it came to. Pure.

Kubernetes knows no idempotency keys. A patch that changes an object writes its key beside the change, so that both are
there or neither.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime

from agentops.kernel.canonical import digest
from agentops.registry.tool import Result
from sre_agent.connectors.kubernetes.objects import OPERATIONS, Obj, part

MOST = 20
_LONGEST = 20_000


@dataclass(frozen=True)
class Entry:
    """A write: its key, the digest of its result in hexadecimal digits, and when."""

    key: str
    digest: str
    at: datetime


@dataclass(frozen=True)
class History:
    """What an object says. It is complete from ``since`` on; None where it says nothing that can be read."""

    since: datetime | None = None
    entries: tuple[Entry, ...] = ()

    def of(self, key: str) -> Entry | None:
        """Return the write of a key, None when it is not there."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def covers(self, begun: datetime) -> bool:
        """Return whether a write that was begun then would be here."""
        return self.since is not None and self.since <= begun

    def plus(self, key: str, result: Result, now: datetime) -> "History":
        """Return the history with one more write; the oldest are forgotten."""
        entries = (*self.entries, Entry(key, digest_of(result), now))
        since = self.since or now
        if len(entries) > MOST:
            since = max(since, entries[-MOST - 1].at)
        return History(since, entries[-MOST:])

    def said(self) -> str:
        """Return the value of the annotation."""
        done = [{"key": each.key, "digest": each.digest, "at": each.at.isoformat()} for each in self.entries]
        return json.dumps({"since": (self.since or _NEVER).isoformat(), "done": done}, separators=(",", ":"))


_NEVER = datetime(1970, 1, 1, tzinfo=UTC)


def digest_of(result: Result) -> str:
    """Return the digest of a result, in hexadecimal digits."""
    return digest(result).hex()


def history_of(obj: Obj) -> History:
    """Return what an object says of the writes on it. What cannot be read counts as nothing, complete from no time."""
    said = part(obj, "metadata", "annotations", OPERATIONS)
    if not isinstance(said, str) or len(said) > _LONGEST:
        return History()
    try:
        told = json.loads(said)
        entries = tuple(
            Entry(str(each["key"]), str(each["digest"]), datetime.fromisoformat(each["at"])) for each in told["done"]
        )
        history = History(datetime.fromisoformat(told["since"]), entries[-MOST:])
        history.covers(_NEVER)
    except (ValueError, TypeError, KeyError, RecursionError):
        return History()
    return history
