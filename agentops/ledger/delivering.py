"""Bringing checkpoints to their sinks: after they are signed, never in a transaction, each sink at its own pace.

When a sink fails, its oldest checkpoint waits 2^attempts seconds, 5 minutes at most, and all others of the sink wait
with it. A claim is a due time in the future, so of any number of processes one sends, and a killed one is followed.
"""

import logging
import time
from datetime import UTC, datetime, timedelta
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction
from django.db.models import F, Q

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.checkpoint_models import LedgerCheckpoint, LedgerCosignature, LedgerDelivery
from agentops.ledger.notes import cosigned_at
from agentops.ledger.sinks import BadSinks, Contradicted, Delivered, Sink, Witnessed, sinks

log = logging.getLogger(__name__)

CLAIM = timedelta(seconds=60)
MOST_BACK_OFF = timedelta(minutes=5)
SWEEP_SECONDS = 3.0
_MOST_WORDS = 300
_PENDING = Q(delivered_at=None, covered_by=None, refused=False)


def deliver_in_sweep(now: datetime, limit: int) -> int:
    """Deliver what is due for some seconds, as a duty of the sweep. Returns 0, since no work becomes due by it."""
    try:
        deliver_due(limit=limit, seconds=SWEEP_SECONDS)
    except BadSinks as error:
        log.error("no checkpoint is delivered: %s", error.in_full)  # noqa: TRY400 - its words say all
    return 0


def deliver_due(*, limit: int, seconds: float) -> int:
    """Deliver up to ``limit`` checkpoints to each sink, and return how many were taken. Raises BadSinks.

    After ``seconds`` nothing more is begun; what is under way may take a sink's own time besides.
    """
    over, done = time.monotonic() + seconds, 0
    for sink in sinks():
        for _ in range(limit):
            if time.monotonic() >= over or not _deliver_one(sink):
                break
            done += 1
    return done


def back_off(attempts: int) -> timedelta:
    """Return how long a sink is left alone after so many failures in a row."""
    return min(timedelta(seconds=2 ** min(attempts, 10)), MOST_BACK_OFF)


def try_again() -> int:
    """Make due at once whatever was not delivered, also what was refused; return how many."""
    waiting = LedgerDelivery.objects.filter(delivered_at=None, covered_by=None)
    return waiting.update(due_at=utcnow(), refused=False)


def _deliver_one(sink: Sink) -> bool:
    """Return whether the sink took one; False as well when nothing is due."""
    claimed = _claim(sink, utcnow())
    if claimed is None:
        return False
    gate, checkpoint, last = claimed
    sent = Delivered(checkpoint.size, bytes(checkpoint.root), checkpoint.note.encode(), int(checkpoint.at.timestamp()))
    try:
        answered = sink.deliver(sent, last=last)
    except Contradicted as error:
        log.error("%s: a sink contradicts the log: %s", error.code, error.in_full)  # noqa: TRY400 - its words say all
        _note_refusal(sink, checkpoint, error)
        return False
    except (OperationalError, InterfaceError):
        raise
    except AgentOpsError as error:
        log.warning("%s: a checkpoint was not delivered: %s", error.code, error.message)
        _note_failure(gate, error.message)
        return False
    except Exception as error:
        log.exception("a checkpoint was not delivered")
        _note_failure(gate, f"it ended in {type(error).__name__}")
        return False
    _note_success(sink, checkpoint, answered)
    return True


@transaction.atomic
def _claim(sink: Sink, now: datetime) -> tuple[UUID, LedgerCheckpoint, int] | None:
    """Return the row whose time counts, the checkpoint to send, and the last size that the sink took."""
    mine = LedgerDelivery.objects.filter(sink=sink.name)
    pending = mine.filter(_PENDING).order_by("checkpoint_id")
    gate = pending.select_for_update(skip_locked=True).first()
    # A time beyond any back-off was set by a clock that has been set back since.
    if gate is None or now < gate.due_at <= now + MOST_BACK_OFF + CLAIM:
        return None
    if pending.filter(checkpoint_id__lt=gate.checkpoint_id).exists():
        return None  # another process has the oldest
    LedgerDelivery.objects.filter(pk=gate.pk).update(due_at=now + CLAIM, attempts=F("attempts") + 1)
    chosen = pending.order_by("-checkpoint_id").first() if sink.latest_only else gate
    assert chosen is not None  # noqa: S101 - the gate is one of them
    last = mine.exclude(delivered_at=None).order_by("-checkpoint_id").values_list("checkpoint_id", flat=True).first()
    return gate.pk, LedgerCheckpoint.objects.get(pk=chosen.checkpoint_id), last or 0


def _note_failure(gate: UUID, words: str) -> None:
    attempts = LedgerDelivery.objects.values_list("attempts", flat=True).get(pk=gate)
    LedgerDelivery.objects.filter(pk=gate).update(due_at=utcnow() + back_off(attempts), error=words[:_MOST_WORDS])


@transaction.atomic
def _note_refusal(sink: Sink, checkpoint: LedgerCheckpoint, error: Contradicted) -> None:
    mine = LedgerDelivery.objects.filter(_PENDING, sink=sink.name)
    mine.filter(checkpoint=checkpoint).update(refused=True, error=error.message[:_MOST_WORDS])
    if sink.latest_only:
        mine.update(due_at=utcnow() + MOST_BACK_OFF)


@transaction.atomic
def _note_success(sink: Sink, checkpoint: LedgerCheckpoint, answered: Witnessed) -> None:
    LedgerCosignature.objects.bulk_create(
        [
            LedgerCosignature(
                checkpoint=checkpoint,
                witness=one.name,
                at=datetime.fromtimestamp(cosigned_at(one), UTC),
                line=one.line(),
            )
            for one in answered.signatures
        ],
        ignore_conflicts=True,
    )
    mine = LedgerDelivery.objects.filter(_PENDING, sink=sink.name)
    mine.filter(checkpoint=checkpoint).update(delivered_at=utcnow(), error="")
    if sink.latest_only:
        mine.filter(checkpoint__lt=checkpoint.pk).update(covered_by=checkpoint.pk)
