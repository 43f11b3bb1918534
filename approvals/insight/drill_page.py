"""A drill as a page: its content in the words and marks of a request page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.core import signing

from agentops.console.marks import Text, Tier
from agentops.console.reveal import reveal
from approvals.models import Drill, DrillAnswer

_SALT = "approvals.insight.drill"
_LONGEST_MS = 24 * 60 * 60 * 1000
"""A page that was left open over night was not read all the time."""

ORIGINS: Mapping[str, tuple[str, str, str]] = {
    "record": ("record", "record", "record"),
    "request": ("request", "request", "request"),
    "untrusted": ("text by others", "untrusted", "untrusted"),
    "invented": ("invented", "invented", "invented"),
}
"""Word, tone and icon of where a value came from, as on a request page."""


@dataclass(frozen=True)
class Line:
    """One line of before and after."""

    label: str
    before: Text
    after: Text
    same: bool


@dataclass(frozen=True)
class Value:
    """One argument with its origin."""

    name: str
    value: Text
    word: str
    tone: str
    icon: str


@dataclass(frozen=True)
class Message:
    """Words of somebody outside."""

    source: str
    author: Text
    body: Text


@dataclass(frozen=True)
class DrillPage:
    """What ``approvals/insight/drill.html`` shows. ``answer`` is the reader's own, None before it is given."""

    pk: str
    name: str
    queue: str
    effect: Text
    tier: Tier
    tool: str
    amount: str
    reversibility: str
    lines: Sequence[Line]
    values: Sequence[Value]
    messages: Sequence[Message]
    rules: Sequence[str]
    rationale: Text
    score: int
    level: str
    answer: DrillAnswer | None
    lesson: str
    shown: str
    next_pk: str
    errors: Mapping[str, str] = field(default_factory=dict)
    chosen: str = ""
    confidence: str = ""


def drill_page(
    drill: Drill,
    answer: DrillAnswer | None,
    now: datetime,
    *,
    next_pk: str = "",
    errors: Mapping[str, str] | None = None,
    typed: Mapping[str, str] | None = None,
) -> DrillPage:
    """Return the page of a drill. ``typed`` is what was sent and could not be taken."""
    content: Mapping[str, Any] = drill.content
    risk = content.get("risk", {})
    return DrillPage(
        pk=str(drill.pk),
        name=drill.name,
        queue=drill.queue.name,
        effect=reveal(str(content.get("effect", ""))),
        tier=Tier(content["tier"] if content.get("tier") in (1, 2, 3) else 2),
        tool=str(content.get("tool", "")),
        amount=str(content.get("amount", "")),
        reversibility=str(content.get("reversibility", "")),
        lines=[
            Line(str(label), reveal(str(before)), reveal(str(after)), before == after)
            for label, before, after in content.get("changes", [])
        ],
        values=[_value(one) for one in content.get("arguments", [])],
        messages=[
            Message(str(one.get("source", "")), reveal(str(one.get("author", ""))), reveal(str(one.get("body", ""))))
            for one in content.get("evidence", [])
        ],
        rules=[str(words) for words in content.get("rules", [])],
        rationale=reveal(str(content.get("rationale", ""))),
        score=max(0, min(100, int(risk.get("score", 0)))),
        level=risk.get("level") if risk.get("level") in ("low", "medium", "high") else "medium",
        answer=answer,
        lesson=drill.lesson if answer else "",
        shown=signing.dumps([str(drill.pk), _milliseconds(now)], salt=_SALT),
        next_pk=next_pk,
        errors=errors or {},
        chosen=(typed or {}).get("verb", ""),
        confidence=(typed or {}).get("confidence", ""),
    )


def _value(one: Mapping[str, Any]) -> Value:
    word, tone, icon = ORIGINS.get(str(one.get("from")), ORIGINS["invented"])
    return Value(str(one.get("name", "")), reveal(str(one.get("value", ""))), word, tone, icon)


def shown_for_ms(drill: Drill, token: str, now: datetime) -> int | None:
    """Return how long ago the page with this token was shown, None when that cannot be told."""
    try:
        pk, at = signing.loads(token, salt=_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    passed = _milliseconds(now) - int(at)
    return passed if pk == str(drill.pk) and 0 <= passed <= _LONGEST_MS else None


def _milliseconds(at: datetime) -> int:
    return int(at.timestamp() * 1000)
