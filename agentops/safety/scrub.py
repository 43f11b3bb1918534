"""Takes the secrets of a call out of whatever the call brought back (pure).

A known value is found as it is, backwards, as hexadecimal, as base64 at any alignment and in both alphabets, inside
longer encoded text, with escapes of JSON, addresses and HTML, and spread over spaces, dashes, lines or list items.
Values that nobody told us of are found by their shape (``agentops.safety.shapes``). What was encoded twice, encrypted
or compressed is not found: this keeps accidents out of records and prompts, and is no control.
"""

import base64
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import orjson

from agentops.kernel.canonical import JSON, BadJSON, parse_json
from agentops.kernel.errors import AgentOpsError
from agentops.registry.preview_parts import BadPart, part_of
from agentops.registry.tool import Change, Preview
from agentops.safety.shapes import REMOVED, hide_shapes, may_hold
from agentops.safety.views import MOST_LEVELS, View, as_bytes, levels, packed, solid

FEWEST_CHARACTERS = 8
MOST_CHARACTERS = 65_536
_FEWEST_LINE = 16
_BASE64 = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_")


class SecretUnfit(AgentOpsError):
    """A secret that cannot be told from ordinary text: too short, or part of our own words. Or far too long."""

    code = "SECRET_UNFIT"
    next_step = "Give the capability a longer random value: at least 8 characters besides spaces and dashes."


@dataclass(frozen=True)
class _Patterns:
    """What is searched for in each kind of view. ``loose``: the characters beside it hold bits of the secret too."""

    solid: frozenset[bytes] = frozenset()
    packed: frozenset[bytes] = frozenset()
    lower: frozenset[bytes] = frozenset()
    loose: frozenset[bytes] = frozenset()

    def found_in(self, raw: bytes, most: int = MOST_LEVELS) -> bool:
        """Return whether one of them stands in ``raw`` or in what it is unescaped."""
        return any(self._found_at(level) for level in levels(raw, most))

    def _found_at(self, raw: bytes) -> bool:
        letters, whole = packed(raw), solid(raw)
        lower = letters.lower()
        return (
            any(pattern in whole for pattern in self.solid)
            or any(pattern in letters for pattern in self.packed)
            or any(pattern in lower for pattern in self.lower)
        )

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """Yield where they stand in ``text``, as characters ``[start, end)``."""
        view: View | None = View.of(text)
        for _ in range(MOST_LEVELS + 1):
            if view is None:
                return
            letters = view.packed()
            lower = View(letters.raw.lower(), letters.starts, letters.ends)
            for where, patterns in ((view.solid(), self.solid), (letters, self.packed), (lower, self.lower)):
                for pattern in patterns:
                    for start, end in where.spans(pattern):
                        yield _widened(text, start, end) if pattern in self.loose else (start, end)
            view = view.unescaped()


def _widened(text: str, start: int, end: int) -> tuple[int, int]:
    """Take in the characters of base64 that the secret shares with its neighbours, and the filling at the end."""
    if start and text[start - 1] in _BASE64:
        start -= 1
    if end < len(text) and text[end] in _BASE64:
        end += 1
    while end < len(text) and text[end] == "=":
        end += 1
    return start, end


