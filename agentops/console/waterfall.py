"""Where the time of a page of events went, drawn to one scale with long waits compressed (pure)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import pairwise

from agentops.console.formats import duration_words
from agentops.console.records import RequestSummary, Told
from agentops.console.said import cost_of, ms_words
from agentops.console.timeline import Bar, TimeKind, Waterfall, WaterfallKey, WaterfallRow

AXIS = 1000
LEAST_WIDTH = 3
WAIT_SHARE = 8
"""A stretch in which nobody worked takes at most this part of the time that was worked."""


@dataclass
class _Span:
    kind: TimeKind
    start: datetime
    end: datetime

    @property
    def length(self) -> timedelta:
        return self.end - self.start


@dataclass
class _Row:
    position: int
    label: str
    mono: bool
    cost: str
    spans: list[_Span] = field(default_factory=list)


def waterfall_of(events: Sequence[Told], requests: Mapping[str, RequestSummary]) -> Waterfall | None:
    """Return the waterfall of a page of events, None when nothing took any time."""
    rows = [row for row in _rows(events, requests) if row.spans]
    spans = [span for row in rows for span in row.spans]
    if not spans:
        return None
    axis = _Axis(spans)
    return Waterfall(
        start=min(span.start for span in spans),
        end=max(span.end for span in spans),
        keys=_keys(spans),
        rows=[_drawn(row, axis) for row in rows],
    )


def _rows(events: Sequence[Told], requests: Mapping[str, RequestSummary]) -> Iterator[_Row]:
    """Rows in the order of their first event; what belongs to one call or one question shares a row."""
    found: dict[str, _Row] = {}
    sleeping: _Row | None = None
    for event in events:
        if sleeping is not None:
            sleeping.spans.append(_Span("idle", sleeping.spans[0].end, event.at))
            sleeping = None
        key, label, mono = _subject(event, requests)
        if not key:
            continue
        row = found.setdefault(key, _Row(event.position, label, mono, ""))
        row.cost = row.cost or cost_of(event.facts)
        row.spans += _worked(event)
        if event.type in _DECIDED:
            asked = next((e for e in events if e.type == "approval.requested" and e.request == event.request), None)
            if asked is not None:
                row.spans.append(_Span("human", asked.at, event.at))
        if event.type == "session.sleeping":
            row.spans.append(_Span("idle", event.at, event.at))
            sleeping = row
    yield from found.values()


_DECIDED = frozenset({"approval.approved", "approval.edited", "approval.rejected", "approval.expired"})


def _subject(event: Told, requests: Mapping[str, RequestSummary]) -> tuple[str, str, bool]:
    """Return the key, label and typeface of the row that an event belongs to; no key for none."""
    if event.type.startswith("approval."):
        request = requests.get(event.request)
        return f"gate:{event.request}", f"Gate, {request.queue if request else 'people'}", False
    if event.type.startswith("call."):
        alone = f"call:{event.position}"
        return (f"call:{event.invocation}" if event.invocation else alone), str(event.facts.get("tool", "")), True
    if event.type in ("session.finished", "session.stopped"):
        return "answer", "Answer", False
    if event.type == "model.malformed":
        return f"call:{event.position}", "not a proposal", False
    if event.type == "session.sleeping":
        return f"sleep:{event.position}", "Not due yet" if "waits" in event.facts else "Back-off", False
    return "", "", False


def _worked(event: Told) -> Iterator[_Span]:
    """The model's and the tool's time, which end when the event was recorded, the tool's last."""
    end = event.at
    tool = timedelta(milliseconds=int(event.facts.get("tool_ms", 0)))
    model = timedelta(milliseconds=int(event.facts.get("model_ms", 0)))
    if model:
        yield _Span("model", end - tool - model, end - tool)
    if tool:
        yield _Span("tool", end - tool, end)


class _Axis:
    """Maps moments to places, with stretches that nobody worked in shortened."""

    def __init__(self, spans: Sequence[_Span]) -> None:
        worked = [span for span in spans if span.kind in ("model", "tool")]
        total = sum((span.length for span in worked), timedelta())
        most = max(total / WAIT_SHARE, timedelta(milliseconds=50))
        marks = sorted({moment for span in spans for moment in (span.start, span.end)})
        self.places = {marks[0]: timedelta()}
        drawn = timedelta()
        for left, right in pairwise(marks):
            busy = any(span.start <= left and right <= span.end for span in worked)
            drawn += right - left if busy else min(right - left, most)
            self.places[right] = drawn
        self.whole = drawn or timedelta(milliseconds=1)

    def bar(self, span: _Span) -> Bar:
        left, right = self.places[span.start], self.places[span.end]
        width = max(round((right - left) / self.whole * AXIS), LEAST_WIDTH)
        x = min(round(left / self.whole * AXIS), AXIS - width)
        return Bar(kind=span.kind, x=x, width=width, compressed=right - left < span.length)


def _drawn(row: _Row, axis: _Axis) -> WaterfallRow:
    took = sum((span.length for span in row.spans), timedelta())
    return WaterfallRow(
        position=row.position,
        label=row.label,
        mono=row.mono,
        bars=[axis.bar(span) for span in row.spans if span.length],
        took=_words(took),
        cost=row.cost or "–",
    )


def _keys(spans: Sequence[_Span]) -> list[WaterfallKey]:
    words: dict[TimeKind, str] = {"model": "model", "tool": "tools", "human": "people", "idle": "back-off"}
    found = []
    for kind, name in words.items():
        took = sum((span.length for span in spans if span.kind == kind), timedelta())
        if took:
            found.append(WaterfallKey(kind=kind, label=f"{name} {_words(took)}"))
    return found


def _words(took: timedelta) -> str:
    seconds = took.total_seconds()
    return ms_words(round(seconds * 1000)) if seconds < 1 else duration_words(seconds)
