"""The one function that appends, and the walls around what it wrote."""

import hashlib
import threading
from uuid import UUID

import pytest
from django.db import ProgrammingError, connection, transaction

from agentops.kernel.canonical import NotCanonical
from agentops.kernel.ids import new_id
from agentops.ledger.append import Event, StaleStream, Statement, append, append_to
from agentops.ledger.models import LedgerEvent, LedgerRow, Payload, Stream
from agentops.ledger.payloads import Opened
from agentops.ledger.queries import events_of, leaf_of, payload_of, reads_of

TENANT = UUID(int=7)


@pytest.mark.django_db
def test_events_get_consecutive_positions_and_verifiable_leaves() -> None:
    stream = append_to(
        tenant_id=TENANT,
        name="agent:x",
        events=[Event("a", "user:bob", {"n": 1}, {"ticket": "T-1"}, {"text": "naïve €"}), Event("b", "sweep")],
    )
    append_to(tenant_id=TENANT, name="agent:x", events=[Event("c", "sweep")])
    rows = list(LedgerEvent.objects.filter(stream=stream).order_by("position"))
    assert [(row.position, row.type) for row in rows] == [(0, "a"), (1, "b"), (2, "c")]
    for row in rows:
        assert leaf_of(row).hash == bytes(row.leaf_hash)
    assert payload_of(stream, 0) == {"text": "naïve €"}
    read = reads_of(stream, [0])[0]
    assert isinstance(read, Opened)
    assert (read.body, len(read.salt)) == ('{"text":"naïve €"}'.encode(), 32)
    assert rows[0].payload_digest is not None
    assert bytes(rows[0].payload_digest) == hashlib.sha256(read.salt + read.body).digest()
    assert [event.type for event in events_of(stream, start=1)] == ["b", "c"]
    assert LedgerRow.objects.get(pk=f"{stream}:2").type == "c"


@pytest.mark.django_db
def test_owner_that_moved_on_leaves_nothing_behind() -> None:
    stream = append_to(tenant_id=TENANT, name="agent:x", events=[Event("a", "sweep")])
    stale = Statement(
        "head", "UPDATE ledger_stream SET position = 9 WHERE id = %(id)s AND position = 5 RETURNING 1", {"id": stream}
    )
    also = Statement(
        "extra",
        "INSERT INTO ledger_stream (id, tenant_id, name, position) SELECT %(new)s, %(new)s, 'x', 0 FROM head",
        {"new": new_id()},
    )
    late = Event("b", "sweep", payload={})
    with pytest.raises(StaleStream):
        append(stream=stream, tenant_id=TENANT, position=5, events=[late], advance=stale, also=[also])
    assert (LedgerEvent.objects.count(), Payload.objects.count(), Stream.objects.count()) == (1, 0, 1)


@pytest.mark.django_db
def test_required_part_that_matches_nothing_undoes_the_whole_statement() -> None:
    stream = append_to(tenant_id=TENANT, name="agent:x", events=[Event("a", "sweep")])
    advance = Statement("head", "UPDATE ledger_stream SET position = 2 WHERE id = %(id)s RETURNING 1", {"id": stream})
    part = Statement("part", "UPDATE ledger_stream SET name = 'z' WHERE name = 'none' RETURNING 1", required=True)
    with pytest.raises(StaleStream), transaction.atomic():
        append(stream=stream, tenant_id=TENANT, position=1, events=[Event("b", "x")], advance=advance, also=[part])
    assert (LedgerEvent.objects.count(), Stream.objects.get().position) == (1, 1)


@pytest.mark.django_db
@pytest.mark.parametrize("facts", [{"x": 1.5}, {"x": 2**60}, {"ключ": 1}, {"x": "a\x00"}])
def test_value_without_canonical_form_is_not_recorded(facts: dict[str, object]) -> None:
    with pytest.raises(NotCanonical), transaction.atomic():
        append_to(tenant_id=TENANT, name="agent:x", events=[Event("a", "sweep", facts)])
    assert LedgerEvent.objects.count() == 0


@pytest.mark.django_db
@pytest.mark.parametrize("table", ["ledger_event", "ledger_payload"])
@pytest.mark.parametrize(
    "statement", ["UPDATE {} SET stream = stream", "DELETE FROM {}", "TRUNCATE {}", "DELETE FROM {} WHERE false"]
)
def test_rows_cannot_be_changed(table: str, statement: str) -> None:
    append_to(tenant_id=TENANT, name="agent:x", events=[Event("a", "sweep", payload={})])
    with pytest.raises(ProgrammingError, match="is append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement.format(table))
    assert (LedgerEvent.objects.count(), Payload.objects.count()) == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_parallel_writers_of_one_stream_leave_no_gap() -> None:
    def write() -> None:
        for _ in range(10):
            append_to(tenant_id=TENANT, name="agent:x", events=[Event("a", "sweep"), Event("b", "sweep")])
        connection.close()

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    positions = list(LedgerEvent.objects.order_by("position").values_list("position", flat=True))
    assert positions == list(range(120))
