"""Events for the log, and a check of the whole log against the events that there are."""

import time
from uuid import UUID

from django.db import connection

from agentops.ledger.append import Event, append_to
from agentops.ledger.chain import GENESIS, link
from agentops.ledger.log import log_size, tree_head
from agentops.ledger.log_models import LedgerEntry, LedgerHead, LedgerSubtree
from agentops.ledger.merkle import root
from agentops.ledger.models import LedgerEvent
from agentops.ledger.sequencing import sequence

TENANT = UUID(int=7)


def write_events(name: str, count: int) -> UUID:
    """Append ``count`` events to one stream, in one transaction."""
    return append_to(
        tenant_id=TENANT, name=name, events=[Event("test.written", "test", {"n": n}) for n in range(count)]
    )


def committed_events() -> list[tuple[UUID, int, bytes]]:
    """Return (stream, position, leaf hash) of all events, in the order of their transactions."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT stream, position, leaf_hash FROM ledger_event ORDER BY xid, stream, position")
        return [(stream, position, bytes(leaf)) for stream, position, leaf in cursor.fetchall()]


def require_whole_log(size: int) -> None:
    """Fail unless the log has ``size`` entries, one for each event, with the chain and the tree that belong to them."""
    entries = list(LedgerEntry.objects.order_by("index"))
    assert [entry.index for entry in entries] == list(range(size))
    events = {(event.stream, event.position): bytes(event.leaf_hash) for event in LedgerEvent.objects.all()}
    found = {(entry.stream, entry.position): bytes(entry.leaf_hash) for entry in entries}
    assert len(found) == size
    assert found == events
    last = GENESIS
    for entry in entries:
        last = link(last, bytes(entry.leaf_hash))
        assert bytes(entry.chain_hash) == last
    leaves = [bytes(entry.leaf_hash) for entry in entries]
    subtrees = {(row.level, row.index): bytes(row.hash) for row in LedgerSubtree.objects.all()}
    expected = {
        (level, index): root(leaves[index * width : (index + 1) * width])
        for level, width in ((1, 256), (2, 65_536))
        for index in range(size // width)
    }
    assert subtrees == expected
    head = tree_head()
    assert (head.size, head.root, head.chain_hash) == (size, root(leaves), last)
    kept = LedgerHead.objects.values_list("size", "chain_hash").get()
    assert (kept[0], bytes(kept[1])) == (size, last)


def sequence_until(size: int, *, patience_s: float = 60) -> int:
    """Sequence until the log has ``size`` entries, and return how many calls got something.

    The server's own work, such as collecting statistics, may hold the horizon of a database for a moment.
    """
    deadline, calls = time.monotonic() + patience_s, 0
    while log_size() < size:
        calls += sequence() > 0
        assert time.monotonic() < deadline, f"the log has {log_size()} entries and not {size}"
    assert sequence() == 0
    return calls
