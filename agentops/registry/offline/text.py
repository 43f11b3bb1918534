"""Making text from outside readable: one form for every letter, nothing invisible, no quoted mail.

What was hidden is not thrown away silently: it is returned, because hidden words are a reason for a person
to look.
"""

import re
import unicodedata
from dataclasses import dataclass

_COMMENT = re.compile(r"<!--(.*?)(?:-->|\Z)", re.DOTALL)
_UNSEEN_TAG = re.compile(
    r"<(\w+)[^>]{0,400}?(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0|\bhidden\b)[^>]{0,400}>"
    r"(.*?)(?:</\1\s*>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,400}>")
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_QUOTE_HEAD = re.compile(
    r"^\s*(?:On .{1,200} wrote:|-{2,} ?(?:Original|Forwarded) message ?-{2,})\s*$", re.MULTILINE | re.I
)
_SIGNATURE = re.compile(r"^-- $", re.MULTILINE)
_BREAK = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*•]|\d{1,2}[.)])\s)")
_SENTENCE = re.compile(
    r"(?<=[.!?])[\"')]?\s+|\x1e+|;\s+(?=(?:for|also|then|and|please|i|return|cancel)\b)", re.IGNORECASE
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:st|ave|rd|dr|apt|no|nr|mr|mrs|ms|blvd|ln|ste|approx|vs|etc)|\be\.g|\bi\.e)\.\s*\Z", re.I
)
_TYPOGRAPHY = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " "})

MOST_CHARACTERS = 20_000
INVISIBLE_TOLERATED = 3


@dataclass(frozen=True)
class Readable:
    """``text`` as a person sees it, ``hidden`` what a person would not have seen, ``cut`` if it was too long."""

    text: str
    hidden: tuple[str, ...]
    cut: bool


def make_readable(raw: str) -> Readable:
    """Return ``raw`` without invisible parts, quoted mail and markup; at most MOST_CHARACTERS are read."""
    text, invisible = _without_invisible(raw[:MOST_CHARACTERS])
    hidden = [found.strip() for found in _COMMENT.findall(text)]
    text = _COMMENT.sub(" ", text)
    hidden += [found[1].strip() for found in _UNSEEN_TAG.findall(text)]
    text = _TAG.sub(" ", _UNSEEN_TAG.sub(" ", text))
    if invisible > INVISIBLE_TOLERATED:
        hidden.append(f"{invisible} invisible characters")
    return Readable(_own_words(text).strip(), tuple(part for part in hidden if part), len(raw) > MOST_CHARACTERS)


def _without_invisible(raw: str) -> tuple[str, int]:
    """Drop format and control characters; count those that a mail program does not put there by itself."""
    kept: list[str] = []
    invisible = 0
    for character in unicodedata.normalize("NFKC", raw).translate(_TYPOGRAPHY):
        category = unicodedata.category(character)
        if character in "\n\t" or category not in ("Cf", "Cc", "Co", "Cn", "Cs"):
            kept.append(character)
        elif category == "Cf" and character not in "\u00ad\ufeff":
            invisible += not _joins_emoji(character, kept)
    return "".join(kept), invisible


def _joins_emoji(character: str, kept: list[str]) -> bool:
    return character == "\u200d" and bool(kept) and unicodedata.category(kept[-1]) in ("So", "Mn", "Sk")


def _own_words(text: str) -> str:
    """Cut the mail that is answered and the signature: they are not what is asked now."""
    head = _QUOTE_HEAD.search(text)
    if head and head.start() > 0:
        text = text[: head.start()]
    signature = _SIGNATURE.search(text)
    if signature and signature.start() > 0:
        text = text[: signature.start()]
    return _QUOTED_LINE.sub("", text)


def sentences(text: str) -> list[str]:
    """Split readable text into sentences and list items; hard-wrapped lines are joined first."""
    flat = re.sub(r"[ \t]*\n[ \t]*", " ", _BREAK.sub("\x1e", text))
    found: list[str] = []
    start = 0
    for gap in _SENTENCE.finditer(flat):
        if gap.group().strip("\x1e") != "" and _ABBREVIATION.search(flat[start : gap.start()]):
            continue
        found.append(flat[start : gap.start()])
        start = gap.end()
    found.append(flat[start:])
    return [sentence.strip() for sentence in found if sentence.strip()]
