"""What somebody types before something irreversible is approved: a fact that differs from request to request (pure).

A word such as "yes" would be typed without reading. The amount, the target or the number of records cannot be.
"""

import re
import unicodedata
from dataclasses import dataclass
from typing import Any, Protocol

from agentops.kernel.money import BadMoney, Money

_NUMBER = re.compile(r"\d{1,15}(\.\d{1,4})?|\d{1,3}(,\d{3}){1,4}(\.\d{1,4})?", re.ASCII)


class Asked(Protocol):
    """What is needed of a request."""

    money_minor: Any
    money_currency: Any
    target: Any
    preview: Any

    @property
    def code(self) -> str:
        """Its short name."""


@dataclass(frozen=True)
class Fact:
    """What is asked for, and what must be typed. ``currency`` is empty unless it is an amount."""

    label: str
    expected: str
    currency: str = ""

    def is_said_by(self, typed: str) -> bool:
        """Return whether ``typed`` says the fact. Case, spacing and thousands separators do not matter."""
        if not self.currency:
            return bool(self.expected) and _plain(typed) == _plain(self.expected)
        said, asked = _amount(typed, self.currency), _amount(self.expected, self.currency)
        return said is not None and said == asked


def fact_of(request: Asked) -> Fact:
    """Return the fact that approving this request takes: its amount, or its target, or how many records it changes."""
    if request.money_minor is not None:
        money = Money(request.money_minor, request.money_currency)
        return Fact("the amount with its currency", f"{money.decimal} {money.currency}", money.currency)
    target = request.target.partition(":")[2] or request.target
    if _plain(target) and target.isascii() and target.isprintable():
        return Fact("the target", target)
    # A target that nobody can type, or none: then the number, with the request's own short name.
    count = len(request.preview.get("versions", {}))
    return Fact("the number of records and the request's name", f"{count} {request.code}")


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _amount(text: str, currency: str) -> Money | None:
    """Return the amount that a text says in this currency, None when it says none or another one.

    A comma only separates thousands, and after the point stand no more digits than the currency has: half of the world
    would read ``1,50`` and ``1.000`` in another way than the other half.
    """
    said = _plain(text).upper().replace(" ", "")
    code = currency.upper()
    if said.startswith(code):
        said = said.removeprefix(code)
    elif said.endswith(code):
        said = said.removesuffix(code)
    else:
        return None
    if not _NUMBER.fullmatch(said):
        return None
    try:
        return Money.parse(said.replace(",", ""), currency)
    except BadMoney:
        return None
