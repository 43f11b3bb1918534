"""The toy role with two processes: an order that is held, paid and told of, and a parcel that is wrapped and tied."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from agentops.registry.planner import ObservationStatus
from agentops.registry.process import Edge, ProcessFacts, ProcessSpec
from agentops.registry.role import GrantDefault, RoleSpec
from agentops.registry.tool import CallContext, Dial, ToolSpec
from tests.factories.toy import Toy


@dataclass
class Shelf:
    """What was done to which item, in order; once per key. ``before`` has faults by verb, taken one a call."""

    log: list[str] = field(default_factory=list)
    done: dict[str, dict[str, Any]] = field(default_factory=dict)
    before: dict[str, list[BaseException]] = field(default_factory=dict)

    def act(self, verb: str, key: str, item: str) -> dict[str, Any]:
        """Do it, once per key."""
        if self.before.get(verb):
            raise self.before[verb].pop(0)
        if key not in self.done:
            self.log.append(f"{verb} {item}")
            self.done[key] = {}
        return self.done[key]


def _looked(facts: ProcessFacts) -> str:
    seen = any(o.tool == "look" and o.status is ObservationStatus.OK for o in facts.history)
    return "" if seen else "The account was not looked at."


ORDER = ProcessSpec(
    name="order",
    version=1,
    title="Order",
    initial="open",
    final=frozenset({"told"}),
    edges=(
        Edge("hold", "open", "held", "hold"),
        Edge("pay", "held", "paid", "pay", _looked, "the account was looked at"),
        Edge("tell", "paid", "told", "note"),
    ),
)
PARCEL = ProcessSpec(
    name="wrapped parcel",
    version=1,
    title="Parcel",
    initial="loose",
    final=frozenset({"tied"}),
    edges=(Edge("wrap", "loose", "wrapped", "wrap"), Edge("tie", "wrapped", "tied", "tie")),
)


def order_role(toy: Toy, shelf: Shelf, *processes: ProcessSpec) -> RoleSpec:
    """Return the role. ``hold`` is undone by ``release``, ``wrap`` by ``unwrap``, ``pay`` by ``pay_back``."""
    spec = toy.spec()
    undone = {"hold": "release", "wrap": "unwrap", "tie": "", "release": "", "unwrap": ""}
    more = tuple(_verb(spec.tools[-1], shelf, verb, undo) for verb, undo in undone.items())
    return replace(
        spec,
        tools=(*spec.tools, *more),
        grants=(*spec.grants, *(GrantDefault(tool.name, Dial.AUTONOMOUS) for tool in more)),
        processes=processes or (ORDER, PARCEL),
    )


def _verb(pattern: ToolSpec, shelf: Shelf, verb: str, undo: str) -> ToolSpec:
    def run(context: CallContext, arguments: Mapping[str, Any]) -> dict[str, Any]:
        return shelf.act(verb, context.idempotency_key, arguments["item"])

    undo_call: Callable[..., Any] | None = (lambda arguments, result: (undo, dict(arguments))) if undo else None
    return replace(
        pattern,
        name=verb,
        description=f"{verb.title()} an item.",
        input_schema={
            "type": "object",
            "properties": {"item": {"type": "string", "maxLength": 40}},
            "required": ["item"],
            "additionalProperties": False,
        },
        run=run,
        undo_call=undo_call,
        reconcile=lambda context: shelf.done.get(context.idempotency_key),
        outcome="changed",
    )
