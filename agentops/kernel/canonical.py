"""Canonical JSON (RFC 8785) for values that are hashed, and strict reading of JSON from outside.

orjson with sorted keys writes the same bytes as RFC 8785 for the values accepted here: text, booleans,
null, integers below 2^53 in size, lists, and objects whose keys are ASCII. Everything else is refused
rather than written differently, so amounts are integers of minor units and long ids are text.
"""

import hashlib
import json
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, cast

import orjson

from agentops.kernel.errors import AgentOpsError

JSON = Any  # null, bool, int, str, list and dict, nested; checked by `require_canonical`

MAX_INTEGER = 2**53 - 1
MAX_DEPTH = 32
MAX_BYTES = 1_000_000


class NotCanonical(AgentOpsError):
    """A value that has no canonical form here: a float, a huge integer, a strange key, too deep."""

    code = "NOT_CANONICAL"
    next_step = "Use integers, text, lists and objects with plain ASCII keys."


class BadJSON(AgentOpsError):
    """Text from outside that is not JSON as we accept it."""

    code = "BAD_JSON"
    next_step = "Send one JSON value without duplicate keys, NaN or infinities."


def require_canonical(value: JSON, *, depth: int = MAX_DEPTH) -> None:
    """Raise NotCanonical unless ``value`` can be written canonically."""
    items: Iterable[JSON]
    if isinstance(value, dict):
        items = value.values()
        for key in value:
            _require_key(key)
    elif isinstance(value, list | tuple):
        items = value
    else:
        _require_scalar(value)
        return
    if depth == 0:
        raise NotCanonical(f"nested deeper than {MAX_DEPTH} levels")
    for item in items:
        # Most values are plain: looked at here, they cost no call of their own.
        kind = type(item)
        if kind is str and item.isascii():
            if "\x00" in item:
                raise NotCanonical("text holds a NUL character")
        elif kind is int and -MAX_INTEGER <= item <= MAX_INTEGER:
            continue
        elif item is not None and kind is not bool:
            require_canonical(item, depth=depth - 1)


def _require_scalar(value: JSON) -> None:
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        _require_text(value)
    elif not isinstance(value, int):
        raise NotCanonical(f"a {type(value).__name__} has no canonical form")
    elif not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise NotCanonical("an integer is too large to be exact in JSON")


@lru_cache(maxsize=4096)
def _require_key(key: Any) -> None:
    if not isinstance(key, str) or not key.isascii() or "\x00" in key:
        raise NotCanonical("a key is not plain ASCII text")


def _require_text(value: str) -> None:
    """NUL cannot be stored by PostgreSQL, a lone surrogate cannot be encoded."""
    if "\x00" in value:
        raise NotCanonical("text holds a NUL character")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise NotCanonical("text holds half a surrogate pair") from error


def storable(text: str, *, most: int) -> str:
    """Return ``text`` as it can be recorded: no NUL, no half of a surrogate pair, cut after ``most`` characters."""
    clean = text.replace("\x00", "\ufffd").encode("utf-8", "replace").decode("utf-8")
    return clean if len(clean) <= most else f"{clean[:most]} … cut, {len(clean)} characters"


def canonical_bytes(value: JSON) -> bytes:
    """Return the RFC 8785 form of ``value`` as UTF-8. Raises NotCanonical."""
    require_canonical(value)
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)


def joined(record: dict[str, JSON], written: dict[str, bytes]) -> bytes:
    """Return the RFC 8785 form of ``record`` with more members, whose values are in that form already.

    Raises NotCanonical for a value of ``record``.
    """
    require_canonical(record)
    parts = {name: orjson.Fragment(text) for name, text in written.items()}
    return orjson.dumps({**record, **parts}, option=orjson.OPT_SORT_KEYS)


def fingerprint_bytes(value: object) -> bytes:
    """Return bytes that are equal for equal values: canonical JSON where there is one, text where there is none."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        return repr(value).encode("utf-8", "backslashreplace")


def digest(value: JSON) -> bytes:
    """Return the SHA-256 of the canonical form of ``value``, 32 bytes. Raises NotCanonical."""
    return hashlib.sha256(canonical_bytes(value)).digest()


def parse_json(text: str | bytes, *, max_bytes: int = MAX_BYTES) -> JSON:
    """Read one JSON value from outside. Raises BadJSON for bad syntax, size, duplicate keys, NaN or depth."""
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    if len(raw) > max_bytes:
        raise BadJSON(f"larger than {max_bytes} bytes")
    try:
        value = json.loads(raw.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse_constant)
    except BadJSON:
        raise
    except RecursionError as error:
        raise BadJSON("nested too deeply") from error
    except ValueError as error:
        raise BadJSON(f"not valid JSON: {error}") from error
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise BadJSON(f"the key {twice[:80]!r} stands twice")
    return found


def _refuse_constant(name: str) -> Any:
    raise BadJSON(f"{name} is not a number we accept")


def dumps(value: JSON) -> str:
    """Write a value that is known to be canonical, for a JSON column."""
    return orjson.dumps(value).decode()


def loads(raw: bytes | memoryview | str) -> JSON:
    """Read back what this program wrote itself."""
    return cast("JSON", orjson.loads(raw))
