"""Stripe's smallest units and ours. Pure.

Stripe counts in hundredths, except for the currencies that it lists as having no or three decimals; a currency of
three ends in zero. Ours are the digits that ISO 4217 and CLDR give, so that ISK 5 is 5 here and 500 there.
https://docs.stripe.com/currencies#zero-decimal
"""

from decimal import Decimal

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import BadMoney, Money
from agentops.registry.tool import ToolFailure
from billing_agent.connectors.effect import invalid

NONE = frozenset(
    ["BIF", "CLP", "DJF", "GNF", "JPY", "KMF", "KRW", "MGA", "PYG", "RWF", "VND", "VUV", "XAF", "XOF", "XPF"]
)
THREE = frozenset(["BHD", "JOD", "KWD", "OMR", "TND"])


def to_stripe(money: Money) -> int:
    """Return the amount as Stripe counts it. Raises ToolFailure VALIDATION for one that Stripe cannot hold."""
    scaled = money.decimal.scaleb(_digits(money.currency))
    whole = int(scaled)
    if whole != scaled or (money.currency in THREE and whole % 10):
        raise invalid(f"Stripe holds no amount as fine as {money}.", "amount_minor")
    return whole


def from_stripe(amount: int, currency: str) -> Money:
    """Return what Stripe says in ``currency``, in either case, as money. Raises ToolFailure for what we cannot hold."""
    code = currency.upper()
    try:
        # Without zeros at the end: Stripe gives digits that the currency does not have.
        return Money.parse(f"{Decimal(amount).scaleb(-_digits(code)).normalize():f}", code)
    except BadMoney as error:
        raise ToolFailure(FailureKind.UNKNOWN, f"Stripe's amount cannot be held here: {error.message}.") from None


def minor(amount: int, currency: str) -> int:
    """Return what Stripe says as our minor units. Raises ToolFailure for what we cannot hold."""
    return from_stripe(amount, currency).minor


def _digits(currency: str) -> int:
    if currency in NONE:
        return 0
    return 3 if currency in THREE else 2
