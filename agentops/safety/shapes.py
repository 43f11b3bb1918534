"""Credentials and card numbers that give themselves away by their shape (pure).

Only shapes that hardly anything else has: private key blocks, access keys of clouds and of well-known services,
bearer tokens, and card numbers that fit an issuer, its length and the check digit. A text that is none of these is
passed at the price of a few searches.
"""

import re
from collections.abc import Iterator

REMOVED = "[secret removed]"

_MARKS = (
    (b"V", b"PRIVATE KEY"),
    (b"K", b"AKIA"),
    (b"S", b"ASIA"),
    (b"e", b"earer "),
    (b"B", b"EARER "),
    (b"J", b"eyJ"),
    (b"x", b"xox"),
    (b"v", b"k_live_"),
    (b"_", b"github_pat_"),
)
"""A rare letter and the beginning of a shape that has it: looking for the letter is quicker."""

_SHAPES = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)"
    r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"
    r"|(?<=\b[Bb]earer )(?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{20,}=*"
    r"|(?<=\bBEARER )(?=[A-Za-z._~+/-]*[0-9])[A-Za-z0-9._~+/-]{20,}=*"
    r"|\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r"|\bgh[pousr]_[A-Za-z0-9]{36,}|\bgithub_pat_[A-Za-z0-9_]{40,}"
    r"|\bxox[abeoprs]-[A-Za-z0-9-]{16,}|\b[rs]k_live_[A-Za-z0-9]{16,}",
    re.DOTALL | re.ASCII,
)

_FEWEST_DIGITS, _MOST_DIGITS = 13, 19
# Every digit as 0, and the letters in which ghp_, gho_, ghu_, ghs_ and ghr_ differ as p.
_FOLDED = bytes.maketrans(b"123456789ousr", b"000000000pppp")
_ZEROS, _GITHUB = b"0" * _FEWEST_DIGITS, b"ghp_"
_DIGITS = re.compile(r"(?<![0-9A-Za-z])[0-9](?:[ -]?[0-9]){12,}(?![0-9A-Za-z])", re.ASCII)
_GROUP = re.compile(r"[0-9]+", re.ASCII)
_ISSUERS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})"  # Visa
    r"|(?:5[1-5]\d\d|222[1-9]|22[3-9]\d|2[3-6]\d\d|27[01]\d|2720)\d{12}"  # Mastercard
    r"|3[47]\d{13}"  # American Express
    r"|(?:6011|65\d\d|64[4-9]\d)\d{12}"  # Discover
    r"|3(?:0[0-5]|[68]\d)\d{11}"  # Diners Club
    r"|35(?:2[89]|[3-8]\d)\d{12}"  # JCB
    r"|62\d{14,17}",  # UnionPay
    re.ASCII,
)


def may_hold(raw: bytes) -> bool:
    """Return whether a text, as UTF-8, may hold one of the shapes; False is certain. Meant for whole JSON documents."""
    for letter, mark in _MARKS:
        if letter in raw and mark in raw:
            return True
    folded = raw.translate(_FOLDED, b" -")
    return _ZEROS in folded or _GITHUB in folded


def hide_shapes(text: str) -> tuple[str, int]:
    """Return ``text`` without the shapes, and how many places were changed. Of a card number the last four stay."""
    text, found = _SHAPES.subn(REMOVED, text)
    cards = list(_cards(text))
    for start, end, last_four in reversed(cards):
        text = f"{text[:start]}[card ending {last_four}]{text[end:]}"
    return text, found + len(cards)


def _cards(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and last four digits of each card number, the groups of which may be apart."""
    for run in _DIGITS.finditer(text):
        groups = [group.span() for group in _GROUP.finditer(text, run.start(), run.end())]
        first = 0
        while first < len(groups):
            found = _card_from(text, groups, first)
            if found is None:
                first += 1
                continue
            last, digits = found
            yield groups[first][0], groups[last][1], digits[-4:]
            first = last + 1


def _card_from(text: str, groups: list[tuple[int, int]], first: int) -> tuple[int, str] | None:
    """Return the last group and the digits of the longest card number that begins with the group ``first``."""
    digits, found = "", None
    for last in range(first, len(groups)):
        digits += text[slice(*groups[last])]
        if len(digits) > _MOST_DIGITS:
            break
        if is_card(digits):
            found = last, digits
    return found


def is_card(digits: str) -> bool:
    """Return whether digits fit a card's issuer, its length and the check digit."""
    return len(digits) >= _FEWEST_DIGITS and _ISSUERS.fullmatch(digits) is not None and _checks(digits)


def _checks(digits: str) -> bool:
    """Return whether the last digit is the check digit of the others (Luhn, ISO/IEC 7812-1 annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0
