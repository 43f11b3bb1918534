"""Signing what the log is, again and again: after 512 entries or 10 seconds, whichever comes first.

A checkpoint is made in one transaction that sends nothing anywhere. The log is append-only, so it needs no lock of the
sequencer's: what it reads about a size holds for ever. One advisory lock lets one process sign at a time. A transaction
that needs both takes the sequencer's first; none does today.
"""

import logging
from datetime import datetime, timedelta

from django.db import InterfaceError, OperationalError, connection, transaction

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.checkpoint_models import LedgerCheckpoint, LedgerDelivery
from agentops.ledger.checkpoints import Checkpoint, format_checkpoint
from agentops.ledger.log import consistency, log_size, tree_head
from agentops.ledger.merkle import BadProof, verify_consistency
from agentops.ledger.notes import SigningKey, sign_note
from agentops.ledger.signing_keys import log_keys
from agentops.ledger.sinks import sinks

log = logging.getLogger(__name__)

ENTRIES = 512
EVERY = timedelta(seconds=10)
_LOCK = 0x6C6F_6763_686B


class LogRewritten(AgentOpsError):
    """The log no longer begins with what the last checkpoint says. It is not signed."""

    code = "LOG_REWRITTEN"
    next_step = "Somebody changed the log. Run manage.py ledger verify, and compare with what the sinks keep."


def checkpoint_in_sweep(now: datetime, limit: int) -> int:
    """Make a checkpoint when one is due, as a duty of the sweep. Returns 0, since no work becomes due by it."""
    try:
        make_checkpoint(now)
    except (OperationalError, InterfaceError):
        raise
    except AgentOpsError as error:
        log.error("no checkpoint is made: %s", error.in_full)  # noqa: TRY400 - its words say all
    return 0


def make_checkpoint(now: datetime, *, at_once: bool = False) -> LedgerCheckpoint | None:
    """Sign and store what the log is, with a delivery to each sink; None when nothing is due or there is no key.

    ``at_once`` makes one of whatever is not covered yet. Raises BadLogKey, BadSinks, LogRewritten, LogIncomplete.
    """
    keys = log_keys()
    if not keys:
        return None
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s::bigint)", [_LOCK])
            if not cursor.fetchone()[0]:
                return None
        last = LedgerCheckpoint.objects.order_by("-size").first()
        size = log_size()
        if not _is_due(last, size, now, at_once=at_once):
            return None
        return _made(keys, last, size, now)


def _is_due(last: LedgerCheckpoint | None, size: int, now: datetime, *, at_once: bool) -> bool:
    """A clock that was set back makes it due, rather than wait for the clock to come back to where it was."""
    if last is None:
        return size > 0
    if size < last.size:
        raise LogRewritten(f"the log has {size} entries, and had {last.size}")
    waited = now - last.at
    return size > last.size and (
        at_once or size - last.size >= ENTRIES or waited >= EVERY or waited < timedelta(seconds=0)
    )


def _made(keys: tuple[SigningKey, ...], last: LedgerCheckpoint | None, size: int, now: datetime) -> LedgerCheckpoint:
    head = tree_head(size)
    if last is not None:
        _require_growth(last, size, head.root)
        # Times never go back from one checkpoint to the next, whatever the clock does.
        now = max(now, last.at)
    text = format_checkpoint(Checkpoint(keys[0].name, size, head.root, head.chain_hash, now))
    made = LedgerCheckpoint.objects.create(
        size=size, at=now, root=head.root, chain_hash=head.chain_hash, note=sign_note(text, keys).encoded().decode()
    )
    LedgerDelivery.objects.bulk_create(LedgerDelivery(checkpoint=made, sink=one.name, due_at=now) for one in sinks())
    return made


def _require_growth(last: LedgerCheckpoint, size: int, root: bytes) -> None:
    before = tree_head(last.size)
    if (before.root, before.chain_hash) != (bytes(last.root), bytes(last.chain_hash)):
        raise LogRewritten(f"the first {last.size} entries of the log are others than were signed")
    try:
        verify_consistency(last.size, size, consistency(last.size, size), before.root, root)
    except BadProof as error:
        raise LogRewritten(f"the log does not go on from what was signed: {error.message}") from None
