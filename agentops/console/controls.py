"""What an operator may do with a session now (pure). The runtime decides again, under a lock."""

from agentops.runtime.states import ENDED, SessionStatus, Wish

PAUSE, RESUME, TAKE_OVER, HAND_BACK, PRIORITY, CANCEL = (
    "pause",
    "resume",
    "take_over",
    "hand_back",
    "priority",
    "cancel",
)
STEP, FINISH = "step", "finish"
BY_WHOEVER_TOOK_IT = frozenset({STEP, FINISH, HAND_BACK})
"""What somebody who is no operator may do with a session that they have taken over, as approvers do from a request."""


def applicable(status: str, *, wanted: str, taken_by: str, actor: str) -> tuple[str, ...]:
    """Return the names of what ``actor`` may do, in the order in which a page offers it; nothing once it has ended."""
    stands = SessionStatus(status)
    if stands in ENDED:
        return ()
    paused, mine = stands is SessionStatus.PAUSED, taken_by == actor
    offered = {
        STEP: paused and mine,
        FINISH: paused and mine,
        HAND_BACK: paused and bool(taken_by),
        RESUME: paused and not taken_by,
        PAUSE: not paused and not taken_by and wanted == Wish.NONE,
        TAKE_OVER: not taken_by and wanted != Wish.CANCEL,
        PRIORITY: True,
        CANCEL: wanted != Wish.CANCEL,
    }
    return tuple(name for name, may in offered.items() if may)
