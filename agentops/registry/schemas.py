"""Validation of arguments and results against a tool's JSON Schema, closed and bounded.

Schemas may not point anywhere (no ``$ref`` at all), every object is closed, every text, list and number
is bounded, and patterns run on an engine without backtracking. ``problems_of`` says which rule a schema
breaks; system checks run it over every registered tool.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jsonschema
import jsonschema_rs

from agentops.kernel.canonical import canonical_bytes, loads

Validator = jsonschema_rs.Draft202012Validator


@dataclass(frozen=True)
class Violation:
    """One thing wrong with a value. ``path`` is dotted, empty for the value as a whole."""

    path: str
    message: str


@lru_cache(maxsize=512)
def _compiled(schema: bytes) -> Validator:
    return jsonschema_rs.Draft202012Validator(loads(schema), pattern_options=jsonschema_rs.RegexOptions())


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
    place = _float_at(value)
    if place is not None:
        return [Violation(place, "must be a whole number, not a decimal fraction")]
    if checker.is_valid(value):
        return []
    found = []
    for error in checker.iter_errors(value):
        found.append(Violation(".".join(str(part) for part in error.instance_path), _short(error.message)))
        if len(found) == most:
            break
    return found


def _short(message: str) -> str:
    return message if len(message) <= 300 else f"{message[:140]} … {message[-140:]}"


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


_BOUNDS = {
    "string": ("maxLength", "enum", "const"),
    "array": ("maxItems",),
    "integer": ("maximum", "enum", "const"),
    "object": ("additionalProperties",),
}


def problems_of(schema: Mapping[str, Any]) -> list[str]:
    """Return the rules that a tool's input schema breaks, as sentences; empty when it is safe to use."""
    try:
        jsonschema.Draft202012Validator.check_schema(dict(schema))
    except jsonschema.SchemaError as error:
        return [f"is not a JSON Schema: {error.message}"]
    return list(_problems(schema, "input"))


def _problems(schema: Any, path: str) -> Iterator[str]:
    if isinstance(schema, list):
        for index, part in enumerate(schema):
            yield from _problems(part, f"{path}[{index}]")
    elif isinstance(schema, Mapping):
        yield from _own_problems(schema, path)
        for name, part in schema.get("properties", {}).items():
            yield from _problems(part, f"{path}.{name}")
        for word in ("items", "anyOf", "oneOf", "allOf"):
            yield from _problems(schema.get(word), f"{path}.{word}")


def _own_problems(schema: Mapping[str, Any], path: str) -> Iterator[str]:
    for word in ("$ref", "$dynamicRef", "patternProperties"):
        if word in schema:
            yield f"{path} uses {word}"
    kind = schema.get("type")
    if kind == "number":
        yield f"{path} is a number; use an integer of the smallest unit"
    bounds = _BOUNDS.get(kind, ()) if isinstance(kind, str) else ()
    if bounds and not any(bound in schema for bound in bounds):
        yield f"{path} has no bound ({' or '.join(bounds)})"
    if kind == "object" and schema.get("additionalProperties") is not False:
        yield f"{path} is an open object"
