"""Canonical JSON, checked against the library that implements the whole of RFC 8785."""

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from agentops.kernel.canonical import (
    MAX_DEPTH,
    MAX_INTEGER,
    BadJSON,
    NotCanonical,
    canonical_bytes,
    loads,
    parse_json,
)

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
KEYS = st.text(st.characters(max_codepoint=127, exclude_characters="\x00"))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-MAX_INTEGER, MAX_INTEGER) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)


@given(VALUES)
def test_bytes_equal_those_of_the_reference_implementation(value: object) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(value)
    assert loads(canonical_bytes(value)) == value


@pytest.mark.parametrize(
    "value",
    [1.0, float("nan"), MAX_INTEGER + 1, {"é": 1}, {1: 2}, "\ud800", "a\x00", b"x", {"a": object()}, {"a": {2}}],
)
def test_value_without_one_form_is_refused(value: object) -> None:
    with pytest.raises(NotCanonical):
        canonical_bytes(value)


def test_deep_nesting_is_refused() -> None:
    value: object = 1
    for _ in range(MAX_DEPTH):
        value = [value]
    assert canonical_bytes(value)
    with pytest.raises(NotCanonical):
        canonical_bytes([value])


@pytest.mark.parametrize(
    "text",
    [
        '{"a": 1, "a": 2}',
        '{"x": {"b": 1, "b": 1}}',
        "NaN",
        "[Infinity]",
        "[-Infinity]",
        "{",
        "",
        '{"a": 1} {"b": 2}',
        "[" * 100_000,
        b"\xff\xfe",
        '"' + "a" * 1_000_001 + '"',
    ],
)
def test_text_that_is_not_one_clear_value_is_refused(text: str | bytes) -> None:
    with pytest.raises(BadJSON):
        parse_json(text)


def test_duplicate_key_is_named() -> None:
    with pytest.raises(BadJSON, match="'amount' stands twice"):
        parse_json('{"amount": 1, "amount": 9}')
