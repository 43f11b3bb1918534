"""Figures as people read them: in a page, and in a spreadsheet."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import OperationalError
from psycopg.errors import QueryCanceled

from agentops.console.formats import duration_words
from agentops.console.marks import Text
from agentops.console.reveal import reveal
from agentops.kernel.cells import as_text
from agentops.tenancy.spans import Span
from approvals.insight.bars import Bar, bar_of
from approvals.insight.metrics import PARTS, Figures, Report
from approvals.models import ApprovalQueue

_LABELS = {"rule": "Rule", "tool": "Tool", "agent": "Agent", "approver": "Approver", "queue": "Queue"}
_NONE = "–"

COLUMNS = (
    *("by", "name", "asked", "approved", "rejected", "edited", "expired", "voided", "median_seconds", "p90_seconds"),
    *("override_rate", "regretted", "regret_rate", "escalated"),
)


@dataclass(frozen=True)
class Row:
    """One line of a table, as text. ``bars`` are (kind, from, width) in thousandths of what was asked."""

    name: Text
    asked: str
    approved: str
    rejected: str
    edited: str
    expired: str
    voided: str
    median: str
    p90: str
    override: str
    regret: str
    escalated: str
    bars: Sequence[Bar]


@dataclass(frozen=True)
class Tab:
    """One way to divide the figures."""

    key: str
    label: str
    url: str
    current: bool


@dataclass(frozen=True)
class FiguresPage:
    """What ``approvals/insight/metrics.html`` shows. ``total`` is None when the counting took too long."""

    span: Span
    queues: str
    total: Row | None
    tabs: Sequence[Tab]
    part: str
    label: str
    rows: Sequence[Row]
    left_out: int
    export: str


def figures_page(report: Report | None, queues: Sequence[ApprovalQueue], span: Span, part: str) -> FiguresPage:
    """Return the page with the table of one part."""
    return FiguresPage(
        span=span,
        queues=", ".join(queue.name for queue in queues),
        total=row_of(report.total) if report else None,
        tabs=[Tab(key, _LABELS[key], f"?{span.query}&by={key}", key == part) for key in PARTS],
        part=part,
        label=_LABELS[part],
        rows=[row_of(figures) for figures in report.parts[part]] if report else [],
        left_out=report.left_out[part] if report else 0,
        export=span.query,
    )


def row_of(figures: Figures) -> Row:
    """Return figures as text."""
    return Row(
        name=reveal(figures.name or "(none)"),
        asked=f"{figures.asked:,}",
        approved=f"{figures.approved:,}",
        rejected=f"{figures.rejected:,}",
        edited=f"{figures.edited:,}",
        expired=f"{figures.expired:,}",
        voided=f"{figures.voided:,}",
        median=_time(figures.median),
        p90=_time(figures.p90),
        override=_share(figures.override),
        regret=_share(figures.regret),
        escalated=f"{figures.escalated:,}",
        bars=_bars(figures),
    )


def cells_of(part: str, figures: Figures) -> list[str | int | float]:
    """Return figures as a line of CSV, in the order of COLUMNS."""
    return [
        part,
        as_text(figures.name),
        figures.asked,
        figures.approved,
        figures.rejected,
        figures.edited,
        figures.expired,
        figures.voided,
        "" if figures.median is None else round(figures.median, 1),
        "" if figures.p90 is None else round(figures.p90, 1),
        "" if figures.override is None else round(figures.override, 4),
        figures.regretted,
        "" if figures.regret is None else round(figures.regret, 4),
        figures.escalated,
    ]


def too_long(error: OperationalError) -> bool:
    """Return whether the database gave up because the counting took too long."""
    return isinstance(error.__cause__, QueryCanceled)


def _bars(figures: Figures) -> Sequence[Bar]:
    parts = (
        ("kept", figures.approved - figures.regretted),
        ("regretted", figures.regretted),
        ("edited", figures.edited),
        ("not", figures.rejected),
        ("over", figures.expired + figures.voided),
    )
    return bar_of(parts, figures.asked)


def _time(seconds: float | None) -> str:
    return _NONE if seconds is None else duration_words(seconds)


def _share(share: float | None) -> str:
    return _NONE if share is None else f"{share * 100:.1f} %"
