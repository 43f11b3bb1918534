"""Schemas are closed and bounded, and what they let through is exact."""

import pytest

from agentops.registry.schemas import problems_of, validator, violations

AMOUNT = {
    "type": "object",
    "properties": {"minor": {"type": "integer", "minimum": 1, "maximum": 10**9}},
    "required": ["minor"],
    "additionalProperties": False,
}


@pytest.mark.parametrize("value", [{"minor": 1.0}, {"minor": 1.5}, {"minor": float("nan")}, {"minor": [2.0]}])
def test_fraction_is_refused_at_its_place(value: object) -> None:
    found = violations(validator(AMOUNT), value)
    assert len(found) == 1
    assert found[0].path.startswith("minor")


@pytest.mark.parametrize(
    "value", [{}, {"minor": 0}, {"minor": -1}, {"minor": 10**9 + 1}, {"minor": "1"}, {"minor": True}, [], None]
)
def test_wrong_value_is_refused(value: object) -> None:
    assert violations(validator(AMOUNT), value)


def test_right_value_passes() -> None:
    assert violations(validator(AMOUNT), {"minor": 1}) == []
    assert problems_of(AMOUNT) == []


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "object"}, "open object"),
        ({"type": "object", "additionalProperties": False, "properties": {"a": {"type": "string"}}}, "no bound"),
        ({"type": "array", "maxItems": 2, "items": {"type": "number"}}, "is a number"),
        ({"$ref": "https://example.com/schema"}, "uses $ref"),
        ({"anyOf": [{"type": "array"}]}, "no bound"),
        ({"type": "nonsense"}, "not a JSON Schema"),
    ],
)
def test_unsafe_schema_is_named(schema: dict[str, object], problem: str) -> None:
    assert any(problem in found for found in problems_of(schema))


def test_pattern_that_backtracks_elsewhere_is_linear_here() -> None:
    checker = validator({"type": "string", "maxLength": 200_000, "pattern": "^(a+)+$"})
    assert violations(checker, "a" * 100_000 + "!")
