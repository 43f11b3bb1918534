"""Validation of arguments and results against a tool's JSON Schema, closed and bounded.

Schemas use a small written-out vocabulary and point nowhere (no ``$ref`` at all), every object is closed, every text,
list and number is bounded, and so is the schema itself; patterns run on an engine without backtracking. ``problems_of``
says which rule a schema breaks; system checks run it over what every registered tool takes and returns.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Any

import jsonschema_rs

from agentops.kernel.canonical import MAX_DEPTH, NotCanonical, canonical_bytes, loads

Validator = jsonschema_rs.Draft202012Validator

MAX_SCHEMA_BYTES = 32_768
"""The most bytes of a schema's canonical form, descriptions included."""

MAX_NESTING = 10
"""The most schemas below one another."""

MAX_PROPERTIES = 100
"""The most properties of one object."""

MAX_CHOICES = 200
"""The most values of one enum."""

MAX_ALTERNATIVES = 16
"""The most branches of one anyOf, oneOf or allOf."""

MAX_COMBINED = 2
"""The most such words below one another: the branches to try multiply with each."""

MAX_TEXT = 100_000
"""The most characters that a text may be allowed to have."""

MAX_ITEMS = 10_000
"""The most items that a list may be allowed to have."""

MAX_PATTERN = 200
"""The most characters of a pattern."""

MAX_PATTERN_TEXT = 10_000
"""The most characters that a text with a pattern may be allowed to have."""

MAX_PATTERN_BYTES = 20_000
"""The most bytes of a compiled pattern: time for a text is at most its length times this, and repetitions of
repetitions do not fit."""

MAX_PATTERN_CACHE = 1_000_000
"""The most bytes that matching one pattern may keep."""

MOST_PROBLEMS = 20
"""As many problems of one schema are told."""

_PATTERNS = jsonschema_rs.RegexOptions(size_limit=MAX_PATTERN_BYTES, dfa_size_limit=MAX_PATTERN_CACHE)


@dataclass(frozen=True)
class Violation:
    """One thing wrong with a value. ``path`` is dotted, empty for the value as a whole."""

    path: str
    message: str


def _compile(schema: Any) -> Validator:
    return jsonschema_rs.Draft202012Validator(schema, pattern_options=_PATTERNS, offline=True)


@lru_cache(maxsize=512)
def _compiled(schema: bytes) -> Validator:
    return _compile(loads(schema))


def validator(schema: Mapping[str, Any]) -> Validator:
    """Return the compiled validator of ``schema``; compiled once per distinct schema."""
    return _compiled(canonical_bytes(schema))


def violations(checker: Validator, value: Any, *, most: int = 5) -> list[Violation]:
    """Return what is wrong with ``value``, the first ``most`` things, empty when it is valid.

    A float is refused even where it is a whole number: it has no exact canonical form. What the validator
    cannot read at all, such as half a surrogate pair in a key or hundreds of levels, is one violation.
    """
    try:
        return _violations(checker, value, most)
    except (ValueError, RecursionError):
        return [Violation("", "is nested too deeply or holds text that cannot be read")]


def _violations(checker: Validator, value: Any, most: int) -> list[Violation]:
    if _holds_float(value):
        return [Violation(_float_at(value) or "", "must be a whole number, not a decimal fraction")]
    if checker.is_valid(value):
        return []
    return [
        Violation(".".join(str(part) for part in error.instance_path), _short(error.message))
        for error in islice(checker.iter_errors(value), most)
    ]


def _short(message: str) -> str:
    return message if len(message) <= 300 else f"{message[:140]} … {message[-140:]}"


def _holds_float(value: Any) -> bool:
    """Look at every value once. Nearly all hold none, so where one stands is asked for afterwards."""
    if isinstance(value, float):
        return True
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        kind = type(child)
        if kind is not str and kind is not int and _holds_float(child):
            return True
    return False


def _float_at(value: Any, path: str = "") -> str | None:
    if isinstance(value, float):
        return path
    children: Iterator[tuple[Any, Any]] = iter(())
    if isinstance(value, dict):
        children = iter(value.items())
    elif isinstance(value, list):
        children = iter(enumerate(value))
    for key, child in children:
        found = _float_at(child, f"{path}.{key}" if path else str(key))
        if found is not None:
            return found
    return None


