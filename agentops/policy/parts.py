"""The addresses, links and long numbers that a text holds, shown or hidden (pure)."""

import re
from collections.abc import Iterator

from agentops.policy.addresses import Address, addresses_in, readings
from agentops.policy.moments import moments_in
from agentops.policy.numbers import Number, numbers_in

_SIX_DIGITS = re.compile(r"\d(?:[ ()./-]{0,2}\d){5}")
_LARGEST_AMOUNT = 10**9


def parts_in(text: str) -> Iterator[Address]:
    """Yield each address of ``text`` once, also those that show only when it is decoded. Dates and amounts are none."""
    seen: set[tuple[str, str]] = set()
    for reading in readings(text):
        for address in addresses_in(reading, _others(reading)):
            key = address.kind, address.key
            if key not in seen:
                seen.add(key)
                yield address


def _others(text: str) -> list[tuple[int, int]]:
    """Return the spans of the dates and amounts of a text; none where nothing could be taken for a long number."""
    if not _SIX_DIGITS.search(text):
        return []
    amounts = [(number.start, number.end) for number in numbers_in(text) if _is_amount(number, text)]
    return [*amounts, *moments_in(text).spans]


def _is_amount(number: Number, text: str) -> bool:
    """Written as money or with separators; a row of digits alone, or a huge number, may be an account."""
    written = text[number.start : number.end]
    separated = number.scale is not None or any(char in ".,'" for char in written)
    return separated and abs(number.value) < _LARGEST_AMOUNT
