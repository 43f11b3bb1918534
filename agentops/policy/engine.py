"""The decision about one proposal: a pure function of recorded facts.

Forbid beats ask beats allow, no rule that fires denies, a rule that errors denies. It reads no database,
clock or network, so any decision can be explained and repeated later from the ledger.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agentops.policy.rules import Effect, Rule, RuleError


@dataclass(frozen=True)
class Reason:
    """A rule that fired, or could not be evaluated."""

    rule: str
    effect: Effect
    words: str


@dataclass(frozen=True)
class Verdict:
    """The effect and every rule that fired, the deciding ones first."""

    effect: Effect
    reasons: tuple[Reason, ...]

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as canonical JSON for the ledger."""
        return self._as_json

    @cached_property
    def _as_json(self) -> dict[str, Any]:
        return {
            "effect": self.effect.value,
            "reasons": [[reason.rule, reason.effect.value, reason.words] for reason in self.reasons],
        }


_STRENGTH = {Effect.FORBID: 0, Effect.ASK: 1, Effect.ALLOW: 2}
_NOTHING_ALLOWS = Reason("base.default", Effect.FORBID, "No rule allows this.")


def decide(facts: Mapping[str, Any], rules: Iterable[Rule]) -> Verdict:
    """Return the verdict of ``rules`` on ``facts``. Never raises for a bad rule: it denies."""
    reasons = [reason for rule in rules if (reason := _apply(rule, facts)) is not None]
    if not reasons:
        return Verdict(Effect.FORBID, (_NOTHING_ALLOWS,))
    reasons.sort(key=lambda reason: _STRENGTH[reason.effect])
    return Verdict(reasons[0].effect, tuple(reasons))


def _apply(rule: Rule, facts: Mapping[str, Any]) -> Reason | None:
    try:
        fires = rule.fires(facts)
    except RuleError as error:
        return Reason(rule.id, Effect.FORBID, f"A rule could not be evaluated: {error}.")
    return Reason(rule.id, rule.effect, rule.words) if fires else None
