"""Which requests may be approved together (pure). Empty is never permission: what is not known is approved alone."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from agentops.registry.flow import Kind, Sends
from agentops.registry.tool import ToolSpec

MOST_TOGETHER = 10
_ALONE_TAGS = {"money": "It moves money.", "outbound": "It leaves the house.", "permissions": "It gives a permission."}


@dataclass(frozen=True)
class Candidate:
    """What the rules look at in one request. ``specs`` are the tools that have its tool's name."""

    queue_allows: bool
    decidable: bool
    level: int
    people: int
    moves_money: bool
    sends: str
    tool: str
    specs: Sequence[ToolSpec]


def why_alone(candidate: Candidate) -> str:
    """Return why a request is approved alone, "" when it may be approved with others."""
    return next(iter(_reasons(candidate)), "")


def _reasons(candidate: Candidate) -> Iterable[str]:
    if not candidate.decidable:
        yield "You may read it but not decide it now."
    if not candidate.queue_allows:
        yield "Its queue does not let requests be approved together."
    if candidate.level != 1:
        yield "It is not reversible (T1)."
    if candidate.people > 1:
        yield "It takes more than one person, each for themselves."
    if candidate.moves_money:
        yield _ALONE_TAGS["money"]
    if candidate.sends != Sends.NOWHERE:
        yield _ALONE_TAGS["outbound"]
    if not candidate.specs:
        yield "Its tool is not known any more."
    for spec in candidate.specs:
        yield from _reasons_of(spec)


def _reasons_of(spec: ToolSpec) -> Iterable[str]:
    yield from (words for tag, words in _ALONE_TAGS.items() if tag in spec.tags)
    if spec.money_family:
        yield _ALONE_TAGS["money"]
    if spec.flow.sends is not Sends.NOWHERE:
        yield _ALONE_TAGS["outbound"]
    kinds = {argument.kind for argument in spec.flow.arguments.values()}
    if kinds & {Kind.ROLE, Kind.SECRET, Kind.CODE}:
        yield _ALONE_TAGS["permissions"]
    if Kind.AMOUNT in kinds:
        yield _ALONE_TAGS["money"]
    if Kind.TARGET in kinds:
        yield _ALONE_TAGS["outbound"]
    if not spec.flow.capability:
        yield "Nobody declared what its tool does."


def why_not_together(candidates: Sequence[Candidate]) -> str:
    """Return why these cannot be approved in one go although each of them could be, "" when they can."""
    if not candidates:
        return "None of them can be approved together with others."
    if len(candidates) > MOST_TOGETHER:
        return f"At most {MOST_TOGETHER} can be approved together, and these are {len(candidates)}."
    if len({candidate.tool for candidate in candidates}) > 1:
        return "Only requests of one tool can be approved together."
    return ""
