"""What CloudWatch says of metrics, as our integers: requests a second, parts per thousand, milliseconds. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from sre_agent.connectors.records import Point
from sre_agent.connectors.vendor_schema import FIGURES, CloudWatch, Metric

UNKNOWN = -1
MOST = 10**9
MINUTE = 60
_SHARES = {"percent": 10.0, "fraction": 1_000.0, "permille": 1.0}
_TIMES = {"seconds": 1_000.0, "milliseconds": 1.0, "microseconds": 0.001}


@dataclass(frozen=True)
class Window:
    """Equal pieces of time: ``count`` of ``period`` seconds each, from ``start`` on."""

    start: datetime
    period: int
    count: int

    @property
    def end(self) -> datetime:
        """When the last piece is over."""
        return self.start + timedelta(seconds=self.period * self.count)

    def piece(self, at: datetime) -> int:
        """Return in which piece a moment lies."""
        return int((at - self.start).total_seconds() // self.period)

    def moment(self, piece: int) -> datetime:
        """Return when a piece begins."""
        return self.start + timedelta(seconds=self.period * piece)


def window_of(since: datetime, now: datetime, points: int) -> Window:
    """Return the pieces between two moments, at most ``points``.

    They are whole minutes long and begin at multiples of their length: CloudWatch keeps what is usual by the minute,
    and answers fastest when a request begins where its periods do.
    """
    first, last = int(since.timestamp()), math.ceil(now.timestamp())
    last = max(last, first + 1)
    period = MINUTE * max(1, math.ceil((last - first) / max(points, 1) / MINUTE))
    while -(-last // period) - first // period > max(points, 1):
        period += MINUTE
    start = first // period * period
    return Window(datetime.fromtimestamp(start, UTC), period, -(-(last - start) // period))


@dataclass
class Series:
    """The values of one metric, by piece."""

    values: dict[int, float] = field(default_factory=dict)

    def add(self, window: Window, result: Mapping[str, Any]) -> None:
        """Take in what one page says; the first value of a piece counts."""
        for at, value in zip(result.get("Timestamps") or (), result.get("Values") or (), strict=False):
            piece = window.piece(at)
            if 0 <= piece < window.count and math.isfinite(value):
                self.values.setdefault(piece, float(value))


def queries_of(config: CloudWatch, service: str, window: Window) -> list[dict[str, Any]]:
    """Return what ``GetMetricData`` is asked for: one query for each metric of the service's figures."""
    asked = []
    for name, figure in config.figures.items():
        asked.append(_query(config, service, figure.metric, name, window))
        if figure.per is not None:
            asked.append(_query(config, service, figure.per, f"{name}_per", window))
    return asked


def _query(config: CloudWatch, service: str, metric: Metric, name: str, window: Window) -> dict[str, Any]:
    def filled(text: str) -> str:
        return config.filled(service, text)

    dimensions = [{"Name": each, "Value": filled(value)} for each, value in metric.dimensions.items()]
    told = {"Namespace": filled(metric.namespace), "MetricName": filled(metric.name), "Dimensions": dimensions}
    stat = {"Metric": told, "Period": window.period, "Stat": metric.statistic}
    return {"Id": name, "MetricStat": stat, "ReturnData": True}


def points_of(config: CloudWatch, window: Window, series: Mapping[str, Series]) -> Sequence[Point]:
    """Return a point for each piece of which anything was told, the earliest first; -1 is a figure nobody knows."""
    told = sorted({piece for each in series.values() for piece in each.values})
    return tuple(
        Point(at=window.moment(piece), **{name: _figure(config, window, series, name, piece) for name in FIGURES})
        for piece in told
    )


def _figure(config: CloudWatch, window: Window, series: Mapping[str, Series], name: str, piece: int) -> int:
    figure = config.figures.get(name)
    if figure is None:
        return UNKNOWN
    value = series.get(name, Series()).values.get(piece, 0.0 if figure.is_zero else None)
    if value is None:
        return UNKNOWN
    if figure.per is not None:
        whole = series.get(f"{name}_per", Series()).values.get(piece)
        if whole is None:
            return UNKNOWN
        return _bounded(1_000 * value / whole if whole > 0 else 0.0)
    if name == "requests":
        return _bounded(value / window.period if figure.unit == "count" else value)
    return _bounded(value * {**_SHARES, **_TIMES}.get(figure.unit, 1.0))


def _bounded(value: float) -> int:
    return int(min(max(round(value), 0), MOST))
