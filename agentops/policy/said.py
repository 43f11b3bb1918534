"""What somebody trusted said: the request, or what the house answered; and whether a value stands in it (pure)."""

import re
import unicodedata
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property
from typing import Any

from agentops.policy.addresses import Address, address_of, addresses_in
from agentops.policy.forms import INVISIBLE, plain, squeezed, unfolded, unquoted
from agentops.policy.moments import Moments, follows, moment_of, moments_in
from agentops.policy.numbers import Number, number_of, numbers_in
from agentops.policy.traces import Origin
from agentops.registry.flow import COUNT, Argument, Kind

MOST_SAID = 20_000
"""Characters of one text that are looked at. What is said after them counts as not said."""

_LINE = re.compile(r"(?<=[.!?])\s+|[\n\r]+")
_STOPS = " .,;:!?"
_OPENING = " \t\"'(“‘"
_BEGINNING = ("", ".", "!", "?", ":", "\n", "\r")
_MOST_PLACES = 500
_NO_NAMES = frozenset({
    "a", "an", "and", "all", "any", "are", "as", "at", "be", "by", "for", "from", "he", "her", "him", "i", "in",
    "is", "it", "me", "my", "no", "not", "of", "on", "or", "our", "she", "so", "that", "the", "them", "they", "this",
    "to", "us", "we", "with", "you", "your",
})  # fmt: skip
_REWRITTEN = frozenset({Kind.REF, Kind.VALUE, Kind.LABEL, Kind.ROLE, Kind.WHEN})
_PIECE = re.compile(r"[\s,;/|&+()]+")
_EXACT = re.compile(r"```(?:\w+\n)?(.+?)```|`([^`\n]+)`|\"([^\"\n]+)\"|“([^“”\n]+)”|'([^'\n]+)'", re.S)
_NAMING = frozenset({"id", "ids", "#", "no", "nr", "number", "numbers"})
_AND = re.compile(r"(?:[\s,&]|\band\b|\bor\b|\bwith\b|\bthe\b|\bof\b|\bis\b|[:=(\"'])*")
_FOLLOWED = re.compile(r"[\w.-]*\w")


