"""The decision about one proposal: a pure function of recorded facts.

Forbid beats ask beats allow, no rule that fires denies, a rule that errors denies. It reads no database,
clock or network, so any decision can be explained and repeated later from the ledger.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from agentops.policy.rules import Effect, NotRecorded, Rule, RuleError


@dataclass(frozen=True)
class Reason:
    """A rule that fired, or could not be evaluated. ``recorded`` is False when a fact that it compares is missing."""

    rule: str
    effect: Effect
    words: str
    recorded: bool = True


@dataclass(frozen=True)
class Verdict:
    """The effect and every rule that fired, the deciding ones first.

    ``people`` is the most that a fired rule wants to agree, ``queue`` who is asked: of the rules that ask for the most
    people the first that names one, empty for the tool's own.
    """

    effect: Effect
    reasons: tuple[Reason, ...]
    queue: str = ""
    people: int = 1

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as canonical JSON for the ledger."""
        return self._as_json

    @cached_property
    def _as_json(self) -> dict[str, Any]:
        return {
            "effect": self.effect.value,
            "reasons": [[reason.rule, reason.effect.value, reason.words] for reason in self.reasons],
            **({"queue": self.queue} if self.queue else {}),
            **({"people": self.people} if self.people > 1 else {}),
        }


STRENGTH = {Effect.FORBID: 0, Effect.ASK: 1, Effect.ALLOW: 2}
"""The place of each effect, the strongest first."""

_NOTHING_ALLOWS = Reason("base.default", Effect.FORBID, "No rule allows this.")


def decide(facts: Mapping[str, Any], rules: Iterable[Rule], *, not_recorded: Effect = Effect.FORBID) -> Verdict:
    """Return the verdict of ``rules`` on ``facts``. Never raises for a bad rule: it denies.

    ``not_recorded`` is what a rule about a missing fact comes to: over facts of the past, to ask, as nobody can say.
    """
    reasons: list[Reason] = []
    asking: list[Rule] = []
    for rule in rules:
        try:
            if not rule.fires(facts):
                continue
        except RuleError as error:
            reasons.append(_broken(rule, error, not_recorded))
            continue
        reasons.append(Reason(rule.id, rule.effect, rule.words))
        if rule.queue or rule.people > 1:
            asking.append(rule)
    if not reasons:
        return Verdict(Effect.FORBID, (_NOTHING_ALLOWS,))
    reasons.sort(key=lambda reason: STRENGTH[reason.effect])
    asking.sort(key=lambda rule: -rule.people)
    queue = next((rule.queue for rule in asking if rule.queue), "")
    return Verdict(reasons[0].effect, tuple(reasons), queue, asking[0].people if asking else 1)


def _broken(rule: Rule, error: RuleError, not_recorded: Effect) -> Reason:
    words = f"A rule could not be evaluated: {error}."
    if isinstance(error, NotRecorded):
        return Reason(rule.id, not_recorded, words, recorded=False)
    return Reason(rule.id, Effect.FORBID, words)
