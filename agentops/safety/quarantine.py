"""Text from outside, made safe to show to a model: cleaned, cut to size, and wrapped as data (pure).

Nothing here decides whether a text is an attack. Wrapping tells the model which part of its input is
data; what its proposals may do is decided by policy, whatever the text achieved.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from agentops.kernel.markup import links, page

MARKER_REMOVED = "[marker removed]"
LEFT_OUT = "[left out]"
MOST_PAGES = 100

# Characters that a reader does not see but a model does: soft hyphen, joiners and fillers, zero-width
# and bidi controls, variation selectors, interlinear and musical controls, tag characters; then the
# control codes (line feed and tab excepted) and halves of surrogate pairs, which cannot be encoded.
_HIDDEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    "\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]"
)
_LINE_BREAKS = re.compile("\r\n?|[\u0085\u2028\u2029]")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True)
class Cleaned:
    """A text without hidden characters, and how many there were."""

    text: str
    hidden: int


@dataclass(frozen=True)
class Harmless:
    """A text as a reader of it would see it.

    ``hidden`` counts the characters stripped that nobody sees, ``removed`` the parts that markup hid, ``cut`` the
    characters that were left out because there were too many.
    """

    text: str
    hidden: int = 0
    removed: int = 0
    cut: int = 0


@dataclass(frozen=True)
class Wrapped:
    """A text as the model gets it, and the counts of ``Harmless``."""

    text: str
    cut: int
    hidden: int
    removed: int


def session_marker(session_id: UUID, salt: bytes) -> str:
    """Return the marker of a session: 24 hexadecimal digits that nobody without ``salt`` can guess.

    The same session always has the same marker, so its prompts share a prefix and can be made again.
    Raises ValueError when ``salt`` is shorter than 16 bytes.
    """
    if len(salt) < 16:
        raise ValueError("the salt of the markers must have at least 16 bytes")
    return hmac.new(salt, session_id.bytes, hashlib.sha256).hexdigest()[:24]


def clean(text: str) -> Cleaned:
    """Return ``text`` with plain line feeds and without hidden characters, control codes and surrogates."""
    visible, hidden = _HIDDEN.subn("", _LINE_BREAKS.sub("\n", text))
    return Cleaned(visible, hidden)


def one_line(text: str) -> str:
    """Return ``text`` on one line, so that it cannot pass for the lines that follow it."""
    return _SPACES.sub(" ", text).strip()


def cut_middle(text: str, limit: int, marker: str) -> tuple[str, int]:
    """Return ``text`` in at most ``limit`` characters and how many were left out, with a mark where they stood.

    Three quarters of what is kept come from the beginning. The mark carries ``marker``, so that a text
    cannot pretend to have been cut. Raises ValueError when ``limit`` leaves no room for the mark.
    """
    if len(text) <= limit:
        return text, 0
    room = limit - len(_cut_mark(len(text), marker))
    if room < 0:
        raise ValueError(f"a limit of {limit} characters is too small to show that something was cut")
    head = room - room // 4
    tail = room // 4
    cut = len(text) - room
    return text[:head] + _cut_mark(cut, marker) + text[len(text) - tail :], cut


def _cut_mark(count: int, marker: str) -> str:
    return f"\n[cut {marker}: {count} characters left out here]\n"


def harmless(text: str) -> Harmless:
    """Return ``text`` as a reader sees it: no hidden characters, no hidden markup, links and pictures told as text."""
    cleaned = clean(text)
    shown = page.seen(cleaned.text)
    told, comments = links.tell(shown.text)
    if told == cleaned.text:
        return Harmless(told, cleaned.hidden)
    # Entities and links may have brought hidden characters back.
    again = clean(told)
    return Harmless(again.text, cleaned.hidden + again.hidden, shown.removed + comments, shown.cut)


def harmless_json(value: Any) -> Harmless:
    """Return a value as readable JSON whose texts are harmless, and the counts of all of them together.

    Keys are sorted, because stored JSON does not keep their order. Of more than ``MOST_PAGES`` texts that may be pages
    the others are left out: each costs a parser of its own.
    """
    made = _Texts()
    text = json.dumps(_harmless_leaves(value, made), ensure_ascii=False, sort_keys=True, default=str)
    hidden, removed, cut = (sum(getattr(one, name) for one in made.made) for name in ("hidden", "removed", "cut"))
    return Harmless(text, hidden, removed, cut)


class _Texts:
    """The texts of one value, made harmless one after the other."""

    def __init__(self) -> None:
        self.made: list[Harmless] = []
        self.pages = 0

    def add(self, text: str) -> str:
        self.pages += "<" in text
        left_out = "<" in text and self.pages > MOST_PAGES
        self.made.append(Harmless(LEFT_OUT, cut=len(text)) if left_out else harmless(text))
        return self.made[-1].text


def _harmless_leaves(value: Any, made: _Texts) -> Any:
    if isinstance(value, str):
        return made.add(value)
    if isinstance(value, Mapping):
        return {name: _harmless_leaves(item, made) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_harmless_leaves(item, made) for item in value]
    return value


def wrap(text: str | Harmless, *, source: str, marker: str, limit: int) -> Wrapped:
    """Return ``text``, made harmless and cut to ``limit`` characters, fenced with ``marker`` as data from ``source``.

    ``source`` is our own word for where the text came from. A marker inside the text is removed, so that
    no text can end its own fence.
    """
    told = harmless(text) if isinstance(text, str) else text
    cleaned = clean(told.text)
    unmarked = re.sub(re.escape(marker), MARKER_REMOVED, cleaned.text, flags=re.IGNORECASE)
    body, cut = cut_middle(unmarked, limit, marker)
    fenced = f'<untrusted id="{marker}" source="{source}">\n{body}\n</untrusted id="{marker}">'
    return Wrapped(fenced, told.cut + cut, told.hidden + cleaned.hidden, told.removed)
