"""How risky one proposal is, 0 to 100, and what the number is made of (pure).

The score is the sum of the contributions below, at least 0 and at most 100. Each contribution looks at one fact, or
at a few that belong together, and picks one factor. A fact that is missing or of another type counts as its worst, so
making any one fact worse, or taking it away, never lowers the score. ``docs/design/risk.md`` is the table of it.

Changing a factor changes what old scores mean: raise RISK_VERSION with it.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any

from babel.numbers import get_currency_precision

from agentops.policy.facts import NOT_KNOWN
from agentops.policy.flow import ROWS, SAID
from agentops.registry.flow import Sends
from agentops.registry.tool import DataClass, Tier

RISK_VERSION = "risk-1"

MOST = 100


class Level(StrEnum):
    """The score in a word."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


MEDIUM_FROM = 35
HIGH_FROM = 65


def level_of(score: int | None) -> Level:
    """Return the level of a score. What was not scored (None) counts as high."""
    if score is None or score >= HIGH_FROM:
        return Level.HIGH
    return Level.MEDIUM if score >= MEDIUM_FROM else Level.LOW


@dataclass(frozen=True)
class Factor:
    """One part of a score: its contribution, the points it adds (or takes away), and why, for a person."""

    name: str
    points: int
    words: str

    @cached_property
    def as_json(self) -> list[Any]:
        """The factor as canonical JSON."""
        return [self.name, self.points, self.words]


@dataclass(frozen=True)
class Risk:
    """The score of one proposal and the factors that it is the sum of, the heaviest first."""

    score: int
    factors: tuple[Factor, ...]
    version: str = RISK_VERSION

    def as_facts(self) -> dict[str, Any]:
        """Return the facts under ``risk``."""
        return {
            "score": self.score,
            "version": self.version,
            "factors": [factor.as_json for factor in self.factors],
        }


def risk_of(facts: Mapping[str, Any]) -> Risk:
    """Return the risk of the proposal with these facts (``policy.facts``). Never raises: unreadable is high."""
    factors = []
    for contribution in CONTRIBUTIONS:
        try:
            factor = contribution.of(facts)
        except _UNREADABLE:
            factor = contribution.worst
        if factor is not None:
            factors.append(factor)
    factors += _rows(facts)
    factors.sort(key=_lightest)
    score = sum([factor.points for factor in factors])
    return Risk(max(0, min(MOST, score)), tuple(factors))


_UNREADABLE = (KeyError, IndexError, TypeError, ValueError)


def _lightest(factor: Factor) -> int:
    return -factor.points


@dataclass(frozen=True)
class Contribution:
    """One kind of reason.

    ``of`` picks one of ``factors``, None when there is nothing to add. When it cannot read the facts it raises, and
    ``worst`` counts.
    """

    of: Callable[[Mapping[str, Any]], Factor | None]
    factors: tuple[Factor, ...]

    @cached_property
    def worst(self) -> Factor | None:
        """The heaviest factor, None when the contribution only ever lowers the score."""
        heaviest = max(self.factors, key=lambda factor: factor.points)
        return heaviest if heaviest.points > 0 else None


def _whole(fact: Any) -> int:
    """Return the fact if it is a whole number. Raises TypeError."""
    if type(fact) is not int:
        raise TypeError(f"{fact!r} is not a whole number")
    return fact


_TIERS = {
    Tier.READ.value: None,
    Tier.WRITE_SOFT.value: Factor("tier", 15, "It changes something that is easily put right."),
    Tier.WRITE_HARD.value: Factor("tier", 30, "It changes something that counts."),
}


def _tier(facts: Mapping[str, Any]) -> Factor | None:
    return _TIERS[facts["tool"]["tier"]]


_AMOUNT_BOUNDS = (25, 100, 500, 1_000)
_AMOUNTS = (
    Factor("amount", 5, "It moves money, at most 25."),
    Factor("amount", 8, "It moves more than 25."),
    Factor("amount", 12, "It moves more than 100."),
    Factor("amount", 16, "It moves more than 500."),
    Factor("amount", 20, "It moves more than 1,000, or nobody knows how much."),
)


