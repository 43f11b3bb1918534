"""Finding many phrases in a text in one pass, however its letters are written (pure).

A text is folded letter by letter: small, narrow, without accents and hidden characters, look-alikes as plain letters,
white space as one space. Each folded letter knows its place in the text as it is. Phrases are found as whole words by
an automaton over words (A. V. Aho, M. J. Corasick, "Efficient string matching", 1975), so the work grows with the text
and with what is found, not with the number of phrases times the text.
"""

import re
import unicodedata
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from agentops.policy.forms import INVISIBLE, plain, squeezed

Range = tuple[int, int]
"""Where something stands in a text as it is: its first character, and the one after its last."""

_UNSEEN = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Me", "Mn"})
_LIKE_I = frozenset("іɩıιɪ")
_TOKEN = re.compile(r"[^\W_]+|.", re.DOTALL)


@lru_cache(maxsize=1 << 16)
def _fold(letter: str) -> str:
    if letter.isspace():
        return " "
    if letter.isascii():
        return letter.lower() if letter.isprintable() else ""
    parts = unicodedata.normalize("NFKD", plain(letter)).casefold()
    return "".join(map(_alike, INVISIBLE.sub("", parts)))


def _alike(part: str) -> str:
    if unicodedata.category(part) in _UNSEEN:
        return ""
    if part.isascii() or not part.isalnum():
        return part
    return "i" if part in _LIKE_I else squeezed(part) or part


def folded(text: str) -> str:
    """Return a phrase as it is compared."""
    return " ".join("".join(map(_fold, text)).split())


@dataclass(frozen=True)
class Folded:
    """A text as it is compared, and for each of its characters the place in the text as it is."""

    text: str
    folded: str
    places: tuple[int, ...] = field(repr=False)

    @classmethod
    def of(cls, text: str) -> "Folded":
        """Return ``text`` folded."""
        letters: list[str] = []
        places: list[int] = []
        for place, letter in enumerate(text):
            for part in _fold(letter):
                if part == " " and letters and letters[-1] == " ":
                    continue
                letters.append(part)
                places.append(place)
        return cls(text, "".join(letters), tuple(places))

    @cached_property
    def tokens(self) -> tuple[tuple[str, int, int], ...]:
        """The words of the folded text, and each other character by itself, with start and end there."""
        return tuple((found.group(), found.start(), found.end()) for found in _TOKEN.finditer(self.folded))

    def place(self, start: int, end: int) -> Range:
        """Return where characters ``start`` to ``end`` of the folded text stand in the text as it is."""
        return self.places[start], self.places[end - 1] + 1


class Phrases:
    """An index over phrases, made once. Phrases that fold to the same are one."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self._next: list[dict[str, int]] = [{}]
        self._ends: list[tuple[str, ...]] = [()]
        self._back: list[int] = [0]
        self._sizes: dict[str, int] = {}
        for phrase in dict.fromkeys(map(folded, phrases)):
            if phrase:
                self._add(phrase)
        self._link()

    def _add(self, phrase: str) -> None:
        tokens = _TOKEN.findall(phrase)
        node = 0
        for token in tokens:
            following = self._next[node].get(token)
            if following is None:
                following = self._next[node][token] = len(self._next)
                self._next.append({})
                self._ends.append(())
                self._back.append(0)
            node = following
        self._ends[node] = (phrase,)
        self._sizes[phrase] = len(tokens)

    def _link(self) -> None:
        """Give each node the longest other node that ends as it does, and the phrases that end there."""
        waiting = deque(self._next[0].values())
        while waiting:
            node = waiting.popleft()
            for token, child in self._next[node].items():
                self._back[child] = self._follow(self._back[node], token)
                self._ends[child] += self._ends[self._back[child]]
                waiting.append(child)

    def _follow(self, node: int, token: str) -> int:
        while node and token not in self._next[node]:
            node = self._back[node]
        return self._next[node].get(token, 0)

    def found_in(self, text: Folded, *, most: int) -> "Found":
        """Return where the phrases stand in ``text``, at most ``most`` places of each, none over another of its own."""
        found: dict[str, list[Range]] = {}
        ends: dict[str, int] = {}
        wanted: dict[int, tuple[str, ...]] = {}  # what is still looked for where some phrase was found often enough
        tokens, node = text.tokens, 0
        for number, (token, _, end) in enumerate(tokens):
            node = self._follow(node, token)
            for phrase in wanted.get(node, self._ends[node]):
                places = found.setdefault(phrase, [])
                start = tokens[number - self._sizes[phrase] + 1][1]
                if len(places) == most:
                    wanted[node] = tuple(each for each in wanted.get(node, self._ends[node]) if each != phrase)
                elif start >= ends.get(phrase, 0):
                    places.append(text.place(start, end))
                    ends[phrase] = end
        return Found(found)


class Found:
    """The places of the phrases that a text holds."""

    def __init__(self, places: dict[str, list[Range]]) -> None:
        self._places = places

    def phrases(self) -> Iterable[str]:
        """Return the folded phrases that were found."""
        return self._places.keys()

    def places(self, phrases: Iterable[str]) -> Iterator[Range]:
        """Yield the places of each of these folded phrases."""
        for phrase in phrases:
            yield from self._places.get(phrase, ())

    def first_of(self, phrases: Iterable[str]) -> Range | None:
        """Return the earliest place of any of these folded phrases, None when the text holds none."""
        return min(self.places(phrases), default=None)
