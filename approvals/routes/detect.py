"""What detectors look for in a request (pure): phrases in whatever spelling, and personal data.

All phrases of all detectors are looked for in one pass over the text. Personal data is what shows itself: card numbers
by issuer and check digit, bank accounts by country, length and check digits, dates that are said to be of a birth,
numbers that are said to be of an identity document.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agentops.policy.phrases import Folded, Phrases, folded
from agentops.safety.shapes import is_card

MOST_CHARACTERS = 1_000_000
"""So much text of one request is looked through. A longer one goes where the first detector sends what it finds."""

TOO_LONG = "more text than is looked through"
_EACH = 8  # a part costs something however short it is
_DEEPEST = 60


@dataclass(frozen=True)
class Part:
    """A text of a request: where it stands in words for a person, and what names it there, such as a field."""

    where: str
    text: str
    label: str = ""


@dataclass(frozen=True)
class Look:
    """What one detector looks for: ``phrases``, or personal data when ``personal``."""

    name: str
    phrases: tuple[str, ...] = ()
    personal: bool = False


@dataclass(frozen=True)
class Hit:
    """What the detector at a place in their order found, and where, in words that repeat no personal data."""

    index: int
    words: str


def first_hit(looks: Sequence[Look], parts: Iterable[Part]) -> Hit | None:
    """Return what the first of the detectors that finds something found, None when none does."""
    if not looks:
        return None
    personal = next((index for index, look in enumerate(looks) if look.personal), None)
    index_of, automaton = _index(tuple(look.phrases for look in looks))
    best: Hit | None = None
    left = MOST_CHARACTERS
    for part in _once(parts):
        left -= len(part.text) + _EACH
        if left < 0:
            return Hit(0, TOO_LONG)
        text = Folded.of(part.text)
        for found in _in_part(text, part, automaton, index_of, personal):
            if best is None or found.index < best.index:
                best = found
        if best is not None and best.index == 0:
            break
    return best


def _once(parts: Iterable[Part]) -> Iterator[Part]:
    seen: set[tuple[str, str]] = set()
    for part in parts:
        if part.text and (part.label, part.text) not in seen:
            seen.add((part.label, part.text))
            yield part


def _in_part(
    text: Folded, part: Part, automaton: Phrases, index_of: Mapping[str, int], personal: int | None
) -> Iterator[Hit]:
    found = automaton.found_in(text, most=1).phrases()
    for phrase in sorted(found, key=index_of.__getitem__)[:1]:
        yield Hit(index_of[phrase], f"“{phrase[:60]}” in {part.where}")
    if personal is not None:
        kind = personal_in(text.folded, label=part.label)
        if kind:
            yield Hit(personal, f"{kind} in {part.where}")


@lru_cache(maxsize=16)
def _index(phrases: tuple[tuple[str, ...], ...]) -> tuple[dict[str, int], Phrases]:
    """Return the first detector of each phrase as it is compared, and the phrases as one index."""
    index_of: dict[str, int] = {}
    for index, those in enumerate(phrases):
        for phrase in those:
            index_of.setdefault(folded(phrase), index)
    return index_of, Phrases(index_of)


def leaves_of(value: Any, where: str, label: str = "", depth: int = 0) -> Iterator[Part]:
    """Yield every text and number of a JSON value, with the name of its field. Keys are not looked at as text."""
    if isinstance(value, str):
        yield Part(where, value, label)
    elif isinstance(value, Mapping) and depth < _DEEPEST:
        for key, inner in value.items():
            yield from leaves_of(inner, where, str(key), depth + 1)
    elif isinstance(value, list | tuple) and depth < _DEEPEST:
        for inner in value:
            yield from leaves_of(inner, where, label, depth + 1)
    elif (isinstance(value, int | float) and not isinstance(value, bool)) or isinstance(value, Mapping | list | tuple):
        yield Part(where, str(value), label)


# Country and length of an account number, as registered by SWIFT for ISO 13616.
_IBAN_LENGTHS = {
    country: length
    for length, countries in {
        15: "no",
        16: "be",
        18: "dk fk fi fo gl nl sd",
        19: "mk si",
        20: "at ba ee kz lt lu xk",
        21: "ch hr li lv",
        22: "bg bh cr de gb ge ie me rs va",
        23: "ae gi il iq om so tl",
        24: "ad cz es md pk ro sa se sk tn vg",
        25: "ly pt st",
        26: "is tr",
        27: "bi dj fr gr it mc mr sm",
        28: "al az by cy do gt hu lb ni pl",
        29: "br eg ps qa ua",
        30: "jo kw mu",
        31: "mt sc",
        32: "lc",
        33: "ru",
    }.items()
    for country in countries.split()
}
_IBAN = re.compile(r"(?<![a-z0-9])[a-z]{2}[0-9]{2}(?=[ -]?[a-z0-9])", re.ASCII)
_IBAN_OF = {
    length: re.compile(rf"[a-z0-9]{{4}}(?:[ -]?[a-z0-9]){{{length - 4}}}(?![a-z0-9])", re.ASCII)
    for length in set(_IBAN_LENGTHS.values())
}
_AS_NUMBERS = {ord(letter): str(10 + place) for place, letter in enumerate("abcdefghijklmnopqrstuvwxyz")}
_DIGITS = re.compile(r"(?<![a-z0-9])[0-9]+(?:[ .-][0-9]+)*(?![a-z0-9])", re.ASCII)
_MOST_GROUPS, _MOST_DIGITS = 6, 19
"""A card number is written in up to six groups, or with a sign after each digit and nothing else around."""
_MONTHS = (
    "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?"
    "|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|januar|februar|marz|mai|juni|juli|oktober|dezember"
)
_YEAR = r"(?:19\d\d|20\d\d)"
_DATE = re.compile(
    rf"(?<!\d)(?:{_YEAR}[-/. ]\d{{1,2}}[-/. ]\d{{1,2}}|\d{{1,2}}[-/.] ?\d{{1,2}}[-/.] ?{_YEAR}"
    rf"|\d{{1,2}}(?:st|nd|rd|th|\.)? (?:of )?(?:{_MONTHS})\.?,? {_YEAR}"
    rf"|(?:{_MONTHS})\.? \d{{1,2}}(?:st|nd|rd|th)?,? {_YEAR})(?!\d)",
    re.ASCII,
)
_BIRTH = re.compile(
    r"\b(?:born|birth ?da(?:y|te)|date of birth|birth|d\.?o\.?b|geboren|geb\.|geburts\w{0,8}|naissance|nacimiento"
    r"|nascita|nee? le)(?![a-z])",
    re.ASCII,
)
_NEAR = 40
"""Characters between a word for birth and its date."""

_DOCUMENT = re.compile(
    r"\b(?:pass(?:port|eport)|reisepass|passnummer|pasaporte|passaporto|identity card|id ?card|personalausweis"
    r"|ausweis(?:nummer|nr)?|driv(?:ing|er'?s?) licen[cs]e|fuhrerschein|national insurance|social security"
    r"|sozialversicherung\w{0,10}|sv-?n(?:umme)?r|ssn|dni|nif)\b",
    re.ASCII,
)
_NUMBER = re.compile(r"(?<![a-z0-9])(?=[a-z0-9 -]{0,3}\d)[a-z0-9](?:[ -]?[a-z0-9]){5,13}(?![a-z0-9])", re.ASCII)
_SSN = re.compile(r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])", re.ASCII)
_MACHINE_READABLE = re.compile(r"(?<![a-z0-9])p[a-z<][a-z]{3}[a-z]+<[a-z<]{10,}", re.ASCII)


def personal_in(fold: str, *, label: str = "") -> str:
    """Return what kind of personal data a text, folded for comparing, holds, as words, or "".

    ``label`` names the text, such as birth_date, and counts as a word beside it.
    """
    named = f"{label.replace('_', ' ').lower()[:60]} " if label else ""
    if any(_is_card(found.group()) for found in _DIGITS.finditer(fold)):
        return "a card number"
    if any(_is_iban(fold, found.start()) for found in _IBAN.finditer(fold)):
        return "a bank account number"
    if _holds_birth(named + fold):
        return "a date of birth"
    if _SSN.search(fold) or _MACHINE_READABLE.search(fold) or _holds_document(named + fold):
        return "an identity document"
    return ""


def _is_card(run: str) -> bool:
    groups = re.split("[ .-]", run)
    if len(groups) > _MOST_GROUPS and sum(map(len, groups)) <= _MOST_DIGITS and is_card("".join(groups)):
        return True
    for first in range(len(groups)):
        digits = ""
        for group in groups[first : first + _MOST_GROUPS]:
            digits += group
            if len(digits) > _MOST_DIGITS:
                break
            if is_card(digits):
                return True
    return False


def _is_iban(fold: str, start: int) -> bool:
    length = _IBAN_LENGTHS.get(fold[start : start + 2])
    found = _IBAN_OF[length].match(fold, start) if length is not None else None
    if found is None:
        return False
    number = found.group().replace(" ", "").replace("-", "")
    return int((number[4:] + number[:4]).translate(_AS_NUMBERS)) % 97 == 1


def _holds_birth(fold: str) -> bool:
    words = [found.span() for found in _BIRTH.finditer(fold)]
    return bool(words) and _near(words, [found.span() for found in _DATE.finditer(fold)])


def _holds_document(fold: str) -> bool:
    words = [found.span() for found in _DOCUMENT.finditer(fold)]
    if not words:
        return False
    numbers = [
        found.span() for found in _NUMBER.finditer(fold) if sum(letter.isdigit() for letter in found.group()) >= 5
    ]
    return _near(words, numbers)


def _near(words: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]) -> bool:
    """Return whether one of ``others`` stands near one of ``words``, both in the order of the text."""
    first = 0
    for begin, end in words:
        while first < len(others) and others[first][1] < begin - _NEAR:
            first += 1
        if first < len(others) and others[first][0] <= end + _NEAR:
            return True
    return False
