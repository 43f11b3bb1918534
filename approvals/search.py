"""What a person types into the queue's search box, read into conditions. Pure.

Plain words are looked for in what a row shows; ``tool:``, ``agent:``, ``queue:``, ``tier:``, ``due:``, ``amount:``,
``has:`` and ``claimed:`` restrict one fact each. Whatever cannot be read becomes a note for the person, never an error.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from decimal import Decimal

from agentops.kernel.money import CURRENCIES

MOST_CHARACTERS = 200
MOST_TERMS = 12

_TERM = re.compile(r'([a-z]+):("[^"]*"|\S*)|"([^"]*)"|(\S+)', re.IGNORECASE)
_DUE = re.compile(r"([<>])(\d{1,4})(m|min|h|d)\Z", re.ASCII)
_AMOUNT = re.compile(r"(<=|>=|<|>|=|)(\d{1,12}(?:\.\d{1,4})?)([A-Z]{3})?\Z", re.ASCII)
_UNITS = {"m": timedelta(minutes=1), "min": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}


@dataclass(frozen=True)
class DueLimit:
    """Due sooner than (``<``) or later than (``>``) so long from now."""

    op: str
    span: timedelta


@dataclass(frozen=True)
class AmountLimit:
    """An amount in major units compared by ``op`` (``<``, ``<=``, ``=``, ``>=``, ``>``); "" is any currency."""

    op: str
    value: Decimal
    currency: str


@dataclass(frozen=True)
class Search:
    """Conditions that must all hold. ``notes`` say what could not be read."""

    words: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    tiers: tuple[int, ...] = ()
    due: tuple[DueLimit, ...] = ()
    amounts: tuple[AmountLimit, ...] = ()
    marks: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default=(), compare=False)

    @property
    def restricts(self) -> bool:
        """Whether anything is asked for at all."""
        return self != Search()


def clean(text: str) -> str:
    """Return ``text`` bounded and without NUL, which no database column can be compared with."""
    return text.replace("\x00", "")[:MOST_CHARACTERS].strip()


def read_search(text: str) -> Search:
    """Return the conditions that ``text`` states."""
    search = Search()
    terms = list(_TERM.finditer(clean(text)))
    for term in terms[:MOST_TERMS]:
        name, value, quoted, word = term.groups()
        if name is None:
            plain = quoted if quoted is not None else word
            search = replace(search, words=(*search.words, plain)) if plain else search
        else:
            search = _restrict(search, name.lower(), value.strip('"'))
    if len(terms) > MOST_TERMS:
        search = _note(search, f"Only the first {MOST_TERMS} terms were used.")
    return search


def with_tier(search: Search, value: str) -> Search:
    """Return ``search`` restricted to a tier, given as the drop-down or the search box writes it."""
    return _tier(search, value)


def with_tool(search: Search, value: str) -> Search:
    """Return ``search`` restricted to a tool."""
    return replace(search, tools=(*search.tools, clean(value)))


def _restrict(search: Search, name: str, value: str) -> Search:
    reader = _READERS.get(name)
    if reader is None:
        known = ", ".join(f"{known}:" for known in _READERS)
        return _note(search, f"“{name}:” is not a filter and was left out. Filters are {known}")
    if not value:
        return _note(search, f"“{name}:” has no value and was left out.")
    return reader(search, value)


def _note(search: Search, note: str) -> Search:
    return replace(search, notes=(*search.notes, note))


def _tier(search: Search, value: str) -> Search:
    level = value.removeprefix("T").removeprefix("t")
    if level not in ("1", "2", "3"):
        return _note(search, f"“tier:{value[:20]}” was left out: a tier is 1, 2 or 3.")
    return replace(search, tiers=(*search.tiers, int(level)))


def _due(search: Search, value: str) -> Search:
    found = _DUE.match(value)
    if found is None:
        return _note(search, f"“due:{value[:20]}” was left out: write due:<1h, due:>30m or due:<2d.")
    op, count, unit = found.groups()
    return replace(search, due=(*search.due, DueLimit(op, int(count) * _UNITS[unit])))


def _amount(search: Search, value: str) -> Search:
    found = _AMOUNT.match(value.upper())
    if found is None or (found[3] and found[3] not in CURRENCIES):
        return _note(search, f"“amount:{value[:20]}” was left out: write amount:>500 or amount:<=20.50EUR.")
    limit = AmountLimit(found[1] or "=", Decimal(found[2]), found[3] or "")
    return replace(search, amounts=(*search.amounts, limit))


_MARKS = ("anomaly", "untrusted", "first")
_CLAIMS = ("mine", "none", "others")


def _mark(search: Search, value: str) -> Search:
    mark = value.lower()
    if mark not in _MARKS:
        return _note(search, f"“has:{value[:20]}” was left out: write has:anomaly, has:untrusted or has:first.")
    return replace(search, marks=(*search.marks, mark))


def _claim(search: Search, value: str) -> Search:
    whose = value.lower()
    if whose not in _CLAIMS:
        return _note(search, f"“claimed:{value[:20]}” was left out: write claimed:mine, :none or :others.")
    return replace(search, claims=(*search.claims, whose))


_READERS: dict[str, Callable[[Search, str], Search]] = {
    "tool": with_tool,
    "agent": lambda search, value: replace(search, agents=(*search.agents, value)),
    "queue": lambda search, value: replace(search, queues=(*search.queues, value)),
    "tier": _tier,
    "due": _due,
    "amount": _amount,
    "has": _mark,
    "claimed": _claim,
}
