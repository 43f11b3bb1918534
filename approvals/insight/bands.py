"""Amounts of about the same size (pure): steps of 1, 5, 10, 50, 100 and so on, in whole units of the currency."""

from babel.numbers import get_currency_precision

from agentops.kernel.money import Money


def band_of(minor: int, currency: str) -> tuple[int, int]:
    """Return the band of an amount, in minor units: from the first, less than the second."""
    unit = 10 ** get_currency_precision(currency)
    low, high, factor = 0, 10 * unit, 5
    while abs(minor) >= high:
        low, high, factor = high, high * factor, 7 - factor
    return low, high


def band_words(band: tuple[int, int], currency: str) -> str:
    """Return a band in words: "under $10.00", "$10.00 to $50.00"."""
    low, high = (str(Money(minor, currency)) for minor in band)
    return f"under {high}" if band[0] == 0 else f"{low} to {high}"