_COMBINING = ("anyOf", "oneOf", "allOf")
_WORDS = frozenset(
    {
        *("type", "enum", "const", "description", "title"),
        *("properties", "required", "additionalProperties", "minProperties", "maxProperties"),
        *("items", "minItems", "maxItems", "uniqueItems"),
        *("minLength", "maxLength", "pattern"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
        *_COMBINING,
    }
)
_BOUNDS = {"string": ("maxLength", "enum", "const"), "array": ("maxItems",), "integer": ("maximum", "enum", "const")}
_LIMITS = (("maxLength", MAX_TEXT), ("maxItems", MAX_ITEMS))


def problems_of(schema: Mapping[str, Any], where: str = "input") -> list[str]:
    """Return the rules that a schema breaks, as sentences that begin with ``where``; empty when it is safe to use.

    Takes no longer for a schema of any size than for the largest one that is allowed.
    """
    if _is_too_large(schema):
        return [f"{where} is larger than {MAX_SCHEMA_BYTES} bytes or nested deeper than {MAX_DEPTH} levels"]
    try:
        size = len(canonical_bytes(schema))
    except NotCanonical as error:
        return [f"{where} has no exact form: {error.message}"]
    if size > MAX_SCHEMA_BYTES:
        return [f"{where} is larger than {MAX_SCHEMA_BYTES} bytes"]
    found = list(islice(_problems(schema, where), MOST_PROBLEMS))
    return found or list(_uncompiled(schema, where))


def _is_too_large(schema: Any) -> bool:
    """Weigh what is there at least, and stop at the limit: the value may be huge, or hold one part many times."""
    bytes_left, stack = MAX_SCHEMA_BYTES, [(schema, 0)]
    while stack:
        value, depth = stack.pop()
        bytes_left -= len(value) if isinstance(value, str) else 1
        children: Any = ()
        if isinstance(value, Mapping):
            children = value.values()
            bytes_left -= sum(len(name) for name in islice(value, MAX_SCHEMA_BYTES) if isinstance(name, str))
        elif isinstance(value, list | tuple):
            children = value
        if bytes_left < len(children) or (children and depth == MAX_DEPTH):
            return True
        stack += [(child, depth + 1) for child in children]
    return False


def _uncompiled(schema: Mapping[str, Any], where: str) -> Iterator[str]:
    try:
        _compile(schema)
    except jsonschema_rs.ValidationError as error:
        place = ".".join(str(part) for part in error.instance_path)
        yield f"{where} is not a JSON Schema{f' at {place}' if place else ''}: {_short(error.message)}"
    except ValueError as error:
        yield f"{where} is not a JSON Schema: {_short(str(error))}"


def _problems(schema: Any, path: str, *, depth: int = 1, combined: int = 0) -> Iterator[str]:
    """``combined``: how many anyOf, oneOf and allOf stand above; a branch of one may say a part of a schema."""
    if not isinstance(schema, Mapping):
        yield f"{path} is no schema of a certain value"
        return
    if depth > MAX_NESTING:
        yield f"{path} stands deeper than {MAX_NESTING} schemas"
        return
    yield from (f"{path} uses {_short(str(word))}" for word in schema if word not in _WORDS)
    yield from _unbounded(schema, path)
    yield from _too_many(schema, path)
    yield from _pattern_problems(schema, path)
    if not combined and not _is_typed(schema):
        yield f"{path} names no type"
    properties = schema.get("properties", {})
    for name, part in properties.items() if isinstance(properties, Mapping) else ():
        yield from _problems(part, f"{path}.{name}", depth=depth + 1)
    if "items" in schema:
        yield from _problems(schema["items"], f"{path}.items", depth=depth + 1)
    for word in _COMBINING:
        yield from _branch_problems(schema, word, path, depth, combined)


def _branch_problems(schema: Mapping[str, Any], word: str, path: str, depth: int, combined: int) -> Iterator[str]:
    branches = schema.get(word)
    if not isinstance(branches, list):
        return  # that it must be a list is said when it is compiled
    if combined == MAX_COMBINED:
        yield f"{path} combines schemas more than {MAX_COMBINED} times over"
        return
    for index, part in enumerate(branches[:MAX_ALTERNATIVES]):
        yield from _problems(part, f"{path}.{word}[{index}]", depth=depth + 1, combined=combined + 1)


def _is_typed(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    if any(word in schema for word in ("type", "enum", "const")):
        return True
    for word, enough in (("anyOf", all), ("oneOf", all), ("allOf", any)):
        branches = schema.get(word)
        if isinstance(branches, list) and branches and enough(_is_typed(branch) for branch in branches):
            return True
    return False


def _unbounded(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    kind = schema.get("type")
    for one in kind if isinstance(kind, list) else [kind]:
        bounds = _BOUNDS.get(one, ()) if isinstance(one, str) else ()
        if bounds and not any(bound in schema for bound in bounds):
            yield f"{path} has no bound ({' or '.join(bounds)})"
        if one == "number":
            yield f"{path} is a number; use an integer of the smallest unit"
        if one == "array" and "items" not in schema:
            yield f"{path} does not say what its items are"
        if one == "object" and schema.get("additionalProperties") is not False:
            yield f"{path} is an open object"
    if schema.get("additionalProperties", False) is not False and kind != "object":
        yield f"{path} is an open object"
    for word, most in _LIMITS:
        bound = schema.get(word)
        if isinstance(bound, int) and bound > most:
            yield f"{path} has a {word} above {most}"


def _too_many(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    found = (("properties", MAX_PROPERTIES), ("enum", MAX_CHOICES), *((word, MAX_ALTERNATIVES) for word in _COMBINING))
    for word, most in found:
        parts = schema.get(word)
        if isinstance(parts, Mapping | list) and len(parts) > most:
            yield f"{path} has {len(parts)} parts in {word}; the most is {most}"
    if schema.get("enum") == []:
        yield f"{path} leaves nothing to choose"
    known, required = schema.get("properties", {}), schema.get("required", ())
    if schema.get("additionalProperties") is False and isinstance(known, Mapping) and isinstance(required, list):
        missing = [name for name in required if name not in known]
        yield from (f"{path} requires {name!r}, which it does not take" for name in missing)


def _pattern_problems(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    pattern = schema.get("pattern")
    if not isinstance(pattern, str):
        return
    if len(pattern) > MAX_PATTERN:
        yield f"{path} has a pattern of more than {MAX_PATTERN} characters"
        return
    most = schema.get("maxLength")
    if not isinstance(most, int) or most > MAX_PATTERN_TEXT:
        yield f"{path} has a pattern and no maxLength of at most {MAX_PATTERN_TEXT}"
    try:
        _compile({"pattern": pattern})
    except ValueError:
        yield f"{path} has a pattern that needs backtracking, repeats too often or is none"