class Said:
    """One trusted text. Its forms are made when they are first asked for."""

    def __init__(self, text: str, origin: Origin, source: str) -> None:
        self.text = text[:MOST_SAID]
        self.origin = origin
        self.source = source

    @cached_property
    def plain(self) -> str:
        """The text in plain form, with all of its addresses."""
        return plain(self.text)

    @cached_property
    def all_addresses(self) -> tuple[Address, ...]:
        """Its addresses, as they stand in it."""
        return addresses_in(self.text, self.moments.spans)

    @cached_property
    def addresses(self) -> frozenset[tuple[str, str]]:
        """The (kind, key) of every address."""
        return frozenset((address.kind, address.key) for address in self.all_addresses)

    @cached_property
    def words(self) -> str:
        """The text in plain form without its addresses: a name within an address is not named."""
        text = self.text
        pieces, at = [], 0
        for address in self.all_addresses:
            if address.kind != "number":
                pieces += [text[at : address.start], "|" * (address.end - address.start)]
                at = address.end
        return plain("".join(pieces) + text[at:])

    @cached_property
    def single(self) -> frozenset[str]:
        """Every single word of ``words``."""
        return frozenset(word for word in self.words.split() if word.isalnum())

    @cached_property
    def moments(self) -> Moments:
        """Its days, times and lengths of time."""
        return moments_in(self.text)

    @cached_property
    def numbers(self) -> tuple[Number, ...]:
        """Its numbers, without those of dates, times, and addresses."""
        spans = [(one.start, one.end) for one in self.all_addresses if one.kind != "number" or not one.text.isdigit()]
        return numbers_in(self.text, [*spans, *self.moments.spans])

    @cached_property
    def code(self) -> frozenset[str]:
        """What is quoted, each line, sentence, and rest after a colon, as it stands: a piece of code is other code."""
        quoted = (piece for match in _EXACT.finditer(self.text) for piece in match.groups() if piece)
        lines = _LINE.split(self.text)
        after = (line[line.index(": ") + 2 :] for line in lines if ": " in line)
        return frozenset(" ".join(piece.split()) for piece in (*quoted, *lines, *after))

    @cached_property
    def secrets(self) -> frozenset[str]:
        """What is quoted, and each word, with and without the mark that ends it."""
        words = self.text.split()
        return self.code | frozenset(words) | frozenset(word.strip(".,;:!?\"'()") for word in words)

    @cached_property
    def squeezed(self) -> str:
        """Its letters and digits only, look-alikes as plain ones."""
        return squeezed(self.text)

    def contains(self, form: str) -> bool:
        """Return whether a private value, in plain or squeezed form or a number, stands here anyway."""
        if (number := number_of(form)) is not None and any(
            number in (found.value, found.value * 100) for found in self.numbers
        ):
            return True
        return _stands(form, self.plain) or (len(form) >= 8 and form in self.squeezed)

    def says(self, value: Any, argument: Argument) -> str | None:
        """Return in which form the text holds ``value`` as what ``argument`` says it is; None when it does not."""
        kind = argument.kind
        if isinstance(value, bool):
            return None if kind in (Kind.TARGET, Kind.AMOUNT) else self._phrase(str(value).lower())
        if kind is Kind.AMOUNT:
            return self._amount(value, argument.of)
        if kind in (Kind.TARGET, Kind.REF) and not is_settled(str(value)):
            return "" if _stands(str(value), self.text) else None
        if kind is Kind.REF:
            return self._reference(str(value), argument.of)
        if kind is Kind.TARGET:
            # An account may be written as a number, but a number of the text is no account for that.
            return self._target(str(value))
        if not isinstance(value, str):
            return self._number(value)
        if kind in (Kind.SECRET, Kind.CODE):
            return "" if " ".join(value.split()) in (self.code if kind is Kind.CODE else self.secrets) else None
        if kind is Kind.TEXT:
            return self._sentences(value)
        return self._any(value, kind)

    def says_otherwise(self, value: Any, argument: Argument) -> str | None:
        """Return in which other writing the text holds ``value``: joined from what it names, or encoded."""
        if argument.kind not in _REWRITTEN or not isinstance(value, str):
            return None
        if argument.kind is Kind.REF and (is_weak(value) or not is_settled(value)):
            return None
        # A list of mere numbers, or a name that is made of such, names nothing.
        weak = argument.kind is Kind.REF and any(map(is_weak, _PIECE.split(value)))
        return (None if weak else self._pieces(value)) or self._encoded(value)

    def _any(self, value: str, kind: Kind) -> str | None:
        if kind is Kind.WHEN and (moment := moment_of(value)) is not None:
            return "date" if self.has_moment(moment) else None
        if (how := self.names(value)) is not None:
            return how
        if (number := number_of(value)) is not None and (how := self._number(number)) is not None:
            return how
        return "date" if (moment := moment_of(value)) is not None and self.has_moment(moment) else None

    def _target(self, value: str) -> str | None:
        """One name or address, or a list of them."""
        if plain(value) in _NO_NAMES:
            return None
        if (how := self.names(value)) is not None:
            return how
        several = [one for one in re.split(r"[,;]", value) if one.strip()] if len(value) <= 1_000 else []
        return "list" if len(several) > 1 and all(self.names(one) is not None for one in several) else None

    def names(self, value: str) -> str | None:
        """Return whether the text names exactly this address, or has these words as whole words."""
        address = address_of(value)
        if address is not None and address.kind != "number":
            return "" if (address.kind, address.key) in self.addresses else None
        if address is not None and (address.kind, address.key) in self.addresses:
            return ""
        return self._phrase(value)

    def _phrase(self, value: str) -> str | None:
        form = plain(unquoted(value))
        if form in self.single:
            return ""
        if not any(map(str.isalnum, form)):
            return None
        return "" if _stands(form, self.words) else None

    def _pieces(self, value: str) -> str | None:
        """Several names in one value, each of them said."""
        pieces = [piece for piece in _PIECE.split(value) if piece] if len(value) <= 1_000 else []
        if not 2 <= len(pieces) <= 12 or any(len(piece) < 2 for piece in pieces):
            return None
        return "joined" if all(self.names(piece) is not None for piece in pieces) else None

    def _encoded(self, value: str) -> str | None:
        if len(value) < 8 or " " in value:
            return None
        for how, text in unfolded(value, depth=2):
            if how and "reversed" not in how and "other" not in how and self._holds(text):
                return how
        return None

    def _holds(self, text: str) -> bool:
        return self.names(text) is not None or (address_of(text) is None and self._sentences(text) is not None)

    def _sentences(self, value: str) -> str | None:
        """A text is said when it, or each of its lines and sentences, stands in what was said, whole."""
        form = plain(unquoted(value)).rstrip(_STOPS)
        if _stands(form, self.plain):
            return ""
        lines = [line for part in _LINE.split(unquoted(value)) if (line := plain(part).strip(" -*•\"'").rstrip(_STOPS))]
        return "sentences" if len(lines) > 1 and all(_stands(line, self.plain) for line in lines) else None

    def _number(self, value: Any) -> str | None:
        number = value if isinstance(value, Decimal) else number_of(value)
        return "" if number is not None and any(found.value == number for found in self.numbers) else None

    def _amount(self, value: Any, unit: str) -> str | None:
        return next((how for how, found in self.amounts(value, unit) if not found.named), None)

    def amounts(self, value: Any, unit: str = "") -> Iterator[tuple[str, Number]]:
        """Yield (form, number) for each number of the text that ``value`` may be.

        ``unit`` is ``minor`` where the tool takes minor units, ``major`` where it takes dollars, ``count`` where it
        takes no money, so that "$12" are not twelve; empty where nobody says: then a number is one or the other, and
        1200 is "1,200" as well as "$12".
        """
        number = number_of(value)
        if number is None:
            return
        for found in self.numbers:
            if found.percent or (unit == COUNT and found.scale is not None):
                continue
            if unit != "minor" and found.value == number:
                yield "", found
            elif (unit == "minor" or (unit != "major" and found.scale is not None)) and number == _minor(found):
                yield "minor units", found

    def has_moment(self, moment: Moments) -> bool:
        """Return whether its day and its time are said, or follow from what is said."""
        said = self.moments
        # A day without a time begins and ends at midnight.
        times = said.times or (frozenset({0, 86_340, 86_399}) if moment.days and said.days else frozenset())
        return follows(moment, said.days, times, said.lengths)

    def _reference(self, value: str, of: str) -> str | None:
        if is_weak(value):
            return "named" if self.named_as(value, of) or self._proper(unquoted(value)) else None
        return self.names(value)

    def _proper(self, value: str) -> bool:
        """Return whether a short name stands here written as one: a capital first, and not as a sentence begins."""
        if not (2 <= len(value) <= 3 and value.isalpha()) or plain(value) in _NO_NAMES:
            return False
        written = rf"(?:{value.capitalize()}|{value.upper()})"
        found = re.finditer(rf"(?<![\w@./-]){written}(?![\w@]|[./-]\w)", self.text)
        return any(self.text[: match.start()].rstrip(_OPENING)[-1:] not in _BEGINNING for match in found)

    def named_as(self, value: str, of: str) -> bool:
        """Return whether ``value`` stands right after the word of its set, or after "id", "number", "#": "order 7"."""
        return plain(unquoted(value)).lstrip("#") in self._named(of)

    def named(self, of: str) -> frozenset[str]:
        """Return what the text names as a member of ``of`` by that set's own word: 7 and 8 in "orders 7 and 8"."""
        return self._named(of, own_word=True)

    def _named(self, of: str, *, own_word: bool = False) -> frozenset[str]:
        cached = self._names.get((of, own_word))
        if cached is None:
            cached = self._names[of, own_word] = frozenset(self._find_named(of, own_word=own_word))
        return cached

    @cached_property
    def _names(self) -> dict[tuple[str, bool], frozenset[str]]:
        return {}

    def _find_named(self, of: str, *, own_word: bool) -> Iterator[str]:
        """Yield the ids in lists that begin after a naming word: "order ids 7, 8 and 9"."""
        starts = words_of(of) if own_word else words_of(of) | _NAMING
        if not starts:
            return
        text, done = self.words, 0
        pattern = "|".join(rf"\b{re.escape(word)}\b" if word != "#" else "#" for word in sorted(starts))
        for match in re.finditer(pattern, text):
            at = match.end()
            while at > done and (found := _FOLLOWED.match(text, _between(text, at))) is not None:
                name = found[0]
                if name not in _NAMING:
                    if not (any(map(str.isdigit, name)) or len(name) <= 3):
                        break
                    yield name
                at = found.end()
            done = max(done, at)


