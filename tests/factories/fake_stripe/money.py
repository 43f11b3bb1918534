"""Amounts, whole numbers in a currency's smallest unit: https://docs.stripe.com/currencies."""

from fractions import Fraction

from tests.factories.fake_stripe.errors import invalid

ZERO_DECIMAL = frozenset("bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf".split())  # noqa: SIM905
THREE_DECIMAL = frozenset(["bhd", "jod", "kwd", "omr", "tnd"])
TWO_DECIMAL = frozenset(
    "aud brl cad chf dkk eur gbp hkd huf inr isk mxn nok nzd pln sek sgd twd ugx usd".split()  # noqa: SIM905
)
LEAST = {"usd": 50, "eur": 50, "gbp": 30, "jpy": 50, "cad": 50, "aud": 50, "chf": 50, "mxn": 1000, "krw": 100}
MOST = 99_999_999


def currency(code: str, param: str = "currency") -> str:
    """Return a currency that is known, in lower case. Raises ApiError."""
    low = code.lower()
    if low not in ZERO_DECIMAL | THREE_DECIMAL | TWO_DECIMAL:
        raise invalid(f"Invalid currency: {low}.", param)
    return low


def shown(amount: int, code: str) -> str:
    """Return an amount as an error says it, for example ``$12.00`` or ``¥1200``."""
    sign = {"usd": "$", "eur": "€", "gbp": "£", "jpy": "¥"}.get(code, code.upper() + " ")
    if code in ZERO_DECIMAL:
        return f"{sign}{amount:,}"
    digits = 3 if code in THREE_DECIMAL else 2
    whole, rest = divmod(abs(amount), 10**digits)
    return f"{'-' if amount < 0 else ''}{sign}{whole:,}.{rest:0{digits}}"


def require_chargeable(amount: int, code: str) -> None:
    """Raise ApiError for an amount that no card is charged with."""
    if amount < LEAST.get(code, 1):
        least = shown(LEAST.get(code, 1), code)
        raise invalid(f"Amount must be at least {least} {code}", "amount", "amount_too_small")
    if amount > MOST:
        raise invalid(f"Amount must be no more than {shown(MOST, code)}", "amount", "amount_too_large")
    if code in THREE_DECIMAL and amount % 10:
        raise invalid(f"Amounts in {code} must be divisible by 10", "amount", "invalid_charge_amount")


def rounded(value: Fraction) -> int:
    """Return the nearest whole unit, half away from zero."""
    whole = int(abs(value) + Fraction(1, 2))
    return -whole if value < 0 else whole
