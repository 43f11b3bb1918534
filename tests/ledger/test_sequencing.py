"""The sequencer: every committed event gets one index, whoever writes, wakes up late or restores meanwhile."""

import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from uuid import UUID

import psycopg
import pytest
from django.db import IntegrityError, ProgrammingError, connection, transaction

from agentops.kernel.clock import utcnow
from agentops.ledger.append import Event, append_to
from agentops.ledger.lag import Lag, lag
from agentops.ledger.log import index_of, log_size
from agentops.ledger.log_models import LedgerEntry, LedgerHead
from agentops.ledger.models import LedgerEvent
from agentops.ledger.sequencing import LogConflict, sequence, sequence_batch, sequence_in_sweep
from agentops.runtime.sweep import sweep_once
from tests.factories.ledger_log import TENANT, committed_events, require_whole_log, sequence_until, write_events

pytestmark = pytest.mark.django_db(transaction=True)

WRITERS = 8
SHORT_S, LONG_S = 0.05, 5.0


@contextmanager
def others(*tasks: Callable[[], None]) -> Iterator[list[threading.Thread]]:
    """Run each task in a thread with a connection of its own; what one raises is raised here."""
    failed: list[BaseException] = []

    def run(task: Callable[[], None]) -> None:
        try:
            task()
        except BaseException as error:  # noqa: BLE001 - handed to the test
            failed.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(task,)) for task in tasks]
    for thread in threads:
        thread.start()
    try:
        yield threads
    finally:
        for thread in threads:
            thread.join()
    if failed:
        raise failed[0]


def order_of_log() -> list[tuple[UUID, int]]:
    return list(LedgerEntry.objects.order_by("index").values_list("stream", "position"))


