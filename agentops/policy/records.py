"""Whole values of the house's own records, and where each was read (pure)."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from agentops.policy.addresses import MOST_TEXT, address_of, addresses_in
from agentops.policy.forms import lowered, plain, unquoted
from agentops.policy.moments import Moments, moment_of
from agentops.policy.numbers import number_of
from agentops.policy.traces import Where
from agentops.registry.flow import Argument, Kind

Key = str | Decimal | tuple[str, str]

_ANY = frozenset({Kind.VALUE, Kind.LABEL, Kind.REF, Kind.WHEN, Kind.AMOUNT, Kind.TEXT})
_FITS: dict[Kind, frozenset[Kind]] = {
    Kind.TARGET: frozenset({Kind.TARGET, Kind.REF}),
    Kind.REF: frozenset({Kind.REF, Kind.TARGET}),
    Kind.AMOUNT: frozenset({Kind.AMOUNT, Kind.VALUE}),
    Kind.SECRET: frozenset({Kind.SECRET}),
    Kind.CODE: frozenset({Kind.CODE}),
    Kind.ROLE: frozenset({Kind.ROLE}),
    Kind.WHEN: frozenset({Kind.WHEN}),
    Kind.VALUE: _ANY,
    Kind.LABEL: _ANY | {Kind.ROLE},
    Kind.TEXT: _ANY | {Kind.TARGET},
}
"""Which kinds of fields may supply which kinds of arguments."""

_EXACT = frozenset({Kind.SECRET, Kind.CODE})
_NAMES = frozenset({Kind.TARGET, Kind.REF})
_OWN_WAY = _EXACT | _NAMES | {Kind.AMOUNT}
"""Kinds whose values are compared in a way of their own; all others are compared in one way."""


def key_of(value: Any, kind: Kind) -> Key | None:
    """Return what two values of a kind have in common when they are the same one; None when it can be none of them."""
    if isinstance(value, bool):
        return None if kind in (Kind.AMOUNT, Kind.TARGET) else str(value).lower()
    if kind is Kind.AMOUNT:
        return number_of(value)
    if kind is Kind.REF:
        return lowered(unquoted(value) if isinstance(value, str) else str(value))
    if kind is Kind.TARGET:
        text = unquoted(str(value))
        address = address_of(text)
        return lowered(text) if address is None else (address.kind, address.key)
    if kind in _EXACT:
        return str(value).strip()
    return number_of(value) if isinstance(value, int | float) else plain(unquoted(value))


class _Set:
    """The values of one set. They are given keys when one of them is first looked for."""

    __slots__ = ("_keys", "_kind", "_waiting")

    def __init__(self, kind: Kind) -> None:
        self._kind = kind
        self._keys: dict[Key, Where] = {}
        self._waiting: list[tuple[Any, Where]] = []

    def add(self, value: Any, where: Where) -> None:
        self._waiting.append((value, where))

    @property
    def keys(self) -> dict[Key, Where]:
        """Where each value was read first."""
        if self._waiting:
            for value, where in self._waiting:
                key = key_of(value, self._kind)
                if key is not None:
                    self._keys.setdefault(key, where)
            self._waiting.clear()
        return self._keys


class Records:
    """An index over the leaves of OWN and HOUSE fields, by kind and set."""

    def __init__(self) -> None:
        self._sets: dict[tuple[Kind, str], _Set] = {}
        self._fitting: dict[tuple[Kind, str], list[tuple[Kind, _Set]]] = {}
        self._moments: list[tuple[Moments, Where]] = []
        self._house: list[tuple[str, Where]] = []
        self._written: dict[tuple[str, str], Where] = {}

    def add(self, value: Any, kind: Kind, of: str, where: Where) -> None:
        """Note one leaf. The first place where a value was read stays its place."""
        known = self._sets.get((kind, of))
        if known is None:
            known = self._sets[kind, of] = _Set(kind)
            self._fitting.clear()
        known.add(value, where)
        if kind is Kind.WHEN and isinstance(value, str) and (moment := moment_of(value)) is not None:
            self._moments.append((moment, where))

    def house(self, text: str, where: Where) -> None:
        """Note a text of the house's own: the addresses in it are the house's word. Its first MOST_TEXT characters."""
        self._house.append((text[:MOST_TEXT], where))

    def find(self, value: Any, argument: Argument) -> Where | None:
        """Return where a record has exactly ``value`` in a field that may supply ``argument``."""
        known = argument.kind, argument.of
        fitting = self._fitting.get(known)
        if fitting is None:
            fitting = self._fitting[known] = [
                (kind, found) for (kind, of), found in self._sets.items() if _fits(kind, of, argument)
            ]
        written: dict[Kind | None, Key | None] = {}
        for kind, found in fitting:
            way = kind if kind in _OWN_WAY else None
            if way not in written:
                written[way] = _looked_up(value, kind)
            key = written[way]
            if key is not None and (where := found.keys.get(key)) is not None:
                return where
        return None

    def part(self, key: tuple[str, str], text: str) -> Where | None:
        """Return where a record has this address or number as a whole leaf, or where a text of the house has it."""
        for (kind, _), found in self._sets.items():
            keys = found.keys
            where = keys.get(key) or keys.get(lowered(text) if kind is Kind.REF else plain(text))
            if where is None and key[0] == "number":
                where = keys.get(key[1]) or keys.get(Decimal(key[1]))
            if where is not None:
                return where
        for written, where in self._house:
            for address in addresses_in(written):
                self._written.setdefault((address.kind, address.key), where)
        self._house.clear()
        return self._written.get(key)

    def members(self, of: str) -> Iterator[str]:
        """Yield every member of the set ``of`` that was read, in the form in which it is compared."""
        for kind in _NAMES:
            if (kind, of) in self._sets:
                yield from (key[1] if isinstance(key, tuple) else str(key) for key in self._sets[kind, of].keys)

    def numbers(self, most: int) -> list[Decimal]:
        """Return up to ``most`` amounts and numbers, the amounts first."""
        found: list[Decimal] = []
        for wanted in (Kind.AMOUNT, Kind.VALUE):
            for (kind, _), known in self._sets.items():
                if kind is wanted:
                    found += [key for key in known.keys if isinstance(key, Decimal)]
        return found[:most]

    def moments(self) -> list[tuple[Moments, Where]]:
        """Return the moments of the records' dates."""
        return self._moments


def _looked_up(value: Any, kind: Kind) -> Key | None:
    """A text that is a number is looked up as that number where the record has numbers."""
    key = key_of(value, kind)
    if kind not in _NAMES and kind not in _EXACT and isinstance(key, str) and (number := number_of(value)) is not None:
        return number
    return key


def _fits(kind: Kind, of: str, argument: Argument) -> bool:
    if kind not in _FITS[argument.kind]:
        return False
    if argument.kind is Kind.REF:
        # A member of another set is something else, even if it has the same number.
        return of == argument.of and (kind is Kind.REF or bool(of))
    if argument.kind is Kind.TARGET:
        return of == argument.of and bool(of) if kind is Kind.REF else not of or not argument.of or of == argument.of
    return True
