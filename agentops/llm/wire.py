"""Tool arguments as a provider wrote them, before any reader has dropped a duplicate key. Pure."""

import json
from collections.abc import Iterator
from typing import Any


class _Object(dict[str, Any]):
    """A JSON object that also keeps the pairs that a dictionary would drop."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


class _Literal(str):
    """A number or constant in the digits in which it was written."""

    __slots__ = ()


def tool_inputs(body: bytes) -> list[str]:
    """Return the arguments of each ``tool_use`` block in the body of an Anthropic message, as JSON text.

    Every key stands as often as it was sent, and every number in its own digits, so that a strict reader
    sees what the model wrote. Raises ValueError, KeyError, TypeError or RecursionError for another body.
    """
    message = json.loads(
        body, object_pairs_hook=_Object, parse_int=_Literal, parse_float=_Literal, parse_constant=_Literal
    )
    return ["".join(_render(block["input"])) for block in message["content"] if block["type"] == "tool_use"]


def _render(value: Any) -> Iterator[str]:
    if isinstance(value, _Literal):
        yield value
    elif isinstance(value, _Object):
        yield from _join("{", "}", ((f"{json.dumps(key)}:", child) for key, child in value.pairs))
    elif isinstance(value, list):
        yield from _join("[", "]", (("", child) for child in value))
    else:
        yield json.dumps(value)


def _join(opening: str, closing: str, items: Iterator[tuple[str, Any]]) -> Iterator[str]:
    yield opening
    for index, (prefix, child) in enumerate(items):
        yield f",{prefix}" if index else prefix
        yield from _render(child)
    yield closing
