"""The drill: workers die at every crash point in turn while work comes in; then everything is worked to its end.

Some do not die at their point but stand still until their lease is over, go on as if nothing had been, and are killed
a little later.
"""

import multiprocessing.connection
import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from django.conf import settings
from django.db import Error, connection, transaction

from agentops.chaos.audit import audit
from agentops.chaos.drilled import ROLE, SPEC
from agentops.chaos.models import Fed
from agentops.chaos.person import hurry
from agentops.chaos.queries import unbegun
from agentops.chaos.report import Report
from agentops.chaos.site import Running, Site, start_worker
from agentops.chaos.worker import Order
from agentops.embedded.errors import EmbeddedPostgresError
from agentops.kernel.crashpoints import CrashPoint
from agentops.registry.drill import Piece
from agentops.runtime.models import Session
from agentops.runtime.states import ENDED, SessionStatus

POINTS = tuple(CrashPoint)
_P = CrashPoint
SCARCE = frozenset(
    {
        _P.QUESTION_ANSWERED,
        _P.ANSWER_COMMITTING,
        _P.RECOVERY_ASKED,
        _P.SWEEP_RECLAIMING,
        _P.SWEEP_WAKING,
        _P.WOKEN_AFTER_APPROVAL,
        _P.LOG_COPIED,
        _P.LOG_COMMITTING,
        _P.LOG_COMMITTED,
    }
)
"""Points that a worker cannot be sure to pass twice: others do what leads there as well."""
Answer = TypeVar("Answer")

AT_ONCE = 4
AHEAD = 2
BOUND_S = 30.0
FEED_AGAIN_S = 1.0
ENOUGH = 8
PATIENCE_S = 90.0
STILL_S = 3.0
STOPPED_SHARE = 0.1
STANDS_S = 2.5 * settings.LEASE_SECONDS
GOES_ON_S = 1.0


@dataclass(frozen=True)
class Kill:
    """A worker that is to die at ``order.point``, and the work that leads it there."""

    point: CrashPoint
    order: Order
    scripts: tuple[str, ...]


def run_drill(site: Site, *, kills: int, seed: int) -> Report:
    """Kill ``kills`` workers, work everything to its end, and compare the books."""
    began, report = time.monotonic(), Report(ROLE.name, seed)
    chance = random.Random(seed)  # noqa: S311 - repeatable on purpose
    plan = [_plan(number, site, chance) for number in range(kills)]
    feeder = _Feeder(site)
    _kill_all(plan, feeder, report)
    _finish(site, report)
    audit(report)
    report.seconds = time.monotonic() - began
    return report


def _plan(number: int, site: Site, chance: random.Random) -> Kill:
    point = POINTS[number % len(POINTS)]
    nth = 1 if point in SCARCE else chance.choice((1, 1, 2))
    scripts = tuple(chance.choice(SPEC.scripts_for(point)) for _ in range(nth + 1))
    stops = chance.random() < STOPPED_SHARE
    return Kill(point, Order(site.address, chance.randrange(2**32), point, nth, stops), scripts)


class _Feeder:
    """Puts work before the workers, as a system of record would."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._pieces = 0

    def feed(self, kill: Kill) -> None:
        """Add one piece of work for each of the kill's scripts."""
        tenants = self._site.tenants
        pieces = [
            Piece(tenants[number % len(tenants)].pk, f"j-{number:06}", script, kill.point is CrashPoint.SESSION_OPENED)
            for number, script in enumerate(kill.scripts, start=self._pieces)
        ]
        self._pieces += len(pieces)
        insistently(lambda: _feed(pieces))


@transaction.atomic
def _feed(pieces: list[Piece]) -> None:
    """Feed all of it, unless an earlier attempt did, of which nobody knew how it ended."""
    rows = [Fed(ref=one.ref, tenant_id=one.tenant_id, script=one.script, by_hand=one.by_hand) for one in pieces]
    if not Fed.objects.filter(pk=rows[0].pk).exists():
        Fed.objects.bulk_create(rows)
        SPEC.feed(pieces)