def without_triggers(*statements: str) -> None:
    """Do what a superuser can."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        for statement in statements:
            cursor.execute(statement)


def test_events_get_indexes_in_the_order_of_their_transactions() -> None:
    first = write_events("agent:x", 2)
    second = write_events("agent:y", 1)
    assert write_events("agent:x", 1) == first
    sequence_until(4)
    order = order_of_log()
    assert order == [(first, 0), (first, 1), (second, 0), (first, 2)]
    assert (index_of(second, 0), index_of(second, 1)) == (2, None)
    require_whole_log(4)


def test_subtrees_are_written_when_they_are_full() -> None:
    for size in (255, 1, 1, 700, 66):
        write_events("agent:x", size)
        sequence_until(log_size() + size)
        require_whole_log(log_size())
    assert log_size() == 1023
    write_events("agent:x", 1)
    sequence_until(1024)
    require_whole_log(1024)


@pytest.mark.parametrize("batch", [1, 7, 1000])
def test_batches_of_any_size_make_the_same_log(batch: int) -> None:
    for number in range(30):
        write_events(f"agent:{number}", number % 5 + 1)
    expected = [(stream, position) for stream, position, _ in committed_events()]
    deadline = time.monotonic() + 60
    while log_size() < len(expected):
        sequence(batch=batch)
        assert time.monotonic() < deadline
    assert order_of_log() == expected
    require_whole_log(len(expected))


def test_limit_ends_with_the_transaction_that_reaches_it() -> None:
    for number in range(10):
        write_events(f"agent:{number}", 3)
    sequence_until(30)
    for number in range(10):
        write_events(f"agent:{number}", 3)
    assert sequence(4) == 6
    assert log_size() == 36
    sequence_until(60)


def test_event_that_commits_late_is_not_skipped() -> None:
    written, commit = threading.Event(), threading.Event()

    def late() -> None:
        with transaction.atomic():
            write_events("agent:late", 1)
            written.set()
            assert commit.wait(30)

    write_events("agent:before", 1)
    sequence_until(1)
    with others(late):
        assert written.wait(30)
        early = write_events("agent:early", 1)
        # The early one is committed, and has a higher transaction than one that may still commit.
        assert [sequence() for _ in range(3)] == [0, 0, 0]
        assert (index_of(early, 0), lag().waiting) == (None, 1)
        commit.set()
    sequence_until(3)
    names = [(stream, position) for stream, position, _ in committed_events()]
    assert order_of_log() == names
    assert index_of(early, 0) == 2
    require_whole_log(3)


def test_transaction_that_is_rolled_back_leaves_no_gap() -> None:
    write_events("agent:x", 1)
    with transaction.atomic():
        write_events("agent:y", 2)
        transaction.set_rollback(True)
    write_events("agent:z", 1)
    sequence_until(2)
    require_whole_log(2)


def test_open_transaction_of_another_database_holds_up_nothing() -> None:
    params = connection.get_connection_params()
    kept = {name: params[name] for name in ("host", "port", "user", "password") if name in params}
    with psycopg.connect(**kept, dbname="postgres") as elsewhere:
        elsewhere.execute("SELECT pg_current_xact_id()")
        write_events("agent:x", 3)
        sequence_until(3, patience_s=10)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT min(xid::text::bigint) > pg_snapshot_xmin(pg_current_snapshot())::text::bigint"
                " FROM ledger_event"
            )
            assert cursor.fetchone() == (True,)
    require_whole_log(3)


def test_eight_writers_with_late_commits_lose_nothing() -> None:
    """Most commits are late by up to 50 ms, one of each writer by up to 5 s."""
    seed = int(os.environ.get("CRASH_SEED", random.randrange(10**9)))
    note = f"repeat with CRASH_SEED={seed}"
    ended = threading.Event()
    written: list[int] = []

    def writer(number: int) -> Callable[[], None]:
        chance = random.Random(seed + number)
        longest = chance.randrange(40)

        def write() -> None:
            for turn in range(40):
                count = chance.randrange(1, 4)
                wait = (
                    chance.uniform(1.0, LONG_S) if turn == longest else chance.choice((0, 0, chance.uniform(0, 0.05)))
                )
                with transaction.atomic():
                    append_to(tenant_id=TENANT, name=f"agent:{number}:{turn % 3}", events=[Event("w", "t")] * count)
                    time.sleep(wait)
                    if chance.random() < 0.1:
                        transaction.set_rollback(True)
                        count = 0
                written.append(count)

        return write

    def sequencer() -> None:
        while not ended.is_set():
            sequence(batch=20)

    with others(sequencer, sequencer):
        try:
            with others(*(writer(number) for number in range(WRITERS))):
                pass
        finally:
            ended.set()
    total = sum(written)
    assert (len(written), LedgerEvent.objects.count()) == (WRITERS * 40, total), note
    sequence_until(total)
    require_whole_log(total)
    assert order_of_log() == [(stream, position) for stream, position, _ in committed_events()], note


def test_one_works_and_others_skip() -> None:
    write_events("agent:x", 1)
    at_it, go_on = threading.Event(), threading.Event()

    def holder() -> None:
        with transaction.atomic():
            sequence_batch()
            at_it.set()
            assert go_on.wait(30)

    with others(holder):
        assert at_it.wait(30)
        began = sequence_batch()
        go_on.set()
    assert (began.given, began.busy) == (0, True)
    sequence_until(1)
    require_whole_log(1)


def test_many_sequencers_at_once_write_every_event_once() -> None:
    for number in range(60):
        write_events(f"agent:{number}", 5)
    barrier = threading.Barrier(6)

    def run() -> None:
        barrier.wait(30)
        for _ in range(40):
            sequence(batch=5)

    with others(*[run] * 6):
        pass
    sequence_until(300)
    require_whole_log(300)


def test_rows_from_before_the_log_are_sequenced() -> None:
    """As a migration finds them: events, and none of the log's rows."""
    for number in range(20):
        write_events(f"agent:{number}", 20)
    assert (LedgerHead.objects.count(), log_size()) == (0, 0)
    sequence_until(400)
    require_whole_log(400)


ANOTHER_LIFE = (
    "UPDATE ledger_event SET xid = (xid::text::numeric + 4000000000)::text::xid8",
    "UPDATE ledger_head SET cursor = (cursor::text::numeric + 4000000000)::text::xid8",
)


@pytest.mark.parametrize("another_cluster", [True, False])
def test_restored_database_is_caught_up(another_cluster: bool) -> None:
    """Its transactions are of another life, above all that the new cluster has had so far."""
    write_events("agent:x", 10)
    sequence_until(10)
    write_events("agent:x", 5)
    before = order_of_log()
    identifier = "UPDATE ledger_head SET system_identifier = system_identifier - 1"
    without_triggers(*ANOTHER_LIFE, *([identifier] if another_cluster else []))
    new = write_events("agent:y", 3)
    sequence_until(18)
    write_events("agent:y", 2)
    sequence_until(20)
    require_whole_log(20)
    after = order_of_log()
    assert after[:10] == before
    assert [(index_of(new, n) or 0) >= 10 for n in range(5)] == [True] * 5
    assert (lag(), LedgerHead.objects.get().resume_at) == (Lag(0, None, False), None)


