"""Where a text speaks of a wish, and which of its words belong to which wish (pure)."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

Kind = TypeVar("Kind")


@dataclass(frozen=True)
class Hit(Generic[Kind]):
    """The verb or noun that carries a wish: in which sentence, and where in it."""

    kind: Kind
    sentence: int
    start: int


class Span(NamedTuple):
    """``words`` begin at the hit and end before the next; ``before`` may say what it is about; ``ids`` are named."""

    words: str
    before: str
    ids: tuple[str, ...]


_NEGATED = re.compile(
    r"\b(?:don'?t|do not|never|not|no need to|without|rather than|instead of|cannot|can'?t|won'?t|unable to"
    r"|nothing to)\b"
    r"(?:\W+(?:want|wish|like|to|you|please|need|me|it|ever|be|able|the|a|my|any)\b){0,5}\W*\Z",
    re.IGNORECASE,
)


def is_negated(before: str) -> bool:
    """Return whether the words right before a hit say that it is not wanted."""
    return _NEGATED.search(before) is not None


def spans(hits: Sequence[Hit[Kind]], parts: Sequence[str], ids_in: Callable[[str], tuple[str, ...]]) -> list[Span]:
    """Return the words of each hit. One that names no id has the one named last before it, or the text's only one."""
    every = ids_in(" ".join(parts))
    found = []
    for index, hit in enumerate(hits):
        span = _span(index, hits, parts, ids_in)
        if not span.ids:
            earlier = ids_in(" ".join([*parts[: hit.sentence], parts[hit.sentence][: hit.start]]))
            span = span._replace(ids=earlier[-1:] or (every if len(every) == 1 else ()))
        found.append(span)
    return found


def _span(
    index: int, hits: Sequence[Hit[Kind]], parts: Sequence[str], ids_in: Callable[[str], tuple[str, ...]]
) -> Span:
    hit = hits[index]
    following = hits[index + 1] if index + 1 < len(hits) else None
    previous = hits[index - 1] if index else None
    if following is not None and following.sentence == hit.sentence:
        words = parts[hit.sentence][hit.start : following.start]
    else:
        until = following.sentence if following is not None else len(parts)
        words = " ".join([parts[hit.sentence][hit.start :], *parts[hit.sentence + 1 : until]])
    if previous is not None and previous.sentence == hit.sentence:
        before = _tail(parts[hit.sentence][previous.start : hit.start])
    else:
        first = previous.sentence + 1 if previous is not None else 0
        before = " ".join([*parts[first : hit.sentence], parts[hit.sentence][: hit.start]])
    same_sentence = (
        parts[hit.sentence][: hit.start] if previous is None or previous.sentence != hit.sentence else before
    )
    named = ids_in(words) or ids_in(same_sentence) or ids_in(before)[-1:]
    return Span(words.strip(" ,"), before.strip(), named)


def _tail(text: str) -> str:
    """Return the clause that leads over to the next wish of the same sentence."""
    return re.split(r"[;:]|,\s+and\b|\band\b", text)[-1]
