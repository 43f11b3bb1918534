"""Whether a number follows from others by one step of arithmetic (pure).

Only steps that a request may ask for: a sum or a difference of two, the sum of all, a product by a whole number that
was said, a share in per cent that was said, an equal part. The work is bounded by MOST_NUMBERS.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal

MOST_NUMBERS = 64
"""How many numbers of the request and the records are combined."""

_MOST_FACTOR = 31
_MOST_FACTORS = 16
_CENT = Decimal("0.01")


def computed(
    wanted: Decimal, numbers: Sequence[Decimal], *, factors: Iterable[Decimal], shares: Iterable[Decimal]
) -> str | None:
    """Return in words how ``wanted`` follows from ``numbers``, or None.

    ``factors`` are the whole numbers and ``shares`` the percentages that were said.
    """
    some = numbers[:MOST_NUMBERS]
    whole = [factor for factor in factors if 2 <= factor <= _MOST_FACTOR and _is_whole(factor)][:_MOST_FACTORS]
    return _sum(wanted, some) or _product(wanted, some, whole) or _share(wanted, some, list(shares)[:_MOST_FACTORS])


def _sum(wanted: Decimal, numbers: Sequence[Decimal]) -> str | None:
    known = Counter(numbers)
    for number in known:
        rest = wanted - number
        if number and known[rest] > (rest == number):
            return "sum"
        if wanted and known[number + wanted]:
            return "difference"
    return "sum of all" if len(numbers) > 2 and wanted == sum(numbers) else None


def _product(wanted: Decimal, numbers: Sequence[Decimal], factors: Sequence[Decimal]) -> str | None:
    for number in numbers:
        for factor in factors:
            if factor == number:
                continue
            if wanted == number * factor:
                return "product"
            if wanted == _rounded(number / factor, number):
                return "equal part"
    return None


def _share(wanted: Decimal, numbers: Sequence[Decimal], shares: Sequence[Decimal]) -> str | None:
    for share in shares:
        for number in numbers:
            part = _rounded(number * share / 100, number)
            if wanted in (part, number + part, number - part):
                return "per cent"
    return None


def _rounded(result: Decimal, number: Decimal) -> Decimal:
    """Round to the cent; what is made of a large whole number, which may be in cents itself, to the whole."""
    step = Decimal(1) if abs(number) >= 100 and _is_whole(number) and not _is_cent(result) else _CENT
    return result.quantize(step, ROUND_HALF_UP)


def _is_whole(number: Decimal) -> bool:
    return number == number.to_integral_value()


def _is_cent(number: Decimal) -> bool:
    return _is_whole(number * 100)
