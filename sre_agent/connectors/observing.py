"""The embedded observatory: log lines and samples that the tenant's simulated estate left behind."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from statistics import median
from typing import Any

from django.db import transaction

from agentops.registry.tool import CallContext
from sre_agent import models
from sre_agent.connectors.effect import missing
from sre_agent.connectors.embedded import ONCE, seen
from sre_agent.connectors.moving import Sight
from sre_agent.connectors.records import LogLine, Point

FARTHEST = timedelta(days=1)
"""What was seen longer ago is not looked at."""
MOST_LINES, MOST_POINTS = 500, 500
_MEDIANS = ("requests", "errors_pm", "latency_ms", "processor_pm", "memory_pm", "disk_pm")


class EmbeddedObservatory:
    """Holds no state."""

    @ONCE.answering()
    def logs(
        self, context: CallContext, service_ref: str, since: datetime, *, containing: str, limit: int
    ) -> tuple[LogLine, ...]:
        """Return at most ``limit`` lines since a moment, a day ago at most, the latest first.

        They contain ``containing`` as it stands, in upper or lower case. Raises ToolFailure NOT_FOUND.
        """
        with transaction.atomic():
            sight = _sight(context, service_ref)
            since = max(since, sight.now - FARTHEST)
            rows = models.LogLine.objects.filter(at__gte=since, **_window(context, sight, service_ref, since))
            if containing:
                rows = rows.filter(text__icontains=containing)
            found = rows.order_by("-tick", "-id")[: max(0, min(limit, MOST_LINES))]
            return tuple(LogLine(row.at, row.level, row.replica, row.text) for row in found)

    @ONCE.answering()
    def metrics(self, context: CallContext, service_ref: str, since: datetime, *, points: int) -> tuple[Point, ...]:
        """Return how a service did since a moment, a day ago at most, the earliest first.

        The time is cut into ``points`` equal pieces of whole ticks, or fewer; one without samples is left out. A piece
        tells the medians of its samples, and the fewest replicas that were ready. Raises ToolFailure NOT_FOUND.
        """
        with transaction.atomic():
            sight = _sight(context, service_ref)
            since = max(since, sight.now - FARTHEST)
            # A sample is of the tick that ended then: what ended when the time began is not of it.
            rows = models.Sample.objects.filter(at__gt=since, **_window(context, sight, service_ref, since))
            return pieces(rows.order_by("tick"), since, sight, max(1, min(points, MOST_POINTS)))


def pieces(samples: Iterable[models.Sample], since: datetime, sight: Sight, points: int) -> tuple[Point, ...]:
    """Return the samples from ``since`` on, in order, put together into at most ``points`` equal pieces."""
    ticks = max(1, -(-(sight.at - since) // sight.a_tick))
    piece = sight.a_tick * -(-ticks // points)
    found: dict[int, list[models.Sample]] = {}
    for sample in samples:
        found.setdefault(max(0, (sample.at - sight.a_tick - since) // piece), []).append(sample)
    return tuple(_point(since + number * piece, part) for number, part in found.items())


def _point(at: datetime, samples: Sequence[models.Sample]) -> Point:
    medians = {name: int(median(getattr(sample, name) for sample in samples)) for name in _MEDIANS}
    return Point(at=at, ready=min(sample.ready for sample in samples), **medians)


def _sight(context: CallContext, service_ref: str) -> Sight:
    sight = seen(context)
    if service_ref not in sight.estate.services:
        raise missing("service", "service")
    return sight


def _window(context: CallContext, sight: Sight, service_ref: str, since: datetime) -> dict[str, Any]:
    """Return what the indexes know of rows that were seen since a moment: no later tick than the first of them."""
    tick = sight.tick_at(since)
    return {"tenant_id": context.tenant_id, "service": service_ref, "tick__gte": tick}
