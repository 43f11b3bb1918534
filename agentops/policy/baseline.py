"""The rules that hold for every agent (pure): what the dial means, and what always needs a person.

A rule ``flow.<row>`` asks when the row of that name in ``policy.flow`` does not hold.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from agentops.policy.flow import ROWS
from agentops.policy.rules import Condition, Effect, Rule
from agentops.policy.vocabulary import VOCABULARY
from agentops.registry.tool import Dial

VERSION = "base-4"


def _is(fact: str, value: object) -> Condition:
    return Condition(fact, "=", value)


RATE_FORBID = "rate.forbid"
"""The rule whose refusal tells when there is room again."""

_GRANTED = _is("grant.present", True)
_WRITE = _is("tool.write", True)


def _dial(dial: Dial, effect: Effect, words: str) -> Rule:
    return Rule(f"dial.{dial.value}", effect, words, (_GRANTED, _WRITE, _is("grant.dial", dial.value)))


BASELINE: tuple[Rule, ...] = (
    Rule("grant.missing", Effect.FORBID, "The agent was not given this tool.", (_is("grant.present", False),)),
    Rule("tool.frozen", Effect.FORBID, "An operator has frozen this tool.", (_is("tool.frozen", True),)),
    Rule(
        "scope.not_elevated",
        Effect.FORBID,
        "This needs a scope that nobody has given to this session.",
        (_is("tool.elevated", False),),
    ),
    Rule("read", Effect.ALLOW, "Reading changes nothing.", (_GRANTED, _is("tool.write", False))),
    _dial(Dial.OBSERVE, Effect.FORBID, "The agent may only observe with this tool."),
    _dial(Dial.SUGGEST, Effect.FORBID, "The agent may only suggest this; nothing runs."),
    _dial(Dial.ASK, Effect.ASK, "Every use of this tool needs a person."),
    _dial(Dial.BOUNDED, Effect.ALLOW, "Within the limits set for this tool."),
    _dial(Dial.AUTONOMOUS, Effect.ALLOW, "The agent may use this tool by itself."),
    Rule(
        "bounded.without_limits",
        Effect.ASK,
        "No limit is set that covers this call.",
        (
            _GRANTED,
            _is("tool.tier", "write-hard"),
            _is("grant.dial", Dial.BOUNDED.value),
            _is("grant.bounded_here", False),
        ),
    ),
    Rule("irreversible", Effect.ASK, "This cannot be undone.", (_WRITE, _is("tool.irreversible", True))),
    Rule("destructive", Effect.ASK, "This destroys something.", (_WRITE, _is("tool.destructive", True))),
    Rule(
        "no_self_benefit",
        Effect.ASK,
        "Whoever asked for this has the customer's own mailbox, so it takes somebody else.",
        (_WRITE, _is("money.present", True), _is("people.requester_benefits", True)),
    ),
    Rule(RATE_FORBID, Effect.FORBID, "A limit on how often this may be done is reached.", (_is("rate.forbid", True),)),
    Rule("rate.ask", Effect.ASK, "A limit on how often this may be done is reached.", (_is("rate.ask", True),)),
    *(Rule(f"flow.{row}", Effect.ASK, words, (_is(f"flow.{row}", True),)) for row, words in ROWS.items()),
)


@dataclass(frozen=True)
class Limit:
    """A threshold as a value: see ``registry.role.ThresholdDefault`` for units and ``agents.models.Threshold``."""

    fact: str
    op: str
    value: int
    currency: str
    effect: str
    words: str


def threshold_rules(tool: str, rows: Iterable[Limit]) -> tuple[Rule, ...]:
    """Return the rules that a grant's thresholds stand for.

    A limit on money applies in its currency only. A measure that nobody knows is beyond its limit, as it is for a rule.
    """
    rules = []
    for number, row in enumerate(rows, start=1):
        guard: tuple[Condition, ...] = ()
        if row.fact.startswith("money."):
            guard = (_is("money.present", True), _is("money.currency", row.currency))
        unknown = VOCABULARY[row.fact].unknown if row.fact.startswith("measures.") and row.fact in VOCABULARY else None
        limit = Condition(row.fact, row.op, row.value, unknown)
        rules.append(Rule(f"threshold.{tool}.{number}", Effect(row.effect), row.words, (*guard, limit)))
    return tuple(rules)


def covers(rows: Iterable[Limit], *, currency: str | None) -> bool:
    """Return whether a threshold bounds this call: one on money in its currency, or any when it moves none."""
    return any(currency is None or (row.fact.startswith("money.") and row.currency == currency) for row in rows)
