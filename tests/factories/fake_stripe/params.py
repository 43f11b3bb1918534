"""Form-encoded parameters, nested as Stripe's are (``items[0][price]``), read by a written-out shape.

A shape maps names to INT, STR, BOOL, META, a shape, or a list of one of these. What is not in it is refused, so that a
client which sends what the endpoint does not take is found out.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl

from tests.factories.fake_stripe.errors import ApiError, invalid

INT, STR, BOOL, META, DECIMAL, MOMENT = "integer", "string", "boolean", "metadata", "decimal", "moment"

Shape = Mapping[str, Any]
LIST: dict[str, Any] = {"limit": INT, "starting_after": STR, "ending_before": STR}
RANGE = "range"
_PART = re.compile(r"\[([^\[\]]*)\]")
MOST_DIGITS = 18


def decoded(raw: str) -> dict[str, Any]:
    """Return a query or body as nested dicts of strings; ``a[]`` and ``a[0]`` make lists."""
    tree: dict[str, Any] = {}
    for name, value in parse_qsl(raw, keep_blank_values=True):
        head, _, rest = name.partition("[")
        path = [head, *_PART.findall("[" + rest if rest else "")]
        _put(tree, path, value)
    return {name: _lists(value) for name, value in tree.items()}


def _put(tree: dict[str, Any], path: list[str], value: str) -> None:
    *parents, last = path
    for part in parents:
        following = tree.setdefault(part, {})
        if not isinstance(following, dict):
            raise invalid(f"Invalid parameter nesting: {'.'.join(path)}", path[0])
        tree = following
    tree[str(len(tree)) if last == "" else last] = value


def _lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    inner = {name: _lists(each) for name, each in value.items()}
    if inner and all(name.isdigit() for name in inner):
        return [inner[name] for name in sorted(inner, key=int)]
    return inner


def read(form: Mapping[str, Any], shape: Shape, *, needs: tuple[str, ...] = (), at: str = "") -> dict[str, Any]:
    """Return the parameters by their types. Raises ApiError for what is missing, unknown or of another type."""
    for name in needs:
        if form.get(name) in (None, ""):
            raise invalid(f"Missing required param: {_named(at, name)}.", _named(at, name), "parameter_missing")
    for name in form:
        if name not in shape:
            raise invalid(f"Received unknown parameter: {_named(at, name)}", _named(at, name), "parameter_unknown")
    return {name: _value(form[name], shape[name], _named(at, name)) for name in form}


def _named(at: str, name: str) -> str:
    return f"{at}[{name}]" if at else name


def _value(value: Any, kind: Any, name: str) -> Any:
    if isinstance(kind, Mapping):
        if value == "":
            return None
        if not isinstance(value, dict):
            raise invalid("Invalid object", name)
        return read(value, kind, at=name)
    if isinstance(kind, list):
        if value == "":
            return []
        if not isinstance(value, list):
            raise invalid("Invalid array", name)
        return [_value(each, kind[0], f"{name}[{number}]") for number, each in enumerate(value)]
    return _READERS[kind](value, name)


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str):
        raise invalid(f"Invalid string: {value}", name)
    if len(value) > 5000:
        raise invalid(f"Invalid string: {name} must be at most 5000 characters", name, "string_too_long")
    return value


def _integer(value: Any, name: str) -> int | None:
    if value == "":
        return None
    if not isinstance(value, str) or not re.fullmatch(r"-?\d+", value) or len(value) > MOST_DIGITS:
        raise invalid(f"Invalid integer: {value}", name, "parameter_invalid_integer")
    return int(value)


def _boolean(value: Any, name: str) -> bool:
    if value not in ("true", "false"):
        raise invalid(f"Invalid boolean: {value}", name)
    return bool(value == "true")


def _metadata(value: Any, name: str) -> dict[str, str] | str:
    if value == "":
        return ""
    if not isinstance(value, dict) or not all(isinstance(each, str) for each in value.values()):
        raise invalid("Invalid metadata: must be a hash of strings", name)
    if len(value) > 50:
        raise invalid("Metadata can have at most 50 keys", name)
    for key, text in value.items():
        if len(key) > 40 or len(text) > 500:
            raise invalid(f"Metadata keys have at most 40 characters and values 500: {key}", name)
    return value


def _decimal(value: Any, name: str) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"-?\d{1,15}(\.\d{1,12})?", value):
        raise invalid(f"Invalid decimal: {value}", name, "parameter_invalid_decimal")
    return value


def _moment(value: Any, name: str) -> int | str | None:
    return value if value in ("now", "unchanged") else _integer(value, name)


def _range(value: Any, name: str) -> dict[str, int]:
    if isinstance(value, dict):
        unknown = set(value) - {"gt", "gte", "lt", "lte"}
        if unknown:
            raise invalid(f"Received unknown parameter: {name}[{min(unknown)}]", name, "parameter_unknown")
        return {each: _integer(text, f"{name}[{each}]") or 0 for each, text in value.items()}
    exact = _integer(value, name) or 0
    return {"gte": exact, "lte": exact}


_READERS = {
    INT: _integer,
    STR: _text,
    BOOL: _boolean,
    META: _metadata,
    DECIMAL: _decimal,
    MOMENT: _moment,
    RANGE: _range,
}


def merged(metadata: dict[str, str], change: dict[str, str] | str | None) -> dict[str, str]:
    """Return metadata after an update: an empty value takes its key out, and an empty hash everything."""
    if change is None:
        return metadata
    if change == "" or isinstance(change, str):
        return {}
    return {name: value for name, value in (metadata | change).items() if value != ""}


def require_one_of(value: str | None, allowed: tuple[str, ...], param: str) -> None:
    """Raise ApiError unless a value that was given is allowed."""
    if value is not None and value not in allowed:
        raise invalid(f"Invalid {param}: must be one of {', '.join(allowed)}", param)


def require_positive(amount: int | None, param: str) -> int:
    """Return an amount that is more than nothing. Raises ApiError."""
    if amount is None or amount < 1:
        raise ApiError(400, "Invalid positive integer", param=param, code="parameter_invalid_integer")
    return amount