def _between(text: str, at: int) -> int:
    match = _AND.match(text, at)
    at = match.end() if match else at
    return at + 1 if text[at : at + 1] == "#" else at


def is_weak(value: str) -> bool:
    """Return whether a reference is too short, or a mere number, to be named by standing there."""
    bare = unquoted(value)
    return len(bare) <= 3 or bare.lstrip("#").isdigit()


def words_of(of: str) -> frozenset[str]:
    """Return the words by which a text calls a member of a set: singular and plural, with spaces for underscores."""
    word = of.replace("_", " ").replace("-", " ").lower()
    if not word:
        return frozenset()
    if word.endswith("ies"):
        return frozenset({word, f"{word[:-3]}y"})
    if word.endswith("y"):
        return frozenset({word, f"{word[:-1]}ies"})
    return frozenset({word, word.removesuffix("s"), word.removesuffix("es"), f"{word}s", f"{word}es"})


def _stands(needle: str, text: str) -> bool:
    """Return whether ``needle`` stands in ``text`` as whole words, not as a piece of a longer word, name or path."""
    at = text.find(needle) if needle else -1
    for _ in range(_MOST_PLACES):
        if at < 0:
            return False
        end = at + len(needle)
        if _free(text[max(0, at - 2) : at][::-1], needle[0]) and _free(text[end : end + 2], needle[-1]):
            return True
        at = text.find(needle, at + 1)
    return False


def _free(beside: str, edge: str) -> bool:
    """Return whether a value ends here: ``beside`` are the two characters next to its ``edge``, the nearest first."""
    if not beside:
        return True
    if beside[0].isalnum() or beside[0] in "_|":
        return False
    if not (edge.isalnum() or edge in "_#@"):
        return beside[0].isspace() or beside[0] in "\"'`()<>,;"
    if edge.isdigit() and (beside[0] in "$€£¥" or (beside[0] == "," and beside[1:].isdigit())):
        return False  # an amount, or a piece of a number
    return beside[0] not in "@.-/\\+" or len(beside) < 2 or not beside[1].isalnum()


def _minor(number: Number) -> Decimal:
    return number.value.scaleb(2 if number.scale is None else number.scale)


def is_settled(value: str) -> bool:
    """Return whether the value is written as it is compared: without wide, styled or invisible characters."""
    return value.isascii() or INVISIBLE.sub("", unicodedata.normalize("NFKC", value)) == value
