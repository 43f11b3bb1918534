"""Arguments as a model or an outside agent may send them: each is refused by a typed answer with bounded work.

Work is counted in lines of Python. The schema's validator and the reader of JSON are libraries in C and Rust, whose
work is not seen: what a pattern may cost is bounded where schemas are checked.
"""

from dataclasses import replace
from typing import Any

import pytest

from agentops.gateway.prepare import MAX_ARGUMENT_BYTES, Prepared, Refusal, prepare
from agentops.registry.planner import ToolCall
from agentops.registry.role import RoleSpec
from tests.factories.effort import lines_of
from tests.factories.toy import Toy
from tests.gateway.tools import CONTEXT, READ

MOST_LINES = 3 * MAX_ARGUMENT_BYTES

TOOL = replace(
    READ,
    input_schema={
        "type": "object",
        "properties": {
            "minor": {"type": "integer", "minimum": 0, "maximum": 10**9},
            "note": {"type": "string", "maxLength": 50_000, "pattern": "^(a+)+$"},
            "many": {
                "type": "array",
                "maxItems": 5,
                "items": {"anyOf": [{"type": "integer", "maximum": 9}, {"type": "null"}]},
            },
        },
        "additionalProperties": False,
    },
)


def role() -> RoleSpec:
    return replace(Toy().spec(), tools=(TOOL,))


def sent(arguments: dict[str, Any] | str) -> tuple[Prepared | Refusal, int]:
    """What the door answers, and how many lines of Python it took."""
    call, answers = ToolCall(TOOL.name, arguments), list[Prepared | Refusal]()
    TOOL.checks_input.is_valid({})

    def ask() -> None:
        answers.append(prepare(call=call, role=role(), granted=frozenset({TOOL.name}), context=CONTEXT))

    lines = lines_of(ask)
    return answers[0], lines


def deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


TEXTS = {
    "duplicate key": ('{"minor": 1, "minor": 900}', "BAD_JSON"),
    "duplicate key, written differently": ('{"minor": 1, "\\u006dinor": 900}', "BAD_JSON"),
    "duplicate key inside": ('{"many": [{"a": 1, "a": 2}]}', "BAD_JSON"),
    "NaN": ('{"minor": NaN}', "BAD_JSON"),
    "Infinity": ('{"minor": Infinity}', "BAD_JSON"),
    "-Infinity": ('{"minor": -Infinity}', "BAD_JSON"),
    "too large for a float": ('{"minor": 1e999}', "VALIDATION"),
    "too small for a float": ('{"minor": -1e999}', "VALIDATION"),
    "fraction": ('{"minor": 1.5}', "VALIDATION"),
    "whole number as a fraction": ('{"minor": 1.0}', "VALIDATION"),
    "whole number with an exponent": ('{"minor": 1e2}', "VALIDATION"),
    "above 2^53": ('{"minor": 9007199254740993}', "VALIDATION"),
    "above 2^64": ('{"minor": 18446744073709551617}', "VALIDATION"),
    "4,000 digits": ('{"minor": ' + "9" * 4_000 + "}", "VALIDATION"),
    "90,000 digits": ('{"minor": ' + "9" * 90_000 + "}", "BAD_JSON"),
    "200 levels": ('{"many": ' + "[" * 200 + "]" * 200 + "}", "VALIDATION"),
    "40,000 levels": ('{"many": ' + "[" * 40_000 + "]" * 40_000 + "}", "BAD_JSON"),
    "40,000 levels of objects": ('{"a":' * 19_000 + "1" + "}" * 19_000, "BAD_JSON"),
    "1 MB": ('{"note": "' + "a" * 1_000_000 + '"}', "BAD_JSON"),
    "1 MB in a few characters too many": ('{"note": "' + "€" * 40_000 + '"}', "BAD_JSON"),
    "many keys": ("{" + ",".join(f'"k{n}": 1' for n in range(8_000)) + "}", "VALIDATION"),
    "many items": ('{"many": [' + ",".join("7" for _ in range(45_000)) + "]}", "VALIDATION"),
    "half a surrogate pair": ('{"note": "\\ud800"}', "VALIDATION"),
    "half a surrogate pair as it is": ('{"note": "\ud800"}', "BAD_JSON"),
    "half a surrogate pair in a key": ('{"\\udfff": 1}', "VALIDATION"),
    "NUL": ('{"note": "a\\u0000"}', "VALIDATION"),
    "text that drives a backtracking engine mad": ('{"note": "' + "a" * 49_999 + '!"}', "VALIDATION"),
    "no object": ("[1]", "BAD_JSON"),
    "null": ("null", "BAD_JSON"),
    "nothing": ("", "BAD_JSON"),
    "two values": ('{"minor": 1} {"minor": 900}', "BAD_JSON"),
    "comment": ('{"minor": 1} // 900', "BAD_JSON"),
    "comma at the end": ('{"minor": 1,}', "BAD_JSON"),
    "single quotes": ("{'minor': 1}", "BAD_JSON"),
    "byte order mark": ('\ufeff{"minor": 1}', "BAD_JSON"),
    "wrong type": ('{"minor": "1"}', "VALIDATION"),
    "truth as a number": ('{"minor": true}', "VALIDATION"),
    "unknown argument": ('{"amount": 1}', "VALIDATION"),
}


@pytest.mark.parametrize(("text", "code"), TEXTS.values(), ids=list(TEXTS))
def test_text_is_refused_with_a_reason_and_bounded_work(text: str, code: str) -> None:
    answer, lines = sent(text)
    assert isinstance(answer, Refusal)
    assert (answer.code, bool(answer.message), bool(answer.next_step)) == (code, True, True)
    assert len(answer.message) <= 2_000
    assert lines < MOST_LINES


VALUES = {
    "NaN": ({"minor": float("nan")}, "VALIDATION"),
    "infinity": ({"minor": float("inf")}, "VALIDATION"),
    "levels": ({"many": deep(5_000)}, "VALIDATION"),
    "1 MB": ({"note": "a" * 1_000_000}, "VALIDATION"),
    "strange type": ({"many": {1, 2}}, "VALIDATION"),
    "strange key": ({1: 2}, "VALIDATION"),
    "bytes": ({"note": b"a"}, "VALIDATION"),
}


@pytest.mark.parametrize(("value", "code"), VALUES.values(), ids=list(VALUES))
def test_value_is_refused_with_a_reason_and_bounded_work(value: dict[str, Any], code: str) -> None:
    answer, lines = sent(value)
    assert isinstance(answer, Refusal)
    assert (answer.code, bool(answer.message)) == (code, True)
    assert lines < MOST_LINES


@pytest.mark.parametrize("text", ["{}", '{"minor": 1}', '{"note": "aaa", "many": [1, null]}', ' {"minor": 0} '])
def test_plain_arguments_are_let_through(text: str) -> None:
    answer, _ = sent(text)
    assert isinstance(answer, Prepared)


def test_the_largest_text_is_let_through() -> None:
    assert MAX_ARGUMENT_BYTES == 100_000
    answer, lines = sent('{"note": "' + "a" * 50_000 + '"}' + " " * 49_000)
    assert isinstance(answer, Prepared)
    assert lines < MOST_LINES
