"""What a request asks for, read from its words alone, before anything else is read (pure)."""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from agentops.registry.flow import Intent

MOST_REQUEST = 20_000
"""Characters of a request that are looked at. What is asked for after them counts as not asked for."""

_SENTENCE = re.compile(r"[.!?;\n\r]+(?:\s|$)|\n+")
_WORD = re.compile(r"\w+")
_NOT = re.compile(r"n['’]t\b")
_NO_WISH = frozenset({
    "already", "always", "never", "normally", "not", "often", "regularly", "sometimes", "typically", "usually",
    "without",
})  # fmt: skip
"""What is said right after these is a habit or is not wanted: "as I usually pay", "do not send"."""


def plan_of(request: str, intents: Iterable[Intent]) -> frozenset[str]:
    """Return the capabilities that ``request`` asks for. No word of it can add one that no intent lists."""
    text = unicodedata.normalize("NFKC", request[:MOST_REQUEST]).casefold()
    sentences = [_wishes(_WORD.findall(sentence)) for sentence in _SENTENCE.split(_NOT.sub(" not", text))]
    return frozenset(
        intent.capability
        for intent in intents
        if not intent.phrases or any(_asks(sentence, phrase) for phrase in intent.phrases for sentence in sentences)
    )


def _wishes(sentence: list[str]) -> list[str]:
    return [word for before, word in zip(["", *sentence], sentence, strict=False) if before not in _NO_WISH]


@lru_cache(maxsize=4096)
def _words(phrase: str) -> tuple[str, ...]:
    return tuple(phrase.casefold().split())


def _asks(sentence: list[str], phrase: str) -> bool:
    """Return whether the words of the phrase stand in the sentence, in order. The earliest match of each is enough."""
    wanted = iter(_words(phrase))
    word = next(wanted, None)
    for found in sentence:
        if word is None:
            return True
        if found == word or (word.endswith("*") and found.startswith(word[:-1])):
            word = next(wanted, None)
    return word is None