class Scrubber:
    """The secrets of one call, ready to be searched for."""

    def __init__(self, values: Iterable[str] = ()) -> None:
        """Take the values. Raises SecretUnfit for one that must not be used."""
        parts = [part for value in values for part in _parts(value)]
        self._known = _patterns(parts) if parts else None
        if self._known is not None and self._known.found_in(REMOVED.encode()):
            raise SecretUnfit("The secret is part of the words that stand for a secret.")

    def value(self, value: JSON) -> tuple[JSON, int]:
        """Return a canonical JSON value without secrets, and how many places were changed. Linear in its size."""
        if not self._suspects(orjson.dumps(value)):
            return value, 0
        return self._walk(value)

    def text(self, text: str) -> tuple[str, int]:
        """Return ``text`` without secrets, and how many places were changed. Linear in its size."""
        raw = as_bytes(text)
        count = 0
        if self._known is not None and self._known.found_in(raw):
            text, count = self._without_known(self._known, text)
        if may_hold(raw):
            text, shapes = hide_shapes(text)
            count += shapes
        return text, count

    def preview(self, preview: Preview) -> tuple[Preview, int]:
        """Return a dry run without secrets, and how many places were changed. Raises TypeError when it is no JSON."""
        if not self._suspects(orjson.dumps(preview.as_json())):
            return preview, 0
        told = {
            "effect": preview.effect,
            "target": preview.target,
            "changes": [[change.label, change.before, change.after] for change in preview.changes],
            "versions": dict(preview.versions),
            "parts": [part.as_json() for part in preview.parts],
        }
        clean, count = self._walk(told)
        if not count:
            return preview, 0
        nothing = replace(preview, effect=REMOVED, target=REMOVED, changes=(), versions={}, parts=())
        if not isinstance(clean, dict) or not _is_preview(clean):
            return nothing, count
        changes = tuple(Change(*change) for change in clean["changes"])
        try:
            parts = tuple(part_of(part) for part in clean["parts"])
        except BadPart:
            return nothing, count
        return replace(preview, **{**clean, "changes": changes, "parts": parts}), count

    def _suspects(self, raw: bytes) -> bool:
        """Return whether ``raw``, JSON or text with one more level of escapes, may hold anything."""
        return may_hold(raw) or (self._known is not None and self._known.found_in(raw, MOST_LEVELS + 1))

    def _walk(self, value: JSON) -> tuple[JSON, int]:
        """Scrub the leaves. What still gives a secret away then, because it is spread over them, goes as a whole."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, bool) or value is None:
            return value, 0
        if isinstance(value, int | float):
            text, count = self.text(str(value))
            return (text, count) if count else (value, 0)
        clean: JSON
        if isinstance(value, Mapping):
            clean, count = self._walk_object(value)
        else:
            items = [self._walk(item) for item in value]
            clean, count = [item for item, _ in items], sum(found for _, found in items)
        if self._known is not None and self._known.found_in(orjson.dumps(clean), MOST_LEVELS + 1):
            return REMOVED, count + 1
        return clean, count

    def _walk_object(self, value: Mapping[str, Any]) -> tuple[dict[str, JSON], int]:
        clean: dict[str, JSON] = {}
        count = 0
        for name, item in value.items():
            key, in_key = self.text(name)
            while key in clean:
                key += "'"
            clean[key], in_item = self._walk(item)
            count += in_key + in_item
        return clean, count

    @staticmethod
    def _without_known(known: _Patterns, text: str) -> tuple[str, int]:
        parts, count, done = [], 0, 0
        for start, end in _merged(known.spans(text)):
            parts += [text[done:start], REMOVED]
            count, done = count + 1, end
        clean = "".join([*parts, text[done:]])
        # Whatever the views make of what is left, a secret does not stay in it.
        return (REMOVED, max(count, 1)) if known.found_in(as_bytes(clean)) else (clean, count)


def _is_preview(clean: dict[str, JSON]) -> bool:
    """Return whether the parts of a dry run are still what they were: one could have been removed as a whole."""
    changes = clean.get("changes")
    return (
        isinstance(clean.get("versions"), dict)
        and isinstance(clean.get("parts"), list)
        and isinstance(changes, list)
        and all(isinstance(change, list) for change in changes)
    )


def _merged(spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the spans in order, those that overlap or touch as one."""
    first, last = -1, -1
    for start, end in sorted(spans):
        if start > last:
            if first >= 0:
                yield first, last
            first, last = start, end
        last = max(last, end)
    if first >= 0:
        yield first, last


def _parts(value: str) -> Iterator[str]:
    """Yield a secret and the parts of it that a tool may use alone: its lines, and the texts inside its JSON."""
    size = len(solid(as_bytes(value)).decode("utf-8", "replace"))
    if size < FEWEST_CHARACTERS or len(value) > MOST_CHARACTERS:
        words = "shorter than 8 characters" if size < FEWEST_CHARACTERS else "longer than 65536 characters"
        raise SecretUnfit(f"The secret is {words}.")
    yield value
    lines = [line for line in value.split("\n") if not line.startswith("-----")]
    if len(lines) > 1:
        yield from (line for line in lines if len(solid(as_bytes(line))) >= _FEWEST_LINE)
    if value.lstrip()[:1] in ("{", "["):
        try:
            yield from _texts_of(parse_json(value))
        except BadJSON:
            return


def _texts_of(value: JSON) -> Iterator[str]:
    if isinstance(value, str):
        if len(solid(as_bytes(value))) >= _FEWEST_LINE:
            yield value
    elif isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts_of(item)


def _patterns(values: Iterable[str]) -> _Patterns:
    whole, letters, lower, loose = set[bytes](), set[bytes](), set[bytes](), set[bytes]()
    for value in values:
        for text in (value, value[::-1]):
            raw = as_bytes(text)
            cores = set(_base64_cores(raw))
            whole.add(solid(raw))
            lower.add(raw.hex().encode())
            for plain in (raw, *cores):
                if len(packed(plain)) >= FEWEST_CHARACTERS:
                    letters.add(packed(plain))
                    loose |= {packed(plain)} if plain in cores else set()
                elif plain in cores:
                    whole |= {solid(plain), solid(plain.replace(b"/", b"_"))}
    return _Patterns(frozenset(whole), frozenset(letters), frozenset(lower), frozenset(loose))


def _base64_cores(raw: bytes) -> Iterator[bytes]:
    """Yield, for each of the three places in a group of three bytes, the base64 digits that depend on ``raw`` alone."""
    for before in range(3):
        digits = base64.b64encode(bytes(before) + raw + bytes(2))
        yield digits[math.ceil(before * 8 / 6) : (before + len(raw)) * 8 // 6]