def _amount(facts: Mapping[str, Any]) -> Factor | None:
    """Whole units of the currency. What was moved today for the same target counts too: splitting gains nothing."""
    money = facts["money"]
    if money["present"] is False:
        return None
    minor = max(abs(_whole(money["minor"])), abs(_whole(money["customer_day_minor"])))
    unit = 10 ** get_currency_precision(money["currency"])
    return _AMOUNTS[bisect_left(_AMOUNT_BOUNDS, minor / unit)]


_SMALL = Factor("usual", -5, "It is at most half of what is usual for this tool.")
_UNUSUAL = Factor("usual", 15, "It is more than ten times what is usual for this tool, or nobody knows what is usual.")
_TWICE = Factor("usual", 5, "It is more than twice what is usual for this tool.")
_FIVEFOLD = Factor("usual", 10, "It is more than five times what is usual for this tool.")


def _usual(facts: Mapping[str, Any]) -> Factor | None:
    money = facts["money"]
    if money["present"] is False:
        return None
    amount, usual = abs(_whole(money["minor"])), _whole(money["usual_minor"])
    if usual < 0 or amount > 10 * usual:
        return _UNUSUAL
    if amount > 2 * usual:
        return _FIVEFOLD if amount > 5 * usual else _TWICE
    return _SMALL if 2 * amount <= usual else None


_IRREVERSIBLE = Factor("reversibility", 20, "It cannot be undone.")
_BY_HAND = Factor("reversibility", 5, "Only a person can undo it, by hand.")
_UNDOABLE = Factor("reversibility", -5, "A call takes it back.")


def _reversibility(facts: Mapping[str, Any]) -> Factor | None:
    tool = facts["tool"]
    if tool["tier"] == Tier.READ:
        return None
    if tool["irreversible"] is not False:
        return _IRREVERSIBLE
    return _UNDOABLE if tool.get("undoable") is True else _BY_HAND


_DESTROYS = Factor("destructive", 15, "It destroys something.")


def _destructive(facts: Mapping[str, Any]) -> Factor | None:
    return None if facts["tool"]["destructive"] is False else _DESTROYS


_DATA = {
    DataClass.PUBLIC.value: None,
    DataClass.INTERNAL.value: Factor("data", 2, "It touches internal data."),
    DataClass.PERSONAL.value: Factor("data", 5, "It touches personal data."),
    DataClass.FINANCIAL.value: Factor("data", 8, "It touches financial data."),
}


def _data(facts: Mapping[str, Any]) -> Factor | None:
    return _DATA[facts["tool"]["data_class"]]


_SENDS = {
    Sends.NOWHERE.value: None,
    Sends.SUBJECT.value: Factor("sends", 4, "It tells something to the person whose request this is."),
    Sends.OUTSIDE.value: Factor("sends", 12, "It carries something out of the house."),
}


def _sends(facts: Mapping[str, Any]) -> Factor | None:
    return _SENDS[facts["tool"]["sends"]]


_FIRST = Factor("first_target", 8, "This tool was never used on this target before.")
_KNOWN = Factor("first_target", -3, "This tool was used on this target before.")


def _first_target(facts: Mapping[str, Any]) -> Factor | None:
    if facts["rate"]["first_target"] is not False:
        return _FIRST
    return _KNOWN if facts["target"] and facts["tool"]["tier"] != Tier.READ else None


_OFTEN = Factor("frequency", 15, "It is being used far more often than usual.")


def _frequency(facts: Mapping[str, Any]) -> Factor | None:
    return None if facts["rate"]["unusual"] is False else _OFTEN


_CAPACITY_BOUNDS = (9, 24, 49, 79)
_CAPACITY = (
    None,
    Factor("capacity", 5, "It takes away a tenth of the capacity or more."),
    Factor("capacity", 10, "It takes away a quarter of the capacity or more."),
    Factor("capacity", 15, "It takes away half of the capacity or more."),
    Factor("capacity", 20, "It takes away four fifths of the capacity or more."),
)


def _capacity(facts: Mapping[str, Any]) -> Factor | None:
    return _CAPACITY[bisect_left(_CAPACITY_BOUNDS, _whole(facts["measures"]["capacity_share_pct"]))]


