"""What changed between two versions of a tool's schemas, and what of it breaks a caller (pure).

What a tool takes may only widen: every call that was right stays right. What it returns may only narrow: whoever reads
it finds everything that was there, and nothing that was never possible. A change that may be either is taken as one
that breaks. Descriptions are no part of it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from agentops.kernel.canonical import fingerprint_bytes

Schema = Mapping[str, Any]


class Side(Enum):
    """Whether a schema says what a tool takes or what it returns. The value is the word before paths."""

    TAKES = "arguments"
    RETURNS = "result"


@dataclass(frozen=True)
class Change:
    """One difference, as words that begin with its place, such as ``arguments.note: maxLength was 300 and is 200``."""

    words: str
    breaks: bool


def changes(old: Schema, new: Schema, side: Side) -> list[Change]:
    """Return every difference between two versions of one schema."""
    return list(_changes(old, new, side, side.value))


def without_words(schema: Any) -> Any:
    """Return a schema without its descriptions and titles, which may be worded better in any version."""
    if isinstance(schema, list | tuple):
        return [without_words(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        word: {name: without_words(one) for name, one in part.items()}
        if word == "properties"
        else part
        if word in ("enum", "const")
        else without_words(part)
        for word, part in schema.items()
        if word not in ("description", "title")
    }


def _changes(old: Any, new: Any, side: Side, path: str) -> Iterator[Change]:
    old, new = _as_schema(old), _as_schema(new)
    for word, read, narrows in _FACETS:
        was, now = read(old, word), read(new, word)
        if was != now:
            first, second = (was, now) if side is Side.TAKES else (now, was)
            yield Change(f"{path}: {word} was {_said(was)} and is {_said(now)}", narrows(first, second))
    yield from _branches(old, new, side, path)
    yield from _members(old, new, side, path)
    if "items" in old or "items" in new:
        yield from _changes(old.get("items"), new.get("items"), side, f"{path}[]")


def _as_schema(schema: Any) -> Schema:
    """A schema that is not there, or is ``true``, lets everything through, as an empty one does."""
    return schema if isinstance(schema, Mapping) else {}


def _branches(old: Schema, new: Schema, side: Side, path: str) -> Iterator[Change]:
    for word, narrows in _BRANCHED:
        was, now = _set_of(old.get(word)), _set_of(new.get(word))
        if was != now:
            first, second = (was, now) if side is Side.TAKES else (now, was)
            yield Change(f"{path}: the branches of {word} changed", narrows(first, second))


def _members(old: Schema, new: Schema, side: Side, path: str) -> Iterator[Change]:
    """Properties. A caller gives what was asked for; a reader looks for what was there and overlooks what is new."""
    before, after = old.get("properties", {}), new.get("properties", {})
    needed, needs = frozenset(old.get("required", ())), frozenset(new.get("required", ()))
    takes = side is Side.TAKES
    for name in before:
        if name not in after:
            yield Change(f"{path}.{name} is gone", breaks=True)
    for name in after:
        if name not in before:
            words = "is new and required" if name in needs else "is new"
            yield Change(f"{path}.{name} {words}", takes and (name in needs or not _is_closed(old)))
            continue
        if (name in needs) != (name in needed):
            words = "is required now" if name in needs else "is no longer required"
            yield Change(f"{path}.{name} {words}", (name in needs) is takes)
        yield from _changes(before[name], after[name], side, f"{path}.{name}")
    for name in sorted((needs - needed) - after.keys()):
        yield Change(f"{path}.{name} is required now", takes)
    closed, closes = _is_closed(old), _is_closed(new)
    if closed != closes:
        words = "takes no other properties any more" if closes else "may hold other properties now"
        yield Change(f"{path} {words}", closes is takes)


def _is_closed(schema: Schema) -> bool:
    return schema.get("additionalProperties") is False


def _types(schema: Schema, _: str) -> frozenset[str] | None:
    """Return the types let through, None for any; without ``type`` those of the values written out."""
    kind = schema.get("type")
    if kind is not None:
        return frozenset([kind] if isinstance(kind, str) else kind)
    values = schema.get("enum") or ([schema["const"]] if "const" in schema else None)
    return None if values is None else frozenset(_type_of(value) for value in values)


def _type_of(value: Any) -> str:
    names = {type(None): "null", bool: "boolean", int: "integer", str: "string", list: "array", dict: "object"}
    return names.get(type(value), "number")


def _values(schema: Schema, _: str) -> frozenset[str] | None:
    """Return the values written out, as JSON: in Python, 1 and true are equal."""
    values = schema.get("enum", [schema["const"]] if "const" in schema else None)
    return None if values is None else frozenset(fingerprint_bytes(value).decode() for value in values)


def _least(schema: Schema, word: str) -> Any:
    """Return a lower bound. Numbers are whole, so one that is excluded is the next one included."""
    bounds = [schema.get(word)]
    if word == "minimum" and isinstance(schema.get("exclusiveMinimum"), int):
        bounds.append(schema["exclusiveMinimum"] + 1)
    return max((bound for bound in bounds if bound is not None), default=None)


def _most(schema: Schema, word: str) -> Any:
    bounds = [schema.get(word)]
    if word == "maximum" and isinstance(schema.get("exclusiveMaximum"), int):
        bounds.append(schema["exclusiveMaximum"] - 1)
    return min((bound for bound in bounds if bound is not None), default=None)


def _exact(schema: Schema, word: str) -> Any:
    return schema.get(word)


def _fewer(was: frozenset[Any] | None, now: frozenset[Any] | None) -> bool:
    return now is not None and (was is None or not was <= now)


def _fewer_types(was: frozenset[str] | None, now: frozenset[str] | None) -> bool:
    return _fewer(was, now | {"integer"} if now and "number" in now else now)


def _higher(was: Any, now: Any) -> bool:
    return now is not None and (was is None or now > was)


def _lower(was: Any, now: Any) -> bool:
    return now is not None and (was is None or now < was)


def _other(was: Any, now: Any) -> bool:
    """Whether one pattern lets through less than another is not asked: unless it is gone, it is taken as less."""
    return bool(now)


_Read = Callable[[Schema, str], Any]
_Narrows = Callable[[Any, Any], bool]
_FACETS: tuple[tuple[str, _Read, _Narrows], ...] = (
    ("type", _types, _fewer_types),
    ("enum", _values, _fewer),
    *((word, _least, _higher) for word in ("minLength", "minItems", "minProperties", "minimum")),
    *((word, _most, _lower) for word in ("maxLength", "maxItems", "maxProperties", "maximum")),
    *((word, _exact, _other) for word in ("pattern", "multipleOf", "uniqueItems")),
)


def _set_of(branches: Any) -> frozenset[bytes] | None:
    if not isinstance(branches, list):
        return None
    return frozenset(fingerprint_bytes(_sorted(without_words(branch))) for branch in branches)


def _sorted(schema: Any) -> Any:
    """The order of names does not matter; objects are sorted when they are written."""
    if isinstance(schema, Mapping):
        return {
            word: sorted(part) if word == "required" and isinstance(part, list) else _sorted(part)
            for word, part in schema.items()
        }
    return [_sorted(part) for part in schema] if isinstance(schema, list) else schema


def _other_branches(was: frozenset[bytes] | None, now: frozenset[bytes] | None) -> bool:
    return now is not None


def _more_branches(was: frozenset[bytes] | None, now: frozenset[bytes] | None) -> bool:
    return not (now or frozenset()) <= (was or frozenset())


# A value has to fit one branch of anyOf, all of allOf, and exactly one of oneOf: there, any other one may take from it.
_BRANCHED: tuple[tuple[str, _Narrows], ...] = (
    ("anyOf", _fewer),
    ("oneOf", _other_branches),
    ("allOf", _more_branches),
)


def _said(value: Any) -> str:
    if value is None:
        return "not set"
    if isinstance(value, frozenset):
        return " or ".join(sorted(value))
    return str(value)