@dataclass
class _Slot:
    """A worker on its way to its point. ``stood_at``: when it stopped there, ``went_on`` whether it was let go on."""

    kill: Kill
    running: Running
    since: float
    fed: float
    stood_at: float | None = None
    went_on: bool = False


def _kill_all(plan: list[Kill], feeder: _Feeder, report: Report) -> None:
    slots: list[_Slot] = []
    for kill in plan[:AHEAD]:
        feeder.feed(kill)
    started = 0
    try:
        while started < len(plan) or slots:
            while started < len(plan) and sum(slot.stood_at is None for slot in slots) < AT_ONCE:
                if started + AHEAD < len(plan):
                    feeder.feed(plan[started + AHEAD])
                now = time.monotonic()
                slots.append(_Slot(plan[started], start_worker(plan[started].order), now, now))
                started += 1
            multiprocessing.connection.wait([slot.running.process.sentinel for slot in slots], timeout=0.1)
            slots = [slot for slot in slots if not _is_over(slot, feeder, report)]
    finally:
        for slot in slots:
            slot.running.end()


def _is_over(slot: _Slot, feeder: _Feeder, report: Report) -> bool:
    """Count a worker that is dead, and end one that took too long or has stood still and gone on."""
    now, process = time.monotonic(), slot.running.process
    if process.is_alive():
        if slot.kill.order.stops and slot.stood_at is None and slot.running.reached:
            slot.stood_at = now
            report.stopped += 1
        if slot.stood_at is None and now - slot.since < BOUND_S:
            _feed_again(slot, feeder, now)
            return False
        if slot.stood_at is not None and now - slot.stood_at < STANDS_S + GOES_ON_S:
            _let_go_on(slot, now)
            return False
    ended = not process.is_alive()
    slot.running.end()
    reached = slot.stood_at is not None or slot.running.reached
    report.deaths += ended and not reached
    counts = report.by_point[slot.kill.point.value]
    counts[0] += 1
    counts[1] += reached
    return True


def _let_go_on(slot: _Slot, now: float) -> None:
    if slot.stood_at is not None and not slot.went_on and now - slot.stood_at >= STANDS_S:
        slot.went_on = True
        slot.running.go_on()


def _feed_again(slot: _Slot, feeder: _Feeder, now: float) -> None:
    """Others may have done what was to lead the worker to its point. Not too much: new work stands in line."""
    if now - slot.fed > FEED_AGAIN_S:
        slot.fed = now
        if insistently(_waiting) < ENOUGH:
            feeder.feed(slot.kill)


def _finish(site: Site, report: Report) -> None:
    """Let workers that nobody kills work everything to its end, as long as something moves.

    On a busy machine the vendor answers late, and breakers open. What then stands still is hurried.
    """
    workers = [start_worker(Order(site.address, report.seed + number)) for number in range(AT_ONCE)]
    before, moved = -1, time.monotonic()
    while time.monotonic() - moved < PATIENCE_S:
        left = insistently(_left)
        if left == 0:
            break
        if left != before:
            before, moved = left, time.monotonic()
        elif time.monotonic() - moved > STILL_S:
            insistently(hurry)
        time.sleep(0.1)
    for running in workers:
        report.deaths += not running.process.is_alive()
        running.end()


def _waiting() -> int:
    """Return how much work no worker has begun: new work would stand in line behind it."""
    return unbegun().count() + Session.objects.filter(status=SessionStatus.QUEUED).count()


def _left() -> int:
    return unbegun().count() + Session.objects.exclude(status__in=ENDED).count()


def insistently(ask: Callable[[], Answer]) -> Answer:
    """Return the answer of the database, waiting for it while it restarts. Raises its last error after a while."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return ask()
        except (Error, EmbeddedPostgresError):
            if time.monotonic() > deadline:
                raise
            connection.close()
            time.sleep(0.1)
