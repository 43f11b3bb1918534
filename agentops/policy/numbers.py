"""Numbers and amounts in texts, in the ways in which people write them (pure)."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from babel.numbers import get_currency_precision

from agentops.kernel.money import CURRENCIES
from agentops.policy.forms import Taken, unquoted

MOST_DIGITS = 18
"""Longer numbers are no amounts."""

_SYMBOLS = {"$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₹": "INR", "₩": "KRW", "₽": "RUB", "₺": "TRY"}
_NAMES = {
    **dict.fromkeys(("dollar", "dollars", "bucks", "buck"), "USD"),
    **dict.fromkeys(("euro", "euros"), "EUR"),
    **dict.fromkeys(("pound", "pounds", "quid"), "GBP"),
    **dict.fromkeys(("franc", "francs"), "CHF"),
    **dict.fromkeys(("rupee", "rupees"), "INR"),
    "yen": "JPY",
}
_CENTS = frozenset({"cent", "cents", "pence", "penny", "pennies"})
_TIMES = {"k": 1_000, "thousand": 1_000, "million": 1_000_000}
_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {
    **{word: number for number, word in enumerate(_ONES.split())},
    **{word: 20 + 10 * index for index, word in enumerate(_TENS.split())},
    "hundred": 100,
    "dozen": 12,
    "twice": 2,
    "double": 2,
    "triple": 3,
}
_NUMBER = re.compile(
    r"(?<![\w.,])(?<![a-z]-)(?P<sign>-)?(?P<mark>(?:(?-i:[A-Z]{3})|usd|eur|gbp|chf|[A-Z]{0,2}[$€£¥₹₩₽₺])\s?)?"
    r"(?P<digits>\d{1,3}(?:,\d{3})++(?:\.\d++)?|\d{1,3}(?:\.\d{3})++(?:,\d++)?"
    r"|\d{1,3}(?:[ '\u00a0\u202f]\d{3})++(?:[.,]\d++)?|\d++(?:[.,]\d++)?)"
    r"(?:\s?(?P<after>[$€£¥₹₩₽₺%]|per\s?cent|percent|[A-Za-z]+\b))?(?![\w]|[.,]\d)"
    rf"|\b(?P<word>{'|'.join(_WORDS)})\b(?:\s(?P<unit>[A-Za-z]+))?",
    re.I,
)
_BOUND_BEFORE = re.compile(
    r"(?:up to|at most|no more than|not more than|not exceed(?:ing)?|less than|fewer than|lower than|smaller than|under"
    r"|below|within|max(?:imum)?(?: of)?|maximally|limit(?: of)?|limited to|cap(?:ped)?(?: of| at)?|budget(?: of| is)?"
    r"|ceiling of|until)"
    r"[\s:,]*(?:a |an |the |of |about |total |amount |sum |value |is |=|<=?|≤)*$|[<≤]=?\s*$"
)
_BOUND_AFTER = re.compile(
    r"^[\s,]*(?:or less|or fewer|or under|or below|max\b|maximum|at (?:the )?most|tops|and no more|limit\b|budget\b)"
)
_NAMED_BEFORE = re.compile(r"(?:#|\bid|\bids|\bno\.?|\bnr\.?|\bnumber|\bref(?:erence)?)[\s:=#]*$")


@dataclass(frozen=True, slots=True)
class Number:
    """A number in a text. ``scale``: the digits of its currency's minor unit, None when no currency stands beside it.

    ``bound``: the text gives it as a limit ("up to"); ``named``: it is what something is called ("no. 7").
    """

    value: Decimal
    start: int
    end: int
    scale: int | None = None
    percent: bool = False
    bound: bool = False
    named: bool = False


def number_of(value: Any) -> Decimal | None:
    """Return a JSON number, or a text that is one number and nothing else, as a decimal; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return Decimal(value) if abs(value) < 10**MOST_DIGITS else None
    if isinstance(value, float):
        number = Decimal(repr(value))
        return number if number.is_finite() and abs(number) < 10**MOST_DIGITS else None
    if isinstance(value, str) and len(value) <= 40 and any(char.isdigit() for char in value):
        bare = unquoted(value)
        found = [number for number in numbers_in(bare) if (number.start, number.end) == (0, len(bare))]
        return found[0].value if len(found) == 1 and not found[0].percent else None
    return None


