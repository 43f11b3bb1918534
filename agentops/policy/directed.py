"""What a call is directed at, however it is written (pure)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentops.kernel.canonical import dumps
from agentops.policy.leaves import declared, leaves_of
from agentops.policy.records import key_of
from agentops.registry.flow import UNDECLARED_ARGUMENT, Flow, Kind

DIRECTED = frozenset({Kind.TARGET, Kind.REF})


@dataclass(frozen=True)
class Use:
    """What a value is used for: the capability of its call, and what the call is directed at."""

    capability: str = ""
    at: str = ""


ANY_USE = Use()


def use_of(flow: Flow, arguments: Mapping[str, Any]) -> Use:
    """Return what the values of a call are used for."""
    return Use(flow.capability, dumps(directed_at(flow, arguments)))


def directed_at(flow: Flow, arguments: Mapping[str, Any]) -> list[list[str]]:
    """Return path and value of all targets and records: an account with and without spaces is one account."""
    return sorted(
        [path, str(key_of(value, kind))]
        for path, value in leaves_of(arguments)
        if (kind := declared(path, flow.arguments, UNDECLARED_ARGUMENT).kind) in DIRECTED
    )
