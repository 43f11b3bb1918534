"""Writes on one node: drain it, use it again. Pure."""

import json

from agentops.registry.preview_parts import Command
from agentops.registry.tool import Change, Preview
from sre_agent.connectors.blast import FULL_PM, measures, radius, require_room, rollout_pm, settled_s, waves
from sre_agent.connectors.effect import Effect, Gate, Snapshot, Sound, conflict, missing
from sre_agent.connectors.port import Drain, Uncordon
from sre_agent.connectors.records import Node, Service


def plan_drain(snapshot: Snapshot, write: Drain) -> Effect:
    """Plan that a node is emptied, a few replicas at a time. Raises ToolFailure."""
    node = _node(snapshot)
    if node.cordoned:
        raise conflict(f"{node.ref} is cordoned already.", "node")
    if snapshot.nodes < 2:
        raise conflict(f"There is no other node to move to from {node.ref}.", "node")
    counts = dict(node.runs)
    shares = [_moving_pm(service, counts[service.ref]) for service in snapshot.on_node]
    for service, away in zip(snapshot.on_node, shares, strict=True):
        require_room(service, away)
    steps = max((waves(service, counts[service.ref]) for service in snapshot.on_node), default=0)
    sound = tuple(Sound.of(service, service.desired) for service in snapshot.on_node)
    gate = Gate(settled_s(steps), sound, node.ref, cordoned=True)
    return _effect(
        snapshot, node, f"Drain {node.ref}: {sum(counts.values())} replicas move", max(shares, default=0), gate
    )


def plan_uncordon(snapshot: Snapshot, write: Uncordon) -> Effect:
    """Plan that a node is used again. Raises ToolFailure."""
    node = _node(snapshot)
    if not node.cordoned:
        raise conflict(f"{node.ref} is in use.", "node")
    # Nothing moves back by itself; what runs there all the same, because every node was cordoned, must still be sound.
    sound = tuple(Sound.of(service, service.desired) for service in snapshot.on_node)
    gate = Gate(settled_s(0), sound, node.ref, cordoned=False)
    return _effect(snapshot, node, f"Use {node.ref} again", 0, gate)


def _moving_pm(service: Service, count: int) -> int:
    """Return the share of a service's capacity that is away at a time: of what stands here, a quarter of it all."""
    here = count * FULL_PM // service.desired if service.desired else 0
    return min(here, rollout_pm(service))


def _effect(snapshot: Snapshot, node: Node, words: str, away_pm: int, gate: Gate) -> Effect:
    verb, more = ("drain", ("--ignore-daemonsets",)) if gate.cordoned else ("uncordon", ())
    body = json.dumps({"spec": {"unschedulable": gate.cordoned}})
    touched = snapshot.on_node if gate.cordoned else ()
    return Effect(
        preview=Preview(
            effect=words,
            target=f"node:{node.ref}",
            changes=(Change("Takes replicas", _takes(node.cordoned), _takes(gate.cordoned)),),
            versions=snapshot.versions(),
            measures=measures(snapshot, touched, away_pm),
            parts=(
                Command(node.place, argv=("kubectl", verb, node.ref, *more)),
                Command(node.place, api=f"PATCH /api/v1/nodes/{node.ref}", body=body),
                radius(touched, away_pm),
            ),
        ),
        result={"node": node.ref, "cordoned": gate.cordoned, "verify_after_s": gate.after_s},
        gate=gate,
        disruptive=away_pm > 0,
    )


def _takes(cordoned: bool) -> str:
    return "no" if cordoned else "yes"


def _node(snapshot: Snapshot) -> Node:
    if snapshot.node is None:
        raise missing("node", "node")
    return snapshot.node
