"""A worker process that kills or stops itself when it gets to a chosen point for the n-th time."""

import logging
import os
import random
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection

from django.db import Error, connection

from agentops.chaos.drilled import SPEC
from agentops.chaos.gate import decide_waiting
from agentops.chaos.person import begin_by_hand, settle_unknown
from agentops.embedded.errors import EmbeddedPostgresError
from agentops.kernel import crashpoints
from agentops.kernel.crashpoints import CrashPoint
from agentops.runtime import dispatch, doorbell
from agentops.runtime.sweep import sweep_once

log = logging.getLogger(__name__)

_FEW = 3
_PAUSE_S = 0.05
_SELDOM_S = 0.8


@dataclass(frozen=True)
class Order:
    """Where the system of record listens, and at the how many-eth reach of which point to die (None: never).

    ``stops``: it does not die there but stands still, until somebody lets it go on.
    """

    address: str
    seed: int
    point: CrashPoint | None = None
    nth: int = 1
    stops: bool = False


def work(order: Order, told: Connection) -> None:
    """Run in a process of its own until it is killed; says on ``told`` when it gets to its point."""
    SPEC.connect(order.address)
    # Nobody listens for a ring here: the workers look all the time.
    doorbell.ring = _unheard
    random.seed(order.seed)
    if order.point is not None:
        crashpoints.arm(_trap(order.point, order, told))
    often, seldom = _OFTEN.get(order.point, _nothing), _seldom(order.point)
    due = 0.0
    while True:
        try:
            if time.monotonic() >= due:
                due = time.monotonic() + _SELDOM_S * random.uniform(0.5, 1.5)  # noqa: S311 - spreads load
                for duty in seldom:
                    duty()
            did = often() + dispatch.work_until_quiet(most=_FEW)
        except (Error, EmbeddedPostgresError):
            log.warning("the database is away", exc_info=True)
            connection.close()
            did = 0
        if not did:
            time.sleep(_PAUSE_S)


def _unheard() -> None:
    """Ring no bell."""


def _nothing() -> int:
    return 0


def _decide() -> int:
    return decide_waiting(_FEW)


def _begin() -> int:
    return begin_by_hand(_FEW)


def _settle() -> int:
    return settle_unknown(_FEW)


# What a worker that is to die there does all the time, so that others are not always faster.
_OFTEN: Mapping[CrashPoint | None, Callable[[], int]] = {
    CrashPoint.SWEEP_RECLAIMING: sweep_once,
    CrashPoint.SWEEP_WAKING: sweep_once,
    CrashPoint.DECISION_COMMITTING: _decide,
    CrashPoint.QUESTION_ANSWERED: _decide,
    CrashPoint.ANSWER_COMMITTING: _decide,
    CrashPoint.SESSION_OPENED: _begin,
    CrashPoint.LOG_COPIED: sweep_once,
    CrashPoint.LOG_COMMITTING: sweep_once,
    CrashPoint.LOG_COMMITTED: sweep_once,
}


def _seldom(point: CrashPoint | None) -> tuple[Callable[[], int], ...]:
    """Return what every worker does now and then; work by hand is for who is to die of it, then for the last ones."""
    shared = (sweep_once, _decide, _settle)
    return shared if point is not None else (*shared, _begin)


def _trap(point: CrashPoint, order: Order, told: Connection) -> Callable[[CrashPoint], None]:
    left = order.nth

    def trap(reached: CrashPoint) -> None:
        nonlocal left
        if reached is not point:
            return
        left -= 1
        if left == 0:
            told.send(point.value)
            os.kill(os.getpid(), signal.SIGSTOP if order.stops else signal.SIGKILL)

    return trap
