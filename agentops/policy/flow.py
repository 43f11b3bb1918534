"""Whether the values of a call may flow the way the call would make them flow (pure).

Each row is one condition under which a call may run without a person; a row that does not hold is named among the
``problems``, and the rule of the same name in ``policy.baseline`` asks. Rows look at where values came from and what
the tool declares about them, never at what a text says.
"""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agentops.kernel.canonical import dumps
from agentops.policy.directed import DIRECTED, Use, use_of
from agentops.policy.evidence import Evidence, Origin, Trace
from agentops.policy.leaves import arguments_of
from agentops.registry.flow import Argument, Kind, Sends
from agentops.registry.tool import Tier, ToolSpec

SAID = frozenset({Origin.REQUEST, Origin.OPERATOR, Origin.APPROVED})
"""Somebody who may decide about it named the value."""

KNOWN = SAID | {Origin.RECORD}
"""Said, or a whole value of a record of the house."""

ROWS: Mapping[str, str] = {
    "unplanned": "Nobody asked for this kind of action.",
    "target": "It goes to somebody or somewhere that the request does not name.",
    "reference": "The record was not named in the request and not found in the house's own records.",
    "sibling": "The request names another record of this kind, and text by others was read before this one was chosen.",
    "steered": "The agent chose this record itself, after it had read text by others.",
    "foreign": "Text by others was read, and nothing in this is from the request or the records.",
    "amount": "The amount is neither in the request nor in the records, or the request gives it as a limit only.",
    "secret": "The secret was not given in the request.",
    "code": "The code, or the role to give, was not given in the request.",
    "value": "A value comes from text by others, or from nowhere.",
    "parts": "The text holds an address, a link or a number that is neither in the request nor in the records.",
    "leaks": "Private data would leave the house in a text.",
    "composed": "The text was composed after text by others was read.",
    "repeated": "The same action was already done in this session.",
    "exit": "Private data and text by others were read in this session, and this carries something out of the house.",
}
"""The rows, and what a person is told when one does not hold."""


@dataclass(frozen=True)
class Leaf:
    """One value of the arguments: where it stands, what it means, where it came from."""

    path: str
    value: Any
    argument: Argument
    trace: Trace

    @property
    def empty(self) -> bool:
        """True for an empty text that leads nowhere and says nothing, such as an address without a second line.

        Empty texts of other kinds may mean something: no password, or every record.
        """
        return self.argument.kind in _NOTHING_WHEN_EMPTY and isinstance(self.value, str) and not self.value.strip()

    @property
    def consequential(self) -> bool:
        """True when the effect of the call depends on the value."""
        return self.argument.kind in _CONSEQUENTIAL and not self.empty


