"""What a call is directed at, however it is written (pure)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from agentops.kernel.canonical import dumps
from agentops.policy.records import key_of
from agentops.registry.flow import Argument, Flow, Kind

DIRECTED = frozenset({Kind.TARGET, Kind.REF})


@dataclass(frozen=True)
class Use:
    """What a value is used for: the capability of its call, and what the call is directed at, empty for nothing."""

    capability: str = ""
    at: str = ""


ANY_USE = Use()


def use_of(flow: Flow, given: Iterable[tuple[str, Any, Argument]]) -> Use:
    """Return what the values of a call are used for. ``given`` are its ``arguments_of``.

    What it is directed at are path and value of all targets and records: an account with and without spaces is one.
    """
    directed = sorted(
        [path, str(key_of(value, argument.kind))] for path, value, argument in given if argument.kind in DIRECTED
    )
    return Use(flow.capability, dumps(directed) if directed else "")
