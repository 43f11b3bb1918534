"""Checkpoints of a real log: when they are made, what is not signed, and how they reach sinks that come and go."""

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
import time_machine
from django.db import DatabaseError, connection, transaction
from pytest_django.fixtures import Settings

from agentops.ledger.append import Event, append_to
from agentops.ledger.checkpoint_models import LedgerCheckpoint, LedgerCosignature, LedgerDelivery
from agentops.ledger.checkpointing import ENTRIES, LogRewritten, checkpoint_in_sweep, make_checkpoint
from agentops.ledger.checkpoints import Checkpoint, parse_checkpoint
from agentops.ledger.delivering import back_off, deliver_due, deliver_in_sweep, try_again
from agentops.ledger.evidence import BEHIND, CONTRADICTED, Evidence, evidence, troubles
from agentops.ledger.log import tree_head
from agentops.ledger.notes import COSIGNATURE, PublicKey, SigningKey, parse_note, parse_signatures, verify_note
from agentops.ledger.sequencing import sequence
from agentops.ledger.witness import Witness
from agentops.ledger.witness_server import WitnessServer
from agentops.ledger.witness_state import StateFile

pytestmark = pytest.mark.django_db(transaction=True)

TENANT = UUID(int=7)
KEY = SigningKey("log.example", bytes(range(32)))
ROTATED = SigningKey("log.example", bytes(range(1, 33)))
WITNESS_KEY = SigningKey("witness.example", bytes(32), COSIGNATURE)
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _signed(settings: Settings, tmp_path: Path) -> None:
    settings.LEDGER_KEY = f"{KEY.skey()}\n"
    (tmp_path / "kept").mkdir()
    settings.LEDGER_SINKS = [f"folder kept {tmp_path / 'kept'}"]


def grow(count: int = 1) -> None:
    """Let the log have ``count`` more entries."""
    append_to(tenant_id=TENANT, name="agent:x", events=[Event("a", "sweep")] * count)
    assert sequence() == count


