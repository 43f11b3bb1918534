"""Amounts of money in a text (pure)."""

import re

from agentops.kernel.money import BadMoney, Money
from agentops.registry.offline.looking import Unclear

_SIGNS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY"}
_AMOUNT = re.compile(
    r"(?P<sign>[$€£¥])\s?(?P<signed>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)(?:\s?(?P<k>k)\b)?"
    r"|(?P<plain>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)\s?(?P<word>dollars?|usd|bucks|euros?|eur|pounds?|gbp|yen|jpy)\b",
    re.IGNORECASE,
)
_WORDS = {"d": "USD", "u": "USD", "b": "USD", "e": "EUR", "p": "GBP", "g": "GBP", "y": "JPY", "j": "JPY"}


def amounts_in(text: str) -> tuple[Money, ...]:
    """Return the amounts of money in ``text``, each once. One finer than its currency's smallest unit is left out."""
    found: list[Money] = []
    for match in _AMOUNT.finditer(text):
        currency = _SIGNS[match["sign"]] if match["sign"] else _WORDS[match["word"][0].lower()]
        digits = (match["signed"] or match["plain"]).replace(",", "")
        try:
            money = Money.parse(digits, currency)
        except BadMoney:
            continue
        found.append(Money(money.minor * (1000 if match["k"] else 1), currency))
    return tuple(dict.fromkeys(found))


def one_amount(*texts: str) -> Money | None:
    """Return the amount in the first of the texts that names one, None when none does. Raises Unclear for several."""
    for text in texts:
        amounts = amounts_in(text)
        if len(amounts) > 1:
            raise Unclear("several amounts are named and it is not clear which is asked for")
        if amounts:
            return amounts[0]
    return None
