"""Schemas are closed and bounded, what they let through is exact, and the work of checking them is bounded.

Work is counted in lines of Python. Compiling and matching happen in a library in Rust, where it is not seen: an engine
that went back would not come to the end of the texts here.
"""

from collections.abc import Callable
from typing import Any

import pytest

from agentops.kernel.canonical import canonical_bytes
from agentops.registry import schemas
from agentops.registry.schemas import problems_of, validator, violations
from tests.factories.effort import lines_of

Schema = dict[str, Any]

AMOUNT: Schema = {
    "type": "object",
    "properties": {"minor": {"type": "integer", "minimum": 1, "maximum": 10**9}},
    "required": ["minor"],
    "additionalProperties": False,
}
TEXT: Schema = {"type": "string", "maxLength": 10}
MOST_LINES = 3 * schemas.MAX_SCHEMA_BYTES


@pytest.mark.parametrize("value", [{"minor": 1.0}, {"minor": 1.5}, {"minor": float("nan")}, {"minor": [2.0]}])
def test_fraction_is_refused_at_its_place(value: object) -> None:
    found = violations(validator(AMOUNT), value)
    assert len(found) == 1
    assert found[0].path.startswith("minor")


@pytest.mark.parametrize(
    ("value", "path"), [(1.5, ""), ([1, [2.5]], "1.0"), ({"a": {"b": [1.5]}}, "a.b.0"), ([None, True, 2.5], "2")]
)
def test_place_of_a_fraction_is_dotted(value: object, path: str) -> None:
    assert [found.path for found in violations(validator(AMOUNT), value)] == [path]


@pytest.mark.parametrize(
    "value", [{}, {"minor": 0}, {"minor": -1}, {"minor": 10**9 + 1}, {"minor": "1"}, {"minor": True}, [], None]
)
def test_wrong_value_is_refused(value: object) -> None:
    assert violations(validator(AMOUNT), value)


def test_right_value_passes() -> None:
    assert violations(validator(AMOUNT), {"minor": 1}) == []
    assert problems_of(AMOUNT) == []


def obj(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties, "additionalProperties": False}


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "object"}, "input is an open object"),
        (obj({"a": {"type": "string"}}), "input.a has no bound (maxLength or enum or const)"),
        (obj({"a": {"type": ["string", "null"]}}), "input.a has no bound (maxLength or enum or const)"),
        (obj({"a": {"type": ["object", "null"]}}), "input.a is an open object"),
        (obj({"a": {"type": "integer"}}), "input.a has no bound (maximum or enum or const)"),
        (obj({"a": True}), "input.a is no schema of a certain value"),
        (obj({"a": {}}), "input.a names no type"),
        (obj({"a": {"description": "Anything."}}), "input.a names no type"),
        (obj({"a": {"anyOf": [TEXT, {"minLength": 1}]}}), "input.a names no type"),
        ({"type": "array", "maxItems": 2}, "input does not say what its items are"),
        ({"type": "array", "maxItems": 2, "items": {"type": "number"}}, "input.items is a number; use an integer"),
        ({"anyOf": [{"type": "array", "items": TEXT}]}, "input.anyOf[0] has no bound (maxItems)"),
        ({**obj({}), "required": ["a"]}, "input requires 'a', which it does not take"),
        ({"enum": []}, "input leaves nothing to choose"),
        ({"type": "nonsense"}, "input is not a JSON Schema at type:"),
        ({**TEXT, "maxLength": -1}, "input is not a JSON Schema at maxLength:"),
        ({"type": "integer", "maximum": 5, "multipleOf": 0.5}, "input has no exact form:"),
        ({**TEXT, "const": "\ud800"}, "input has no exact form:"),
        ({"type": "object", "properties": [TEXT], "additionalProperties": False}, "input is not a JSON Schema"),
        ({"anyOf": TEXT}, "input names no type"),
    ],
)
def test_unsafe_schema_is_named(schema: Schema, problem: str) -> None:
    found = problems_of(schema)
    assert [one for one in found if one.startswith(problem)], found


