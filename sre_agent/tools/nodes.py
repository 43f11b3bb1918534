"""Hard writes on one node: empty it, use it again."""

from agentops.registry.declare import Schema, closed
from agentops.registry.tool import Arguments
from sre_agent.connectors.port import Drain, Uncordon
from sre_agent.tools import flows
from sre_agent.tools.parts import (
    FLAG,
    NODE,
    OUT_AFTER,
    OUT_NAME,
    OUT_VERSION,
    REASON,
    SEEN_VERSION,
    OnPlatform,
    platform_write,
)
from sre_agent.undoing import undo_drain, undo_uncordon

_IN = closed({"node": NODE, "seen_version": SEEN_VERSION, "reason": REASON})
_OUT: Schema = closed({"node": OUT_NAME, "cordoned": FLAG, "version": OUT_VERSION, "verify_after_s": OUT_AFTER})


def _drain(arguments: Arguments) -> Drain:
    return Drain(arguments["node"])


def _uncordon(arguments: Arguments) -> Uncordon:
    return Uncordon(arguments["node"])


_DRAIN, _UNCORDON = OnPlatform(_drain, "node"), OnPlatform(_uncordon, "node")

DRAIN_NODE = platform_write(
    name="drain_node",
    version=1,
    description=(
        "Places nothing more on a node and moves what runs there to others, a few replicas at a time. Use it when"
        " several services are slow on one node and nowhere else. Refused when a service that moves could not carry its"
        " load meanwhile. Verify it afterwards."
    ),
    input_schema=_IN,
    output_schema=_OUT,
    auth_scope="sre:nodes:write",
    flow=flows.DRAIN_NODE,
    run=_DRAIN.run,
    examples=({"node": "node-b", "seen_version": 3, "reason": "Something else takes 80 % of its processor time."},),
    undo="the node can be used again",
    undo_call=undo_drain,
    preview=_DRAIN.preview,
    identity=("node",),
    worst="moves every service of a node at once, with less capacity meanwhile",
    stopped_by=(
        "a node that the agent chose after reading logs asks; more than 25 % of a capacity asks; a few replicas at a"
        " time; the node can be used again"
    ),
)

UNCORDON_NODE = platform_write(
    name="uncordon_node",
    version=1,
    description="Uses a node again that was drained. Replicas come to it with the next rollouts.",
    input_schema=_IN,
    output_schema=_OUT,
    auth_scope="sre:nodes:write",
    flow=flows.UNCORDON_NODE,
    run=_UNCORDON.run,
    examples=({"node": "node-b", "seen_version": 4, "reason": "The neighbour is gone."},),
    undo="the node can be drained again",
    undo_call=undo_uncordon,
    preview=_UNCORDON.preview,
    identity=("node",),
    worst="places replicas on a node that is not well",
    stopped_by="a node that the agent chose after reading logs asks; nothing moves by it at once",
)

NODES = (DRAIN_NODE, UNCORDON_NODE)
