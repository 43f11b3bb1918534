"""Named points at which a fault drill can kill the process, pause it, or do anything else.

In normal work nothing is armed and ``reach`` is one comparison. Only a drill arms a point; there is no setting
and no request that does.
"""

from collections.abc import Callable
from enum import StrEnum


class CrashPoint(StrEnum):
    """Where a process can die. The names read: what had just happened, or was about to."""

    SESSION_OPENING = "session.opening"
    SESSION_OPENED = "session.opened"
    CLAIM_COMMITTING = "claim.committing"
    CLAIM_COMMITTED = "claim.committed"
    STEP_PLANNED = "step.planned"
    READ_RETURNED = "read.returned"
    READ_RECORDED = "read.recorded"
    INTENT_COMMITTING = "intent.committing"
    INTENT_COMMITTED = "intent.committed"
    VENDOR_CALLING = "vendor.calling"
    VENDOR_RETURNED = "vendor.returned"
    RESULT_COMMITTED = "result.committed"
    REQUEST_COMMITTING = "request.committing"
    REQUEST_COMMITTED = "request.committed"
    DECISION_COMMITTING = "decision.committing"
    QUESTION_ANSWERED = "question.answered"
    ANSWER_COMMITTING = "answer.committing"
    WOKEN_AFTER_APPROVAL = "woken_after_approval"
    RECOVERY_ASKED = "recovery.asked"
    SLEEP_COMMITTED = "sleep.committed"
    SWEEP_RECLAIMING = "sweep.reclaiming"
    SWEEP_WAKING = "sweep.waking"
    COMPENSATION_BEGUN = "compensation.begun"
    UNDO_RETURNED = "undo.returned"
    UNDO_RECORDED = "undo.recorded"
    SESSION_ENDING = "session.ending"
    SESSION_ENDED = "session.ended"
    LOG_COPIED = "log.copied"
    LOG_COMMITTING = "log.committing"
    LOG_COMMITTED = "log.committed"


_armed: Callable[[CrashPoint], None] | None = None


def arm(trap: Callable[[CrashPoint], None] | None) -> None:
    """Call ``trap`` with every point that this process reaches from now on; None disarms."""
    global _armed  # noqa: PLW0603 - one switch for the whole process is the point of it
    _armed = trap


def reach(point: CrashPoint) -> None:
    """Say that this point is reached."""
    if _armed is not None:
        _armed(point)
