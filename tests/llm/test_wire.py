import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.kernel.canonical import BadJSON, parse_json
from agentops.llm.wire import tool_inputs

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda child: st.lists(child, max_size=4) | st.dictionaries(st.text(max_size=5), child, max_size=4),
    max_leaves=12,
)


def body(*inputs: str) -> bytes:
    blocks = ",".join(f'{{"type":"tool_use","name":"t","input":{text}}}' for text in inputs)
    return f'{{"content":[{{"type":"text","text":"x"}},{blocks}]}}'.encode()


def test_duplicate_keys_and_digits_are_kept():
    text = '{"a":1,"a":{"b":1.50,"b":-0},"c":[1e999,12345678901234567890,NaN,null,true,"\\u0000"]}'
    assert tool_inputs(body(text)) == [text]
    with pytest.raises(BadJSON, match="stands twice"):
        parse_json(tool_inputs(body(text))[0])


def test_each_call_has_its_own_text():
    assert tool_inputs(body('{"a": 1}', "[]", '"text"')) == ['{"a":1}', "[]", '"text"']


@given(JSON)
def test_any_value_means_the_same_afterwards(value):
    assert json.loads(tool_inputs(body(json.dumps(value)))[0]) == value