def numbers_in(text: str, skip: Iterable[tuple[int, int]] = ()) -> tuple[Number, ...]:
    """Return the numbers of ``text``, also small ones in words, none that touches a span of ``skip``.

    A number that can be read in two ways (``1.500``) is there twice.
    """
    taken = Taken(len(text), skip)
    return tuple(
        number
        for match in _NUMBER.finditer(text)
        for number in _read(match, text)
        if not taken.touches(number.start, number.end)
    )


def _read(match: re.Match[str], text: str) -> Iterator[Number]:
    if match["word"]:
        scale, value = _money(match["unit"] or "", Decimal(_WORDS[match["word"].lower()]))
        end = match.end("word") if scale is None else match.end()
        yield Number(value, match.start(), end, scale, **_around(text, match.start(), end))
        return
    if len(match["digits"]) > MOST_DIGITS + 6:
        return
    after = (match["after"] or "").lower()
    percent = after == "%" or after.startswith("per")
    if after in {"st", "nd", "rd", "th"}:
        return
    times = _TIMES.get(after, 0)
    marked = _currency((match["mark"] or "").strip())
    start = match.start() if marked or match["sign"] else match.start("digits")
    for digits in _values(match["digits"]):
        scale, value = _money(after, (-digits if match["sign"] else digits) * (times or 1))
        if marked is not None:
            scale = get_currency_precision(marked)
        end = (
            match.end() if percent or times or (after and scale is not None and marked is None) else match.end("digits")
        )
        yield Number(value, start, end, scale, percent, **_around(text, start, end))


def _values(digits: str) -> Iterator[Decimal]:
    bare = re.sub(r"[ '\u00a0\u202f]", "", digits)
    dots, commas = bare.count("."), bare.count(",")
    if dots and commas:
        decimal = max(".", ",", key=bare.rfind)
        yield Decimal(bare.replace("," if decimal == "." else ".", "").replace(",", "."))
        return
    mark = "." if dots else "," if commas else ""
    if not mark:
        yield Decimal(bare)
        return
    groups = bare.split(mark)
    grouped = len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])
    if grouped:
        yield Decimal("".join(groups))
    # "1,500" is read as people who write dots for decimals write it; "1.500" may be either.
    if len(groups) == 2 and (not grouped or mark == "."):
        yield Decimal(".".join(groups))


def _currency(mark: str) -> str | None:
    if not mark:
        return None
    if mark[-1] in _SYMBOLS:
        return _SYMBOLS[mark[-1]]
    code = mark.upper()
    return code if code in CURRENCIES else _NAMES.get(mark.lower())


def _money(unit: str, value: Decimal) -> tuple[int | None, Decimal]:
    if unit.lower() in _CENTS:
        return 2, value / 100
    currency = _currency(unit)
    return (None, value) if currency is None else (get_currency_precision(currency), value)


def _around(text: str, start: int, end: int) -> dict[str, bool]:
    before = text[max(0, start - 48) : start].lower()
    after = text[end : end + 24].lower()
    return {
        "bound": bool(_BOUND_BEFORE.search(before) or _BOUND_AFTER.search(after)),
        "named": bool(_NAMED_BEFORE.search(before)),
    }


def writings(value: Decimal) -> frozenset[str]:
    """Return how a number is usually written, to look for it in a text: as it is, with decimals, grouped, as cents."""
    found: set[str] = set()
    for number in (value, value / 100):
        cents = number.quantize(Decimal("0.01"))
        if cents != number:
            continue
        whole = f"{cents:.2f}"
        grouped = f"{cents:,.2f}"
        continental = grouped.translate(str.maketrans(",.", ".,"))
        found |= {whole, grouped, continental, whole.replace(".", ",")}
        if cents == cents.to_integral_value():
            found |= {whole[:-3], whole[:-1], grouped[:-3], continental[:-3]}
        elif whole.endswith("0"):
            found.add(whole[:-1])
    return frozenset(found)