@pytest.mark.parametrize(
    "word",
    [
        *("$ref", "$dynamicRef", "$id", "$defs", "$schema", "$anchor", "definitions"),
        *("patternProperties", "propertyNames", "dependentSchemas", "unevaluatedProperties"),
        *("not", "if", "then", "contains", "prefixItems", "format", "contentMediaType"),
    ],
)
def test_word_that_is_not_written_out_is_refused(word: str) -> None:
    assert problems_of({**TEXT, word: "https://example.com/schema"}) == [f"input uses {word}"]


def test_remote_schema_is_never_fetched() -> None:
    with pytest.raises(ValueError, match="Retrieval is disabled"):
        validator({"$ref": "https://example.com/schema"})


def nested(levels: int, inside: Schema = TEXT) -> Schema:
    for _ in range(levels):
        inside = obj({"a": inside})
    return inside


def combined(word: str, levels: int, branches: int = 2) -> Schema:
    schema: Schema = TEXT
    for _ in range(levels):
        schema = {word: [schema] * branches}
    return schema


def text_of(most: int) -> Schema:
    return {"type": "string", "maxLength": most}


def patterned(pattern: str, most: int = 100) -> Schema:
    return {"type": "string", "maxLength": most, "pattern": pattern}


def described(most: int) -> Schema:
    """A schema whose canonical form has so many bytes."""
    return {**TEXT, "description": "a" * (most - len(canonical_bytes({**TEXT, "description": ""})))}


BOUNDS: list[tuple[Callable[[int], Schema], int, str]] = [
    (lambda n: nested(n - 1), schemas.MAX_NESTING, "stands deeper than 10 schemas"),
    (lambda n: obj({f"p{i}": {"type": "null"} for i in range(n)}), schemas.MAX_PROPERTIES, "parts in properties"),
    (lambda n: {"enum": list(range(n))}, schemas.MAX_CHOICES, "parts in enum"),
    (lambda n: {"anyOf": [TEXT] * n}, schemas.MAX_ALTERNATIVES, "parts in anyOf"),
    (lambda n: {"oneOf": [TEXT] * n}, schemas.MAX_ALTERNATIVES, "parts in oneOf"),
    (lambda n: {"allOf": [TEXT] * n}, schemas.MAX_ALTERNATIVES, "parts in allOf"),
    (lambda n: combined("anyOf", n), schemas.MAX_COMBINED, "combines schemas more than 2 times over"),
    (text_of, schemas.MAX_TEXT, "has a maxLength above 100000"),
    (lambda n: {"type": "array", "items": TEXT, "maxItems": n}, schemas.MAX_ITEMS, "has a maxItems above 10000"),
    (lambda n: patterned("a" * n), schemas.MAX_PATTERN, "has a pattern of more than 200 characters"),
    (lambda n: patterned("a", n), schemas.MAX_PATTERN_TEXT, "has a pattern and no maxLength of at most 10000"),
    (described, schemas.MAX_SCHEMA_BYTES, "is larger than 32768 bytes"),
]


@pytest.mark.parametrize(("make", "most", "problem"), BOUNDS, ids=[row[2] for row in BOUNDS])
def test_bound_lets_the_largest_through_and_the_next_not(
    make: Callable[[int], Schema], most: int, problem: str
) -> None:
    assert problems_of(make(most)) == []
    assert [one for one in problems_of(make(most + 1)) if problem in one]


BOMBS: dict[str, Callable[[], Schema]] = {
    "anyOf that doubles 30 times": lambda: combined("anyOf", 30),
    "allOf, 25 deep": lambda: combined("allOf", 25, branches=1),
    "allOf, 900 deep": lambda: combined("allOf", 900, branches=1),
    "oneOf, 16 times 16 times 16": lambda: combined("oneOf", 3, branches=16),
    "enum of a million": lambda: {"enum": list(range(1_000_000))},
    "one choice of 10 MB": lambda: {"enum": ["a" * 10_000_000]},
    "100,000 properties": lambda: obj({f"p{n}": TEXT for n in range(100_000)}),
    "100,000 unknown words": lambda: {**TEXT, **{f"w{n}": 1 for n in range(100_000)}},
    "1,000 unknown words": lambda: {**TEXT, **{f"w{n}": 1 for n in range(1_000)}},
    "900 levels of properties": lambda: nested(900),
    "900 levels of a constant": lambda: {"const": deep_list(900)},
    "patterns, 300 of them": lambda: obj({f"p{n}": patterned("a{500}b{500}c{500}") for n in range(300)}),
    "properties of properties": lambda: obj({f"p{n}": obj({f"q{m}": TEXT for m in range(90)}) for n in range(90)}),
}


