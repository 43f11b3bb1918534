"""A log in the database that somebody signed, and damage by a database administrator."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from django.db import connection, transaction

from agentops.ledger.checkpoints import Checkpoint, format_checkpoint
from agentops.ledger.log import log_size, tree_head
from agentops.ledger.models import LedgerEvent
from agentops.ledger.notes import COSIGNATURE, SigningKey, sign_note
from agentops.ledger.sequencing import sequence

LOG = SigningKey("ledger.example", bytes(range(32)))
WITNESS = SigningKey("witness.example", bytes(range(1, 33)), COSIGNATURE)
AT = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)


def sequence_all() -> int:
    """Give every event its index, whatever other databases of the server still do. Returns the log's size."""
    deadline = time.monotonic() + 60
    while sequence() or log_size() < LedgerEvent.objects.count():
        assert time.monotonic() < deadline, "a transaction elsewhere on this server holds the sequencer up"
        time.sleep(0.05)
    return log_size()


def sign_log(key: SigningKey = LOG, *, size: int | None = None, at: datetime = AT, witness: bool = False) -> str:
    """Sign the log as it is, or was, and store that. Returns the note."""
    head = tree_head(size)
    text = format_checkpoint(Checkpoint(key.name, head.size, head.root, head.chain_hash, at))
    note = sign_note(text, [key]).encoded().decode()
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO ledger_checkpoint (size, at, root, chain_hash, note) VALUES (%s, %s, %s, %s, %s)",
            [head.size, at, head.root, head.chain_hash, note],
        )
        if witness:
            line = WITNESS.sign(text, unix_time=int(at.timestamp())).line()
            cursor.execute(
                """INSERT INTO ledger_cosignature (id, size, witness, at, line)
                VALUES (gen_random_uuid(), %s, %s, %s, %s)""",
                [head.size, WITNESS.name, at, line],
            )
            note += line
    return note


@contextmanager
def triggers_off() -> Iterator[Any]:
    """Be a superuser who has switched all triggers off: yields a cursor, and commits."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        yield cursor
