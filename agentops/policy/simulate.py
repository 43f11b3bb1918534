"""Decisions of the past, made anew under other rules (pure).

``simulate`` takes what the ledger keeps of each proposal and the rules to try, and counts: what ran, was asked or
refused then, and what would be now; how much money that is; what people decided about those that were asked; and what
was undone later. A rule about a fact that nobody recorded then counts as asking, and is told apart: it never allows.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from agentops.policy.engine import STRENGTH, Verdict, decide
from agentops.policy.rules import Effect, Rule
from agentops.policy.ruleset import PREFIX, TenantRules

MOST_EXAMPLES = 5
"""Examples kept of each cell of the matrix that changes something."""


class Outcome(StrEnum):
    """What became of a proposal with the person who was asked; empty when nobody was."""

    NONE = ""
    APPROVED = "approved"
    REJECTED = "rejected"
    EXPIRED = "expired"
    OPEN = "open"


WAYS: Mapping[Effect, str] = {Effect.ALLOW: "ran", Effect.ASK: "asked", Effect.FORBID: "refused"}
"""What an effect means for a call, in a word."""


@dataclass(frozen=True, slots=True)
class Record:
    """One proposal as it is on record.

    ``place`` is the session's id and the position of the event; ``effect`` and ``reasons`` ([rule, effect, words]) are
    what was decided then; ``undone``: the call was taken back later.
    """

    place: tuple[str, int]
    invocation: str
    version: str
    tool: str
    facts: Mapping[str, Any]
    effect: Effect
    reasons: tuple[tuple[str, Effect, str], ...]
    outcome: Outcome = Outcome.NONE
    undone: bool = False


@dataclass
class Cell:
    """Proposals that were decided one way and would now be decided another, or the same.

    ``money`` is in minor units by currency; ``not_recorded`` are those where a rule lacks a fact; ``outcomes`` what
    people decided then; ``undone`` those that were taken back later.
    """

    count: int = 0
    money: Counter[str] = field(default_factory=Counter)
    not_recorded: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    undone: int = 0
    examples: list[tuple[str, int, str]] = field(default_factory=list)


@dataclass
class RuleCount:
    """How often a rule fired, how often where it had not then, and how often it could not say for want of a fact."""

    fired: int = 0
    new: int = 0
    not_recorded: int = 0


Matrix = dict[tuple[Effect, Effect], Cell]


@dataclass
class Summary:
    """What came of it. ``matrix`` and the matrix of each tool are keyed by (then, now)."""

    total: int = 0
    matrix: Matrix = field(default_factory=dict)
    tools: dict[str, Matrix] = field(default_factory=dict)
    rules: dict[str, RuleCount] = field(default_factory=dict)

    @property
    def changed(self) -> int:
        """How many would be decided another way."""
        return sum(cell.count for (then, now), cell in self.matrix.items() if then is not now)

    def cell(self, then: Effect, now: Effect) -> Cell:
        """Return a cell of the matrix, an empty one where nothing was counted."""
        return self.matrix.get((then, now), Cell())

    def as_json(self) -> dict[str, Any]:
        """Return the summary as canonical JSON, cells named ``ran>asked``."""
        return {
            "total": self.total,
            "changed": self.changed,
            "matrix": _matrix_json(self.matrix),
            "tools": {tool: _matrix_json(matrix) for tool, matrix in sorted(self.tools.items())},
            "rules": {
                rule: {"fired": found.fired, "new": found.new, "not_recorded": found.not_recorded}
                for rule, found in sorted(self.rules.items())
            },
        }


RulesOf = Callable[[Record], Iterable[Rule]]


def simulate(records: Iterable[Record], rules_of: RulesOf) -> Summary:
    """Decide each record anew under the rules that ``rules_of`` gives for it. Memory does not grow with the records."""
    summary = Summary()
    for record in records:
        verdict = decide(record.facts, rules_of(record), not_recorded=Effect.ASK)
        _count(summary, record, verdict)
    return summary


def exchanged(tenant: TenantRules) -> RulesOf:
    """Return rules that leave everything as it was decided then, with ``tenant`` instead of the tenant's own."""
    cache: dict[tuple[Any, ...], tuple[Rule, ...]] = {}
    others = fired_then(lambda rule: not rule.startswith(PREFIX))

    def rules_of(record: Record) -> Iterable[Rule]:
        yield from others(record)
        yield from _cached(cache, record, tenant)

    return rules_of


def fired_then(wanted: Callable[[str], bool]) -> RulesOf:
    """Return the rules that fired then and whose id is ``wanted``, to fire again.

    They need no facts for it, so a record that is older than most facts is decided by as much as was known.
    """
    known: dict[tuple[str, Effect, str], Rule] = {}

    def rules_of(record: Record) -> Iterable[Rule]:
        for reason in record.reasons:
            if not wanted(reason[0]):
                continue
            rule = known.get(reason)
            if rule is None:
                rule = Rule(*reason)
                # Words may carry values of the call; what is remembered stays bounded.
                if len(known) < 5_000:
                    known[reason] = rule
            yield rule

    return rules_of


def _cached(cache: dict[tuple[Any, ...], tuple[Rule, ...]], record: Record, tenant: TenantRules) -> tuple[Rule, ...]:
    tool = record.facts.get("tool", {})
    key = (record.tool, tool.get("version"), tool.get("tier"), tool.get("data_class"), tool.get("capability"))
    found = cache.get(key)
    if found is None:
        found = cache[key] = tenant.rules_for({**tool, "name": record.tool})
    return found


def _count(summary: Summary, record: Record, verdict: Verdict) -> None:
    now = verdict.effect
    cells = [
        matrix.setdefault((record.effect, now), Cell())
        for matrix in (summary.matrix, summary.tools.setdefault(record.tool, {}))
    ]
    # A fact that is missing matters where it decides: behind a rule that forbids nobody needs it.
    guessed = any(not reason.recorded and STRENGTH[reason.effect] == STRENGTH[now] for reason in verdict.reasons)
    money = record.facts.get("money", {})
    summary.total += 1
    for cell in cells:
        cell.count += 1
        cell.not_recorded += guessed
        cell.undone += record.undone
        if money.get("present"):
            cell.money[money["currency"]] += money["minor"]
        if record.outcome:
            cell.outcomes[record.outcome.value] += 1
    if record.effect is not now and len(cells[0].examples) < MOST_EXAMPLES:
        cells[0].examples.append((*record.place, record.invocation))
    then = {rule for rule, _, _ in record.reasons}
    for reason in verdict.reasons:
        found = summary.rules.setdefault(reason.rule, RuleCount())
        found.fired += reason.recorded
        found.new += reason.recorded and reason.rule not in then
        found.not_recorded += not reason.recorded


def _matrix_json(matrix: Matrix) -> dict[str, Any]:
    return {
        f"{WAYS[then]}>{WAYS[now]}": {
            "count": cell.count,
            "money": dict(sorted(cell.money.items())),
            "not_recorded": cell.not_recorded,
            "outcomes": dict(sorted(cell.outcomes.items())),
            "undone": cell.undone,
            "examples": [list(example) for example in cell.examples],
        }
        for (then, now), cell in sorted(matrix.items())
    }
