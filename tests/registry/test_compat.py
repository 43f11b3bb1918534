"""Which changes of a tool's schemas break those who call it, and those who read what it returns."""

from typing import Any

import pytest

from agentops.registry.compat import Side, changes, without_words

Schema = dict[str, Any]
TEXT: Schema = {"type": "string", "maxLength": 10}


def obj(properties: dict[str, Any], required: tuple[str, ...] = (), *, is_open: bool = False) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "required": list(required)}
    return schema if is_open else {**schema, "additionalProperties": False}


def breaking_changes(old_input: Schema, new_input: Schema, old_output: Schema, new_output: Schema) -> list[str]:
    """Return what in the new version breaks those who call the old one, and those who read it."""
    found = [*changes(old_input, new_input, Side.TAKES), *changes(old_output, new_output, Side.RETURNS)]
    return [change.words for change in found if change.breaks]


def of(part: Schema) -> Schema:
    return obj({"a": part}, ("a",))


NOTHING = obj({})
NUMBER: Schema = {"type": "integer", "minimum": 1, "maximum": 9}

ONE_WAY = [
    ("type", of({"type": ["string", "null"], "maxLength": 9}), of({"type": "string", "maxLength": 9})),
    ("enum", of({"enum": ["x", "y"]}), of({"enum": ["x"]})),
    ("enum added", of(TEXT), of({**TEXT, "enum": ["x"]})),
    ("true is not 1", of({"enum": [1, True]}), of({"enum": [1]})),
    ("const", of({"enum": ["x", "y"]}), of({"const": "x"})),
    ("maxLength", of(TEXT), of({**TEXT, "maxLength": 9})),
    ("minLength", of(TEXT), of({**TEXT, "minLength": 1})),
    ("minimum", of(NUMBER), of({**NUMBER, "minimum": 2})),
    ("maximum", of(NUMBER), of({**NUMBER, "maximum": 8})),
    ("exclusive", of(NUMBER), of({**NUMBER, "exclusiveMinimum": 1})),
    ("multipleOf", of(NUMBER), of({**NUMBER, "multipleOf": 5})),
    ("pattern", of(TEXT), of({**TEXT, "pattern": "^x"})),
    (
        "maxItems",
        of({"type": "array", "items": TEXT, "maxItems": 9}),
        of({"type": "array", "items": TEXT, "maxItems": 1}),
    ),
    ("items", of({"type": "array", "items": TEXT}), of({"type": "array", "items": {**TEXT, "maxLength": 1}})),
    ("uniqueItems", of({"type": "array", "items": TEXT}), of({"type": "array", "items": TEXT, "uniqueItems": True})),
    ("anyOf", of({"anyOf": [TEXT, {"type": "null"}]}), of({"anyOf": [TEXT]})),
    ("allOf", of({**TEXT, "allOf": [{"minLength": 1}]}), of({**TEXT, "allOf": [{"minLength": 1}, {"enum": ["x"]}]})),
    ("required", obj({"a": TEXT}), obj({"a": TEXT}, ("a",))),
    ("closed", obj({"a": TEXT}, is_open=True), obj({"a": TEXT})),
    (
        "deep",
        of(of({"type": "array", "items": of(TEXT)})),
        of(of({"type": "array", "items": of({**TEXT, "maxLength": 5})})),
    ),
]
"""What it is called, a schema, and a narrower one."""


@pytest.mark.parametrize(("wide", "narrow"), [row[1:] for row in ONE_WAY], ids=[row[0] for row in ONE_WAY])
def test_arguments_may_widen_and_results_may_narrow(wide: Schema, narrow: Schema) -> None:
    assert breaking_changes(wide, narrow, NOTHING, NOTHING)
    assert breaking_changes(narrow, wide, NOTHING, NOTHING) == []
    assert breaking_changes(NOTHING, NOTHING, narrow, wide)
    assert breaking_changes(NOTHING, NOTHING, wide, narrow) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (of({**TEXT, "pattern": "^x"}), of({**TEXT, "pattern": "^y"})),
        (of({"oneOf": [TEXT, {"type": "null"}]}), of({"oneOf": [TEXT, {"type": "boolean"}]})),
        (of(TEXT), of(NUMBER)),
        (of(TEXT), obj({})),
    ],
    ids=["pattern", "oneOf", "other type", "property gone"],
)
def test_what_may_be_either_breaks_both(old: Schema, new: Schema) -> None:
    assert breaking_changes(old, new, NOTHING, NOTHING)
    assert breaking_changes(NOTHING, NOTHING, old, new)


def test_new_property_breaks_callers_only_when_it_is_required() -> None:
    old, optional, required = obj({}), obj({"a": TEXT}), obj({"a": TEXT}, ("a",))
    assert breaking_changes(old, optional, old, required) == []
    assert breaking_changes(old, required, old, old) == ["arguments.a is new and required"]
    opened = obj({}, is_open=True)
    assert breaking_changes(opened, obj({"a": TEXT}, is_open=True), old, old) == ["arguments.a is new"]


def test_every_change_is_named_in_words() -> None:
    old_input = obj({"order": TEXT, "note": TEXT, "kind": {"type": "string", "enum": ["x", "y"]}}, ("order",))
    new_input = obj({"order": {**TEXT, "maxLength": 8}, "kind": {"type": "string", "enum": ["x", "z"]}}, ("kind",))
    old_output, new_output = obj({"id": TEXT, "left": NUMBER}, ("id", "left")), obj({"id": TEXT}, ())
    assert breaking_changes(old_input, new_input, old_output, new_output) == [
        "arguments.note is gone",
        "arguments.order: maxLength was 10 and is 8",
        "arguments.kind is required now",
        'arguments.kind: enum was "x" or "y" and is "x" or "z"',
        "result.left is gone",
        "result.id is no longer required",
    ]


def test_descriptions_and_order_are_no_change() -> None:
    old = obj({"a": {**TEXT, "description": "Old."}, "b": {"enum": ["x", "y"]}}, ("a", "b"))
    new = obj({"b": {"enum": ["y", "x"]}, "a": {**TEXT, "title": "New."}}, ("b", "a"))
    assert changes(old, new, Side.TAKES) == []
    assert changes(of({"anyOf": [{"description": "A"}]}), of({"anyOf": [{"description": "B"}]}), Side.TAKES) == []


def test_only_words_are_left_out_of_a_schema() -> None:
    named = obj({"description": {**TEXT, "description": "Of the thing."}, "title": {"const": {"title": "x"}}})
    assert without_words(named) == obj({"description": TEXT, "title": {"const": {"title": "x"}}})


def test_widening_is_told_without_breaking() -> None:
    found = changes(of(TEXT), of({**TEXT, "maxLength": 20}), Side.TAKES)
    assert [(change.words, change.breaks) for change in found] == [("arguments.a: maxLength was 10 and is 20", False)]
