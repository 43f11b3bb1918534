"""What an approver is told about risk, provenance and compliance, made of the facts that were recorded (pure).

The facts are ``ApprovalRequest.facts``, in the form of ``policy.facts.recorded``. A request that was made before they
were recorded has none: then nothing is scored and nothing traced, and the page says so.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from agentops.console.marks import Text
from agentops.console.reveal import reveal
from agentops.policy.flow import ROWS
from agentops.policy.leaves import leaves_of
from agentops.policy.risk import HIGH_FROM, MEDIUM_FROM, MOST, Level, level_of, table
from agentops.policy.traces import Origin
from agentops.registry.flow import Kind
from approvals.presenters import CameFrom, Factor, Finding, Piece, Place, RiskPart, Tone

MOST_PLACES = 3
"""Places that are named of one origin of one argument; what is left is counted."""

MOST_MARKED = 80
"""A finding about the whole of a longer text marks nothing in it."""

_MARKS: Mapping[str, tuple[str, Tone, str]] = {
    Origin.NOWHERE: ("invented", "invented", "invented"),
    Origin.UNTRUSTED: ("text by others", "untrusted", "untrusted"),
    Origin.THIRD: ("text by others", "untrusted", "untrusted"),
    Origin.COMPUTED: ("computed", "record", "sum"),
    Origin.RECORD: ("record", "record", "record"),
    Origin.APPROVED: ("approved before", "request", "check"),
    Origin.OPERATOR: ("person of the house", "request", "user"),
    Origin.REQUEST: ("request", "request", "request"),
}
"""The word, the tone and the icon of each origin, the one to look at first."""

_WORST = tuple(_MARKS)
_ASKS_TO_LOOK: frozenset[Tone] = frozenset({"untrusted", "invented"})
_ONLY_WORDS = frozenset({Kind.TEXT.value, Kind.LABEL.value, Kind.WHEN.value})
_STEP = re.compile(r"step (\d{1,9}) (\S+) ?(.*)", re.DOTALL)
_NO_PLACE = frozenset({"", "request", "approved", "operator"})

_RED_ROWS = ("unplanned", "leaks", "exit", "repeated")
_CHOSEN = "The agent chose whom or what this is about after reading text by others."


def came_from(
    facts: Mapping[str, Any], names: Iterable[str], observed: Sequence[tuple[int, str]]
) -> dict[str, tuple[CameFrom, ...]]:
    """Return where each argument of these names came from, the worst first; () for one that was not traced.

    ``observed`` are position and tool of what the session was told, in order: a trace counts them from 1.
    """
    if facts.get("session", {}).get("by_person") is True:
        word, tone, icon = _MARKS[Origin.OPERATOR]
        return {name: (CameFrom(word=word, tone=tone, icon=icon),) for name in names}
    leaves = facts.get("flow", {}).get("leaves", ())
    return {name: tuple(_origins([leaf for leaf in leaves if _is_of(leaf[0], name)], observed)) for name in names}


def tone_of(facts: Mapping[str, Any], name: str) -> Tone:
    """Return the tone of an argument on which the effect depends and that nobody trusted gave; "" for others."""
    leaves = facts.get("flow", {}).get("leaves", ())
    origins = {leaf[2] for leaf in leaves if _is_of(leaf[0], name) and leaf[1] not in _ONLY_WORDS}
    tones = (_MARKS[origin][1] for origin in _WORST if origin in origins)
    worst = next(tones, "")
    return worst if worst in _ASKS_TO_LOOK else ""


def _is_of(path: str, name: str) -> bool:
    # A name that could pass for a path stands as "?" there (``policy.leaves``).
    shown = "?" if "." in name or "[" in name else name
    return path == shown or path.startswith((f"{shown}.", f"{shown}["))


def _origins(leaves: Sequence[Sequence[Any]], observed: Sequence[tuple[int, str]]) -> Iterator[CameFrom]:
    known = {leaf[2] for leaf in leaves}
    for origin in _WORST:
        of_origin = [leaf for leaf in leaves if leaf[2] == origin]
        if not of_origin:
            continue
        found = (_place(leaf, observed) for leaf in of_origin)
        places = list(dict.fromkeys(place for place in found if place is not None))
        word, tone, icon = _MARKS[origin]
        yield CameFrom(
            word=word,
            tone=tone,
            icon=icon,
            values=len(of_origin) if len(known) > 1 else 0,
            in_request=origin == Origin.REQUEST,
            places=tuple(places[:MOST_PLACES]),
            more=len(places[MOST_PLACES:]),
        )


def _place(leaf: Sequence[Any], observed: Sequence[tuple[int, str]]) -> Place | None:
    source = "" if leaf[3] in _NO_PLACE else leaf[3]
    document, span, how = ("", (), "") if len(leaf) < 7 else (leaf[4], leaf[5], leaf[6])
    if not (source or document or how):
        return None
    step = _STEP.fullmatch(source)
    return Place(
        step=_position_of(int(step[1]), step[2], observed) if step else None,
        words=reveal(f"{step[2]} {step[3]}".rstrip() if step else source),
        document=reveal(document),
        within=f"characters {span[0] + 1} to {span[1]}" if document and span else "",
        how=reveal(how),
    )


def _position_of(number: int, tool: str, observed: Sequence[tuple[int, str]]) -> int | None:
    """Only an event of the same tool is the one that is meant: a wrong link would be worse than none."""
    position, observed_tool = observed[number - 1] if 0 < number <= len(observed) else (-1, "")
    return position if observed_tool == tool else None


def red_lines(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what a person has to know before the data: sentences that provenance alone does not show."""
    flow = facts.get("flow", {})
    lines = [ROWS[row] for row in _RED_ROWS if flow.get(row) is True]
    if flow.get("chosen") is True:
        lines.insert(len(lines) - (flow.get("repeated") is True), _CHOSEN)
    return tuple(lines)