def test_restored_database_loses_nobody_who_writes_while_it_is_caught_up() -> None:
    for number in range(12):
        write_events(f"agent:{number}", 5)
    without_triggers(ANOTHER_LIFE[0])
    written, commit = threading.Event(), threading.Event()

    def late() -> None:
        with transaction.atomic():
            write_events("agent:late", 2)
            written.set()
            assert commit.wait(30)

    with others(late):
        assert written.wait(30)
        assert sequence_batch(7).given == 10
        assert lag().catching_up
        write_events("agent:meanwhile", 2)
        sequence(batch=7)
        # Those that were there are in the log. Of the others, the late one may still come before the one meanwhile.
        assert (log_size(), lag().waiting) == (60, 2)
        commit.set()
    sequence_until(64)
    require_whole_log(64)
    assert not lag().catching_up


def test_head_that_was_lost_is_found_again() -> None:
    write_events("agent:x", 300)
    sequence_until(300)
    without_triggers("DELETE FROM ledger_head")
    write_events("agent:x", 300)
    sequence_until(600)
    require_whole_log(600)


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM ledger_entry WHERE index = 9",
        "UPDATE ledger_entry SET chain_hash = leaf_hash WHERE index = 9",
        "UPDATE ledger_head SET size = 8",
        "UPDATE ledger_head SET chain_hash = sha256('')",
        "INSERT INTO ledger_entry SELECT 10, gen_random_uuid(), 0, leaf_hash, chain_hash FROM ledger_entry LIMIT 1",
    ],
)
def test_log_with_another_end_is_not_gone_on_with(harm: str, caplog: pytest.LogCaptureFixture) -> None:
    write_events("agent:x", 10)
    sequence_until(10)
    without_triggers(harm)
    write_events("agent:x", 1)
    before = LedgerEntry.objects.count()
    with pytest.raises(LogConflict, match="does not end with entry"):
        sequence()
    assert (LedgerEntry.objects.count(), sweep_once()) == (before, 0)
    assert "the log stands still" in caplog.text


def test_event_without_a_leaf_hash_is_not_passed_over() -> None:
    write_events("agent:x", 2)
    without_triggers("UPDATE ledger_event SET leaf_hash = 'short' WHERE position = 0")
    with pytest.raises(LogConflict, match="leaf hash of 5 bytes"):
        sequence_until(2)
    assert log_size() == 0


@pytest.mark.parametrize("table", ["ledger_entry", "ledger_subtree"])
@pytest.mark.parametrize("statement", ["UPDATE {} SET index = index", "DELETE FROM {}", "TRUNCATE {}"])
def test_rows_of_the_log_cannot_be_changed(table: str, statement: str) -> None:
    with pytest.raises(ProgrammingError, match="is append-only"), connection.cursor() as cursor:
        cursor.execute(statement.format(table))


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE ledger_head SET size = size - 1", "never shrinks"),
        ("DELETE FROM ledger_head", "head of the log stays"),
        ("TRUNCATE ledger_head", "head of the log stays"),
    ],
)
def test_head_cannot_be_set_back(statement: str, words: str) -> None:
    write_events("agent:x", 1)
    sequence_until(1)
    with pytest.raises(ProgrammingError, match=words), connection.cursor() as cursor:
        cursor.execute(statement)
    require_whole_log(1)


def test_event_stands_in_the_log_once() -> None:
    write_events("agent:x", 1)
    sequence_until(1)
    again = "INSERT INTO ledger_entry SELECT 1, stream, position, leaf_hash, chain_hash FROM ledger_entry"
    with pytest.raises(IntegrityError, match="an_event_stands_in_the_log_once"), connection.cursor() as cursor:
        cursor.execute(again)


def test_sweep_sequences_and_counts_nothing_of_it() -> None:
    write_events("agent:x", 3)
    deadline = time.monotonic() + 60
    while log_size() < 3:
        assert sweep_once() == 0
        assert time.monotonic() < deadline
    assert sequence_in_sweep(utcnow(), 200) == 0
    require_whole_log(3)