_INCIDENTS = {
    0: Factor("incident", 15, "It belongs to an incident of the highest priority."),
    1: Factor("incident", 10, "It belongs to an incident of priority 1."),
    2: Factor("incident", 5, "It belongs to an incident of priority 2."),
}


def _incident(facts: Mapping[str, Any]) -> Factor | None:
    priority = _whole(facts["measures"]["incident_priority"])
    return _INCIDENTS.get(priority) if priority >= NOT_KNOWN else _INCIDENTS[0]


_FOREIGN = Factor("untrusted", 15, "What it depends on comes from text by others, or from nowhere.")


def _untrusted(facts: Mapping[str, Any]) -> Factor | None:
    return None if facts["flow"]["untrusted"] is False else _FOREIGN


_CHOSEN = Factor("chosen", 10, "The agent chose whom or what it is about after reading text by others.")


def _chosen(facts: Mapping[str, Any]) -> Factor | None:
    return None if facts["flow"]["chosen"] is False else _CHOSEN


_ALL_SAID = Factor("request", -5, "Every value was given in the request, or by somebody of the house.")
_SAID = frozenset(origin.value for origin in SAID)
_ORIGIN_OF_LEAF = 2


def _request(facts: Mapping[str, Any]) -> Factor | None:
    leaves = facts["flow"]["leaves"]
    if not leaves:
        return None
    for leaf in leaves:
        if leaf[_ORIGIN_OF_LEAF] not in _SAID:
            return None
    return _ALL_SAID


_BY_PERSON = Factor("person", -10, "A person of the house proposes it.")


def _person(facts: Mapping[str, Any]) -> Factor | None:
    return _BY_PERSON if facts["session"]["by_person"] is True else None


def _those(*factors: Factor | None) -> tuple[Factor, ...]:
    return tuple(factor for factor in factors if factor is not None)


CONTRIBUTIONS: tuple[Contribution, ...] = (
    Contribution(_tier, _those(*_TIERS.values())),
    Contribution(_amount, _AMOUNTS),
    Contribution(_usual, (_SMALL, _TWICE, _FIVEFOLD, _UNUSUAL)),
    Contribution(_reversibility, (_UNDOABLE, _BY_HAND, _IRREVERSIBLE)),
    Contribution(_destructive, (_DESTROYS,)),
    Contribution(_data, _those(*_DATA.values())),
    Contribution(_sends, _those(*_SENDS.values())),
    Contribution(_first_target, (_KNOWN, _FIRST)),
    Contribution(_frequency, (_OFTEN,)),
    Contribution(_capacity, _those(*_CAPACITY)),
    Contribution(_incident, tuple(_INCIDENTS.values())),
    Contribution(_untrusted, (_FOREIGN,)),
    Contribution(_chosen, (_CHOSEN,)),
    Contribution(_request, (_ALL_SAID,)),
    Contribution(_person, (_BY_PERSON,)),
)

ROW_POINTS: Mapping[str, int] = {
    "unplanned": 20,
    "target": 20,
    "reference": 15,
    "sibling": 10,
    "steered": 15,
    "foreign": 15,
    "amount": 15,
    "secret": 25,
    "code": 25,
    "value": 8,
    "parts": 10,
    "leaks": 25,
    "composed": 8,
    "repeated": 15,
    "exit": 25,
}
"""What each row of ``policy.flow`` adds when it does not hold."""

_NEW_ROW = 15

ROW_FACTORS: tuple[tuple[str, Factor], ...] = tuple(
    (row, Factor(f"flow.{row}", ROW_POINTS.get(row, _NEW_ROW), words)) for row, words in ROWS.items()
)


def _rows(facts: Mapping[str, Any]) -> list[Factor]:
    flow = facts.get("flow")
    if not isinstance(flow, Mapping):
        return [factor for _, factor in ROW_FACTORS]
    return [factor for row, factor in ROW_FACTORS if flow.get(row) is not False]


def table() -> tuple[Factor, ...]:
    """Return every factor there is, as ``docs/design/risk.md`` lists them."""
    return (
        *(factor for contribution in CONTRIBUTIONS for factor in contribution.factors),
        *(factor for _, factor in ROW_FACTORS),
    )