@dataclass(frozen=True)
class Flowing:
    """What was found out about a call.

    ``chosen``: the agent itself chose a target or a record after it had read text by others.
    """

    capability: str
    leaves: tuple[Leaf, ...]
    problems: frozenset[str]
    chosen: bool = False

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The facts under ``flow``, as canonical JSON: one boolean a row, and where each leaf came from."""
        return {
            **{row: row in self.problems for row in ROWS},
            "capability": self.capability,
            "chosen": self.chosen,
            "untrusted": any(leaf.consequential and leaf.trace.origin in _NOT_OURS for leaf in self.leaves),
            "leaves": [_leaf_facts(leaf) for leaf in self.leaves],
        }


_OTHERS = frozenset({Origin.THIRD, Origin.UNTRUSTED})
_NOT_OURS = _OTHERS | {Origin.NOWHERE}
_CONSEQUENTIAL = frozenset({Kind.TARGET, Kind.REF, Kind.AMOUNT, Kind.SECRET, Kind.CODE, Kind.ROLE, Kind.VALUE})
_NOTHING_WHEN_EMPTY = frozenset({Kind.TARGET, Kind.TEXT, Kind.LABEL})
_CARRIERS = (Kind.TEXT, Kind.LABEL, Kind.VALUE, Kind.SECRET, Kind.CODE)


def _leaf_facts(leaf: Leaf) -> list[Any]:
    trace = leaf.trace
    facts: list[Any] = [leaf.path, leaf.argument.kind.value, trace.origin.value, trace.source]
    if trace.document or trace.span or trace.how:
        facts += [trace.document, list(trace.span or ()), trace.how]
    return facts


STAYS_IN = Flowing("", (), frozenset())
"""A read that stays in the house: it changes nothing and tells nobody."""


def flow_of(
    tool: ToolSpec,
    arguments: Mapping[str, Any],
    *,
    evidence: Evidence,
    plan: frozenset[str],
    always: frozenset[str] = frozenset(),
    done: Container[tuple[str, str]] = (),
) -> Flowing:
    """Return what is wrong with the flow of one proposed call.

    ``plan`` are the capabilities that the request asks for, ``always`` those that are part of every request of the
    role; ``done`` holds ``done_key`` of every hard write that was already performed in the session.
    """
    if not leaves_or_changes(tool):
        return STAYS_IN
    flow = tool.flow
    given = tuple(arguments_of(flow, arguments))
    use = use_of(flow, given)
    leaves = tuple(Leaf(path, value, argument, evidence.trace(value, argument, use)) for path, value, argument in given)
    call = _Call(tool, leaves, evidence, flow.capability in always)
    problems = {row for row, broken in _BROKEN.items() if broken(call)}
    if flow.capability not in plan:
        problems.add("unplanned")
    if call.hard and _done_key(tool, given, use) in done:
        problems.add("repeated")
    chosen = evidence.third_read and any(
        leaf.argument.kind in DIRECTED and leaf.trace.origin is Origin.RECORD for leaf in leaves
    )
    return Flowing(flow.capability, leaves, frozenset(problems), chosen)


def leaves_or_changes(tool: ToolSpec) -> bool:
    """Return whether a call of the tool can do harm by where its values come from: it writes, or leaves the house."""
    return tool.is_write or tool.flow.sends is Sends.OUTSIDE


def done_key(tool: ToolSpec, arguments: Mapping[str, Any]) -> tuple[str, str]:
    """Return what makes two hard writes the same one: the tool and what it is directed at, or all of its arguments.

    What it is directed at counts however it is written: an account with or without spaces is one account. A call on the
    session's customer is directed at them when it names nothing else.
    """
    given = tuple(arguments_of(tool.flow, arguments))
    return _done_key(tool, given, use_of(tool.flow, given))


def _done_key(tool: ToolSpec, given: Iterable[tuple[str, Any, Argument]], use: Use) -> tuple[str, str]:
    if use.at or tool.flow.on_customer:
        return tool.name, use.at
    return tool.name, dumps([[path, value] for path, value, _ in given])


@dataclass(frozen=True)
class _Call:
    tool: ToolSpec
    leaves: tuple[Leaf, ...]
    evidence: Evidence
    always: bool

    @property
    def hard(self) -> bool:
        return self.tool.tier is Tier.WRITE_HARD

    @property
    def outside(self) -> bool:
        return self.tool.flow.sends is Sends.OUTSIDE

    @cached_property
    def carrying(self) -> tuple[Leaf, ...]:
        """The leaves that carry something: where an empty text is from does not matter."""
        return tuple(leaf for leaf in self.leaves if not leaf.empty)

    def of(self, *kinds: Kind) -> list[Leaf]:
        return [leaf for leaf in self.carrying if leaf.argument.kind in kinds]

    def asked_for(self, leaf: Leaf) -> bool:
        """Return whether somebody who may decide named the value, or called the record by a name that it has."""
        return leaf.trace.origin in SAID or (
            leaf.argument.kind is Kind.REF and self.evidence.called(leaf.value, leaf.argument)
        )

    def linked(self, leaf: Leaf) -> bool:
        """Return whether this only fetches what a member links to whom the request names."""
        return not self.tool.is_write and self.evidence.linked_by_named(leaf.value)

    def any_from(self, origins: frozenset[Origin], *kinds: Kind) -> bool:
        return any(leaf.trace.origin in origins for leaf in self.carrying if leaf.argument.kind in kinds)

    def any_not_from(self, origins: frozenset[Origin], *kinds: Kind) -> bool:
        return any(leaf.trace.origin not in origins for leaf in self.carrying if leaf.argument.kind in kinds)


def _target(call: _Call) -> bool:
    """A hard write goes only where somebody said; a soft one also to members of a directory of the house.

    What is only fetched may also be what a member of the house links to whom the request names.
    """
    known = SAID if call.hard else KNOWN
    return any(leaf.trace.origin not in known and not call.linked(leaf) for leaf in call.of(Kind.TARGET))


def _reference(call: _Call) -> bool:
    return call.any_not_from(KNOWN, Kind.REF)


def _sibling(call: _Call) -> bool:
    if not call.evidence.third_read:
        return False
    return any(
        leaf.trace.origin is Origin.RECORD and call.evidence.names_another(leaf.value, leaf.argument)
        for leaf in call.of(Kind.REF)
    )


def _steered(call: _Call) -> bool:
    """Whoever wrote that text may have told the agent which record to choose, in words that name none."""
    if not (call.hard and call.evidence.third_read):
        return False
    return any(leaf.trace.origin is Origin.RECORD and not call.asked_for(leaf) for leaf in call.of(Kind.REF))


def _foreign(call: _Call) -> bool:
    """A write in which nothing is from the request or the records is somebody else's, or the agent's own idea.

    Handing over to a person is part of every request, and may be that.
    """
    return (
        call.tool.is_write
        and not (call.always and not call.hard)
        and call.evidence.third_read
        and bool(call.leaves)
        and all(leaf.trace.origin in _NOT_OURS for leaf in call.leaves)
    )


def _amount(call: _Call) -> bool:
    """A limit ("up to 100") is no order to pay that much."""
    return any(
        leaf.trace.origin in _NOT_OURS
        or (leaf.trace.origin is Origin.REQUEST and call.evidence.only_a_bound(leaf.value))
        for leaf in call.of(Kind.AMOUNT)
    )


def _secret(call: _Call) -> bool:
    return call.any_not_from(SAID, Kind.SECRET)


def _code(call: _Call) -> bool:
    return call.any_not_from(SAID, Kind.CODE, Kind.ROLE)


def _value(call: _Call) -> bool:
    """An invented value asks like an untrusted one, or a paraphrase would evade the match.

    A soft write may pick a time by itself, a hard one when the request says to whom or what, but not when.
    """
    if call.any_from(_NOT_OURS, Kind.VALUE):
        return True
    if not call.hard:
        return call.any_from(_OTHERS, Kind.WHEN)
    settled = not call.evidence.says_when and all(map(call.asked_for, call.of(Kind.TARGET, Kind.REF)))
    return call.any_from(_OTHERS if settled else _NOT_OURS, Kind.WHEN)


def _parts(call: _Call) -> bool:
    """A text that is known as a whole holds nothing new."""
    texts = (
        leaf.value
        for leaf in call.of(Kind.TEXT, Kind.LABEL)
        if leaf.trace.origin not in KNOWN and isinstance(leaf.value, str)
    )
    return any(part.trace.origin not in KNOWN for text in texts for part in call.evidence.parts(text))


def _leaks(call: _Call) -> bool:
    """To the subject of the request nothing leaks: it is their own data."""
    if not call.outside:
        return False
    texts = (leaf for leaf in call.of(*_CARRIERS, Kind.TARGET) if isinstance(leaf.value, str))
    return any(leaf.trace.origin not in SAID and call.evidence.private_in(leaf.value) for leaf in texts)


def _composed(call: _Call) -> bool:
    return call.hard and call.evidence.third_read and call.any_not_from(SAID, Kind.TEXT)


def _exit(call: _Call) -> bool:
    """A call carries out nothing of what was read when all that it holds was said, or goes there as a whole member.

    Times and amounts are too little to hide anything in, and rows of their own look at them.
    """
    evidence = call.evidence
    if not (call.outside and evidence.private_read and evidence.third_read):
        return False
    if not all(leaf.trace.origin in KNOWN or call.linked(leaf) for leaf in call.of(Kind.TARGET)):
        return True
    if not all(map(call.asked_for, call.of(Kind.REF))):
        return True
    return any(leaf.trace.origin not in SAID and not isinstance(leaf.value, bool) for leaf in call.of(*_CARRIERS))


_BROKEN: Mapping[str, Callable[[_Call], bool]] = {
    "target": _target,
    "reference": _reference,
    "sibling": _sibling,
    "steered": _steered,
    "foreign": _foreign,
    "amount": _amount,
    "secret": _secret,
    "code": _code,
    "value": _value,
    "parts": _parts,
    "leaks": _leaks,
    "composed": _composed,
    "exit": _exit,
}