def deep_list(levels: int) -> Any:
    value: Any = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("make", BOMBS.values(), ids=list(BOMBS))
def test_schema_bomb_is_refused_with_a_reason_and_bounded_work(make: Callable[[], Schema]) -> None:
    bomb, told = make(), list[list[str]]()
    assert lines_of(lambda: told.append(problems_of(bomb))) < MOST_LINES
    found = told[0]
    assert 1 <= len(found) <= schemas.MOST_PROBLEMS
    assert max(len(one) for one in found) < 500


@pytest.mark.parametrize(
    "pattern",
    [
        *("a{1000}{1000}", "(a{1000}){1000}", "((a{100}){100}){100}", "(" * 12 + "a" + "{9}" + "){9}" * 12),
        *("(?=a)b", "(?!a)b", "(?<=a)b", r"(a)\1", r"(?P<n>a)(?P=n)", "[", "(", "a{2,1}", "*"),
    ],
)
def test_pattern_that_repeats_too_often_or_needs_backtracking_is_refused(pattern: str) -> None:
    assert problems_of(patterned(pattern)) == [
        "input has a pattern that needs backtracking, repeats too often or is none"
    ]


@pytest.mark.parametrize(
    "pattern",
    [r"^[A-Z]{3}$", r"^#?[A-Z0-9-]{1,64}$", r"^[0-9a-f]{64}$", r"^[\p{L} .'-]{1,100}$", r"^\d{4}-\d{2}-\d{2}$"],
)
def test_usual_pattern_is_taken(pattern: str) -> None:
    assert problems_of(patterned(pattern)) == []


EVIL = [
    ("(a+)+$", "a", "!"),
    ("^(a|aa)+$", "a", "!"),
    ("^(a|a)*$", "a", "!"),
    ("(x+x+)+y", "x", ""),
    (r"^(\w+\s?)*$", "a", "!"),
    ("(.*a){5}b", "a", ""),
]


@pytest.mark.parametrize(("pattern", "letter", "end"), EVIL, ids=[row[0] for row in EVIL])
def test_evil_pattern_comes_to_the_end_of_a_long_text(pattern: str, letter: str, end: str) -> None:
    """With backtracking 40 letters are 2^40 steps."""
    assert problems_of(patterned(pattern)) == []
    checker = validator({"type": "string", "pattern": pattern})
    assert not checker.is_valid(letter * 200_000 + end)


def test_slowest_pattern_that_is_taken_comes_to_the_end() -> None:
    """An automaton with 2^120 states: what there is no memory for is worked out anew for every letter."""
    schema = patterned("[ab]*a[ab]{120}c", schemas.MAX_PATTERN_TEXT)
    assert problems_of(schema) == []
    checker = validator(schema)
    text = "".join("ab"[(n * n // 7 + n) % 2] for n in range(schemas.MAX_PATTERN_TEXT))
    assert [found.path for found in violations(checker, text)] == [""]


def test_output_is_named_as_such() -> None:
    assert problems_of({"type": "object"}, "output") == ["output is an open object"]


def test_validating_typical_arguments_is_a_few_lines() -> None:
    schema = obj({"order": text_of(64), "minor": AMOUNT["properties"]["minor"], "reason": text_of(500)})
    checker, value = validator(schema), {"order": "#W1042", "minor": 1200, "reason": "The mug arrived chipped."}
    assert violations(checker, value) == []
    assert lines_of(lambda: violations(checker, value)) < 30
