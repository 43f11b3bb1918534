"""Letters, digits and signs that pass for others, by their places in a text (pure).

A text in another script is no attack, and stays unmarked. Marked is what only works on a reader who takes it for
something else: a letter of another alphabet inside a Latin word, a word made of nothing but such letters beside Latin
ones, letters that only mathematics uses, digits of a script that the text is not written in, a sign that looks like the
dot or the slash of an address.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator

_WORDS = re.compile(r"[^\W\d_]+")
_TOKENS = re.compile(r"\S+")
_SCRIPTS = ("CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "FULLWIDTH", "MATHEMATICAL")
_WIDE = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO")
_SIGNS = frozenset("\u2024\u2044\u2215\u2236\u29f8\ua789\u05c3\ufe52\ufe55\uff0e\uff0f\uff1a\uff20\u3002")
# Letters that no reader can tell from Latin ones, by their alphabet.
_TWINS = {
    "CYRILLIC": frozenset("асеһіјӏорԛѕԝхуѵԁүАВСЕНІЈКМОРԚЅТԜХҮѴӀ"),
    "GREEK": frozenset("οναρικυχϲϳΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ"),
    "ARMENIAN": frozenset("օոսցհզլՕՍԼ"),
    "CHEROKEE": frozenset("ᎠᎡᎢᎪᎫᎬᎳᎷᎻᎽᏀᏂᏃᏆᏒᏔᏚᏞᏟᏢᏦᏮ"),
}


def lookalikes(text: str) -> frozenset[int]:
    """Return the places of the characters of ``text`` that pass for others."""
    if text.isascii():
        return frozenset()
    names = {place: unicodedata.name(c, "") for place, c in enumerate(text) if not c.isascii()}
    found: set[int] = set()
    for rule in (_in_latin_words, _twins, _styled, _digits, _signs):
        found.update(rule(text, names))
    return frozenset(found)


def _in_latin_words(text: str, names: dict[int, str]) -> Iterator[int]:
    for word in _WORDS.finditer(text):
        if word.group().isascii() or not _has_latin(word.group(), word.start(), names):
            continue
        yield from (place for place in range(*word.span()) if names.get(place, "").startswith(_SCRIPTS))


def _has_latin(part: str, start: int, names: dict[int, str]) -> bool:
    return any(
        (c.isascii() and c.isalpha()) or names.get(start + n, "").startswith("LATIN") for n, c in enumerate(part)
    )


def _twins(text: str, names: dict[int, str]) -> Iterator[int]:
    """Words of nothing but twins: when the text has no other word of that alphabet, and in every address."""
    addresses = [
        token.span()
        for token in _TOKENS.finditer(text)
        if any(sign in token.group() for sign in "@./:") and _has_latin(token.group(), token.start(), names)
    ]
    for script, twins in _TWINS.items():
        places = [place for place, name in names.items() if name.startswith(script) and text[place].isalpha()]
        if places and all(text[place] in twins for place in places):
            yield from places
        elif places:
            for begin, end in addresses:
                inside = [place for place in places if begin <= place < end]
                if all(text[place] in twins for place in inside):
                    yield from inside


def _styled(text: str, names: dict[int, str]) -> Iterator[int]:
    """Letters and digits that are Latin ones in another dress."""
    wide = any(name.startswith(_WIDE) for name in names.values())
    dressed = ("MATHEMATICAL",) if wide else ("MATHEMATICAL", "FULLWIDTH")
    yield from (place for place, name in names.items() if name.startswith(dressed) and text[place].isalnum())


def _digits(text: str, names: dict[int, str]) -> Iterator[int]:
    """Digits of a script in which nothing else of the text is written, or beside plain digits."""
    digits = {place: name for place, name in names.items() if text[place].isdecimal() and " DIGIT " in name}
    if not digits:
        return
    written = {name.split(" ")[0] for place, name in names.items() if text[place].isalpha()}
    for place, name in digits.items():
        script = re.split("[ -]", name)[0]
        if script not in written or any(c.isascii() and c.isdigit() for c in _beside(text, place)):
            yield place


def _signs(text: str, names: dict[int, str]) -> Iterator[int]:
    for place in names:
        if text[place] in _SIGNS and any(c.isascii() and c.isalnum() for c in _beside(text, place)):
            yield place


def _beside(text: str, place: int) -> Iterable[str]:
    return text[max(place - 1, 0) : place] + text[place + 1 : place + 2]
