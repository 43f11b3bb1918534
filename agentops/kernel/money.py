"""Money: an integer of minor units and an ISO 4217 currency. No floats anywhere."""

import re
from dataclasses import dataclass
from decimal import Decimal

from babel.numbers import format_currency, get_currency_precision, list_currencies

from agentops.kernel.errors import AgentOpsError

CURRENCIES = frozenset(list_currencies())
_PLAIN_DECIMAL = re.compile(r"[+-]?\d{1,15}(\.\d+)?\Z", re.ASCII)


class BadMoney(AgentOpsError):
    """An amount or currency that does not exist."""

    code = "BAD_MONEY"
    next_step = "Give a plain decimal amount with no more digits than the currency has, and an ISO currency."


@dataclass(frozen=True, order=False)
class Money:
    """``minor`` is a whole number of minor units (cents), ``currency`` an ISO 4217 code. May be negative.

    Raises BadMoney for an unknown currency or a number that is not an integer.
    """

    minor: int
    currency: str

    def __post_init__(self) -> None:
        if type(self.minor) is not int:
            raise BadMoney("an amount is a whole number of minor units")
        if self.currency not in CURRENCIES:
            raise BadMoney(f"{self.currency[:8]!r} is not a currency")

    @classmethod
    def parse(cls, text: str, currency: str) -> "Money":
        """Read a plain decimal such as ``"12.50"``.

        Raises BadMoney for more digits after the point than the currency has, also when they are zeros: ``1.000`` is
        a thousand to half of the world.
        """
        if currency not in CURRENCIES:
            raise BadMoney(f"{currency[:8]!r} is not a currency")
        if not _PLAIN_DECIMAL.match(text):
            raise BadMoney(f"{text[:40]!r} is not an amount")
        precision = get_currency_precision(currency)
        if len(text.partition(".")[2]) > precision:
            raise BadMoney(f"{text[:40]} {currency} has more digits after the point than the currency")
        return cls(int(Decimal(text).scaleb(precision)), currency)

    @property
    def decimal(self) -> Decimal:
        """The amount in major units, exact."""
        return Decimal(self.minor).scaleb(-get_currency_precision(self.currency))

    def __str__(self) -> str:
        return format_currency(self.decimal, self.currency, locale="en_US")