_BANDS = {
    Level.LOW: f"0–{MEDIUM_FROM - 1}",
    Level.MEDIUM: f"{MEDIUM_FROM}–{HIGH_FROM - 1}",
    Level.HIGH: f"{HIGH_FROM}–{MOST}",
}
_WORDS = {(factor.name, factor.points): factor.words for factor in table()}
HALF = 50
"""Where a factor's bar begins, in hundredths of its width."""


def risk_of(facts: Mapping[str, Any]) -> RiskPart:
    """Return the Risk section. A request whose facts hold no score is not scored, which counts as high."""
    risk = facts.get("risk", {})
    score = risk.get("score")
    factors = [(factor[0], factor[1]) for factor in risk.get("factors", ())]
    heaviest = max((abs(points) for _, points in factors), default=1) or 1
    level = level_of(score)
    return RiskPart(
        score=score,
        level=level.value,
        band=_BANDS[level],
        version=risk.get("version", ""),
        marks=(MEDIUM_FROM, HIGH_FROM),
        factors=tuple(
            Factor(
                words=_WORDS.get((name, points), f"{name} (of an earlier version)"),
                points=f"{points:+d}".replace("-", "−"),
                raises=points > 0,
                start=HALF if points > 0 else HALF - abs(points) * HALF // heaviest,
                width=abs(points) * HALF // heaviest,
            )
            for name, points in sorted(factors, key=lambda factor: -factor[1])
            if points
        ),
    )


def findings_of(facts: Mapping[str, Any], arguments: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Return what the compliance packs say about the texts of the call, each with the argument that it is about."""
    names = list(arguments)
    return tuple(
        Finding(
            pack=pack,
            version=version,
            rule=rule,
            argument=next((number for number, name in enumerate(names, start=1) if _is_of(path, name)), 0),
            words=reveal(words),
            forbids=effect == "forbid",
        )
        for pack, version, rule, path, _, _, words, effect in _raw_findings(facts)
    )


def pieces_of(facts: Mapping[str, Any], name: str, value: Any, written: str) -> tuple[Piece, ...]:
    """Return an argument as it is ``written`` on the page, cut where findings begin and end.

    () when nothing in it is marked. A text inside a list or an object is marked where its JSON form stands.
    """
    ranges: set[tuple[int, int]] = set()
    for _, _, _, path, start, end, _, _ in _raw_findings(facts):
        if not _is_of(path, name) or start >= end:
            continue
        if isinstance(value, str):
            whole = (start, end) == (0, len(value)) and end > MOST_MARKED
            ranges |= set() if whole else {(start, end)}
        else:
            ranges |= set(_within(written, _texts_at(name, value, path), start, end))
    return tuple(_cut(written, sorted(ranges)))


def _raw_findings(facts: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
    found: Sequence[Sequence[Any]] = facts.get("compliance", {}).get("findings", ())
    return found


def _texts_at(name: str, value: Any, path: str) -> list[str]:
    return [text for place, text in leaves_of({name: value}) if place == path and isinstance(text, str)]


def _within(written: str, texts: Iterable[str], start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield where characters ``start`` to ``end`` of the JSON texts stand in the JSON document ``written``.

    A path does not say which item of a list it is, so the same place of each of them is marked.
    """
    for text in texts:
        if end > len(text):
            continue
        at = written.find(_json(text))
        if at >= 0:
            yield at + len(_json(text[:start])) - 1, at + len(_json(text[:end])) - 1


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _cut(written: str, ranges: Sequence[tuple[int, int]]) -> Iterator[Piece]:
    at = 0
    for start, end in _merged(ranges):
        if start > at:
            yield Piece(text=reveal(written[at:start]))
        yield Piece(text=reveal(written[start:end]), marked=True)
        at = end
    if at and at < len(written):
        yield Piece(text=reveal(written[at:]))


def _merged(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in ranges:
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def joined(pieces: Iterable[Piece]) -> Text:
    """Return the text of pieces as one."""
    return tuple(segment for piece in pieces for segment in piece.text)
