"""The leaves of a JSON value with the paths under which a flow declares them (pure)."""

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from agentops.registry.flow import UNDECLARED_ARGUMENT, Argument, Flow

T = TypeVar("T")


def leaves_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield (path, value) of every text, number and boolean; ``[]`` stands for any item of a list.

    A key that could pass for a path of several keys is written as ``?``, which nobody declares.
    """
    if isinstance(value, dict):
        for key, child in value.items():
            name = "?" if "." in key or "[" in key else key
            yield from leaves_of(child, f"{path}.{name}" if path else name)
    elif isinstance(value, list | tuple):
        for child in value:
            yield from leaves_of(child, f"{path}[]")
    elif value is not None:
        yield path, value


def declared(path: str, declarations: Mapping[str, T], default: T) -> T:
    """Return what is declared for ``path`` or for the nearest part above it, with ``*`` for any one key."""
    while path:
        found = declarations.get(path)
        if found is not None:
            return found
        above, _, last = path.rpartition(".")
        found = declarations.get(f"{above}.*" if above else "*") if not last.endswith("[]") else None
        if found is not None:
            return found
        path = path[:-2] if path.endswith("[]") else above
    return declarations.get("", default)


def arguments_of(flow: Flow, arguments: Mapping[str, Any]) -> Iterator[tuple[str, Any, Argument]]:
    """Yield path, value and meaning of every leaf of a call's arguments."""
    for path, value in leaves_of(arguments):
        yield path, value, declared(path, flow.arguments, UNDECLARED_ARGUMENT)