def as_owner(*statements: str) -> None:
    """Do what somebody can who owns the database: no trigger runs."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for statement in statements:
            cursor.execute(statement)


def kept(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "kept").iterdir()}


def keys_of(made: LedgerCheckpoint, *among: PublicKey) -> tuple[PublicKey, ...]:
    return verify_note(parse_note(made.note.encode()), among)


def test_checkpoint_says_what_the_log_is() -> None:
    assert make_checkpoint(NOON) is None
    grow(3)
    made = make_checkpoint(NOON)
    assert made is not None
    head = tree_head(3)
    said = parse_checkpoint(parse_note(made.note.encode()).text)
    assert said == Checkpoint("log.example", 3, head.root, head.chain_hash, NOON)
    assert keys_of(made, KEY.public, ROTATED.public) == (KEY.public,)


def test_made_after_ten_seconds_or_512_entries() -> None:
    grow()
    assert make_checkpoint(NOON) is not None
    grow()
    assert make_checkpoint(NOON + timedelta(seconds=9)) is None
    assert make_checkpoint(NOON + timedelta(seconds=10)) is not None
    assert make_checkpoint(NOON + timedelta(hours=1)) is None  # nothing is new
    grow(ENTRIES - 1)
    assert make_checkpoint(NOON + timedelta(seconds=11)) is None
    grow()
    assert make_checkpoint(NOON + timedelta(seconds=11)) is not None
    assert list(LedgerCheckpoint.objects.order_by("size").values_list("size", flat=True)) == [1, 2, 2 + ENTRIES]


def test_clock_set_back_stops_nothing_and_times_never_go_back() -> None:
    grow()
    assert make_checkpoint(NOON) is not None
    grow()
    made = make_checkpoint(NOON - timedelta(days=1))
    assert made is not None
    assert made.at == NOON


def test_key_is_rotated_by_signing_with_both(settings: Settings) -> None:
    made = []
    for n, keys in enumerate(([KEY], [KEY, ROTATED], [ROTATED])):
        settings.LEDGER_KEY = "\n".join(key.skey() for key in keys)
        grow()
        one = make_checkpoint(NOON + timedelta(minutes=n))
        assert one is not None
        made.append(keys_of(one, KEY.public, ROTATED.public))
    assert made == [(KEY.public,), (KEY.public, ROTATED.public), (ROTATED.public,)]


def test_rewritten_log_is_not_signed() -> None:
    """As an owner of the database would do it, with triggers off."""
    grow(4)
    assert make_checkpoint(NOON) is not None
    grow()
    as_owner("UPDATE ledger_entry SET leaf_hash = sha256('x') WHERE index = 1")
    with pytest.raises(LogRewritten):
        make_checkpoint(NOON + timedelta(minutes=1))
    assert checkpoint_in_sweep(NOON + timedelta(minutes=1), 10) == 0
    assert LedgerCheckpoint.objects.count() == 1


def test_of_many_at_once_one_signs() -> None:
    grow(3)
    made: list[LedgerCheckpoint | None] = []

    def sign() -> None:
        try:
            made.append(make_checkpoint(NOON))
        finally:
            connection.close()

    threads = [threading.Thread(target=sign) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert (len(made), len([one for one in made if one is not None])) == (6, 1)


def test_checkpoints_are_append_only() -> None:
    grow()
    make_checkpoint(NOON)
    for change in ("UPDATE ledger_checkpoint SET note = ''", "DELETE FROM ledger_checkpoint"):
        with pytest.raises(DatabaseError, match="append-only"), connection.cursor() as cursor:
            cursor.execute(change)


def test_folder_gets_every_checkpoint(tmp_path: Path) -> None:
    for n in range(3):
        grow()
        make_checkpoint(NOON + timedelta(minutes=n))
    assert deliver_due(limit=10, seconds=60) == 3
    notes = {f"{one.size:020}.checkpoint": one.note.encode() for one in LedgerCheckpoint.objects.all()}
    assert kept(tmp_path) == notes
    assert deliver_due(limit=10, seconds=60) == 0


def test_folder_that_is_down_and_comes_back(tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.rmdir()
    with time_machine.travel(NOON, tick=False) as clock:
        for _ in range(2):
            grow()
            make_checkpoint(datetime.now(UTC))
            clock.shift(10)
        assert deliver_due(limit=10, seconds=60) == 0
        gate = LedgerDelivery.objects.get(checkpoint_id=1)
        assert (gate.attempts, gate.due_at) == (1, datetime.now(UTC) + back_off(1))
        assert "cannot be written" in gate.error
        folder.mkdir()
        assert deliver_due(limit=10, seconds=60) == 0  # its time has not come
        clock.shift(back_off(1).total_seconds() + 1)
        assert deliver_due(limit=10, seconds=60) == 2
    assert len(kept(tmp_path)) == 2


def test_clock_set_back_does_not_stop_deliveries(tmp_path: Path) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        grow()
        make_checkpoint(datetime.now(UTC))
        clock.move_to(NOON - timedelta(days=1))
        assert deliver_due(limit=10, seconds=60) == 1


def test_folder_overwrites_nothing(tmp_path: Path) -> None:
    grow()
    make_checkpoint(NOON)
    place = tmp_path / "kept" / f"{1:020}.checkpoint"
    place.write_bytes(b"another history")
    assert deliver_due(limit=10, seconds=60) == 0
    assert place.read_bytes() == b"another history"
    assert [one.code for one in troubles(NOON)] == [CONTRADICTED]
    assert deliver_due(limit=10, seconds=60) == 0
    place.unlink()
    assert (try_again(), deliver_due(limit=10, seconds=60)) == (1, 1)


def test_what_a_killed_process_left_in_the_folder_is_cleared(tmp_path: Path) -> None:
    grow()
    make_checkpoint(NOON)
    (tmp_path / "kept" / f".{1:020}.checkpoint.unfinished").write_bytes(b"half")
    assert deliver_due(limit=10, seconds=60) == 1
    assert list(kept(tmp_path)) == [f"{1:020}.checkpoint"]


def test_of_many_deliverers_none_fails(tmp_path: Path) -> None:
    for n in range(8):
        grow()
        make_checkpoint(NOON + timedelta(minutes=n))

    def deliver() -> None:
        try:
            deliver_in_sweep(NOON, 100)
        finally:
            connection.close()

    threads = [threading.Thread(target=deliver) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    deliver_due(limit=100, seconds=60)
    assert len(kept(tmp_path)) == 8
    assert set(LedgerDelivery.objects.values_list("attempts", "error")) == {(1, "")}


@pytest.fixture
def witness(tmp_path: Path, settings: Settings) -> Iterator[Callable[[], None]]:
    """A witness on loopback, as the only sink. Calling it makes it forget all."""
    state = StateFile(tmp_path / "state", new=True)
    server = WitnessServer(("127.0.0.1", 0), Witness(WITNESS_KEY, {"log.example": [KEY.public]}), state)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    settings.LEDGER_SINKS = [f"witness neighbour {url} {WITNESS_KEY.public.vkey()}"]

    def forget() -> None:
        state.states = {}

    yield forget
    server.shutdown()
    server.server_close()
    thread.join(10)
    state.close()


def _signed_by(size: int) -> tuple[PublicKey, ...]:
    made = LedgerCheckpoint.objects.get(size=size)
    lines = "".join(made.cosignatures.values_list("line", flat=True))
    note = parse_note(made.note.encode()).with_signatures(parse_signatures(lines.removesuffix("\n")))
    return verify_note(note, [WITNESS_KEY.public])


def test_witness_cosigns_the_latest_and_covers_the_rest(witness: Callable[[], None]) -> None:
    grow(2)
    make_checkpoint(NOON)
    assert deliver_due(limit=10, seconds=60) == 1
    for n in range(1, 4):
        grow(3)
        make_checkpoint(NOON + timedelta(minutes=n))
    assert deliver_due(limit=10, seconds=60) == 1
    rows = LedgerDelivery.objects.order_by("checkpoint_id").values_list("checkpoint_id", "covered_by")
    assert list(rows) == [(2, None), (5, 11), (8, 11), (11, None)]
    assert (_signed_by(2), _signed_by(11)) == ((WITNESS_KEY.public,), (WITNESS_KEY.public,))
    assert LedgerCosignature.objects.count() == 2


def test_witness_that_lost_its_place_is_given_a_proof_from_there(witness: Callable[[], None]) -> None:
    grow(2)
    make_checkpoint(NOON)
    deliver_due(limit=10, seconds=60)
    witness()
    grow(3)
    make_checkpoint(NOON + timedelta(minutes=1))
    assert deliver_due(limit=10, seconds=60) == 1
    assert _signed_by(5) == (WITNESS_KEY.public,)


def test_history_that_a_witness_did_not_see_is_found(witness: Callable[[], None]) -> None:
    """Who owns database and key rewrites all of it, checkpoints too. The witness keeps to what it signed."""
    grow(4)
    make_checkpoint(NOON)
    deliver_due(limit=10, seconds=60)
    tables = ("delivery", "cosignature", "checkpoint", "entry", "subtree", "head", "event")
    as_owner(*(f"DELETE FROM ledger_{table}" for table in tables))
    append_to(tenant_id=TENANT, name="agent:y", events=[Event("other", "sweep")] * 6)
    sequence()
    make_checkpoint(NOON + timedelta(minutes=1))
    assert deliver_due(limit=10, seconds=60) == 0
    assert LedgerDelivery.objects.get().refused
    assert troubles(NOON)[0].code == CONTRADICTED


def test_witness_with_another_key_is_not_believed(witness: Callable[[], None], settings: Settings) -> None:
    another = SigningKey("witness.example", bytes(31) + b"x", COSIGNATURE).public.vkey()
    settings.LEDGER_SINKS = [f"{settings.LEDGER_SINKS[0].rsplit(' ', 1)[0]} {another}"]
    grow()
    make_checkpoint(NOON)
    assert deliver_due(limit=10, seconds=60) == 0
    assert "not its signature" in LedgerDelivery.objects.get().error
    assert not LedgerCosignature.objects.exists()


def test_each_kind_of_lag_is_told(settings: Settings) -> None:
    with time_machine.travel(NOON, tick=False):
        assert evidence() == Evidence(None, None, None)
        append_to(tenant_id=TENANT, name="agent:x", events=[Event("a", "sweep")])
        assert evidence() == Evidence(NOON, None, None)
        sequence()
        assert evidence() == Evidence(None, NOON, None)
        make_checkpoint(NOON)
        assert evidence() == Evidence(None, None, NOON)
        assert troubles(NOON + timedelta(seconds=60)) == ()
        assert [one.code for one in troubles(NOON + timedelta(seconds=61))] == [BEHIND]
        deliver_due(limit=10, seconds=60)
        assert evidence() == Evidence(None, None, None)
    settings.LEDGER_KEY = ""
    append_to(tenant_id=TENANT, name="agent:x", events=[Event("a", "sweep")])
    assert troubles(datetime.now(UTC) + timedelta(days=1)) == ()
