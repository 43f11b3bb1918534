"""Writes on one node: drain it, use it again. Pure."""

import json

from agentops.registry.preview_parts import Command
from agentops.registry.tool import Change, Preview
from sre_agent.connectors.blast import FULL_PM, measures, radius, require_room, rollout_pm
from sre_agent.connectors.effect import Effect, Snapshot, conflict, missing
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
    away_pm = max(shares, default=0)
    return _effect(snapshot, node, f"Drain {node.ref}: {sum(counts.values())} replicas move", away_pm, cordoned=True)


def plan_uncordon(snapshot: Snapshot, write: Uncordon) -> Effect:
    """Plan that a node is used again. Raises ToolFailure."""
    node = _node(snapshot)
    if not node.cordoned:
        raise conflict(f"{node.ref} is in use.", "node")
    return _effect(snapshot, node, f"Use {node.ref} again", 0, cordoned=False)


def _moving_pm(service: Service, count: int) -> int:
    """Return the share of a service's capacity that is away at a time: of what stands here, a quarter of it all."""
    here = count * FULL_PM // service.desired if service.desired else 0
    return min(here, rollout_pm(service))


def _effect(snapshot: Snapshot, node: Node, words: str, away_pm: int, *, cordoned: bool) -> Effect:
    verb = "drain" if cordoned else "uncordon"
    more = ("--ignore-daemonsets",) if cordoned else ()
    body = json.dumps({"spec": {"unschedulable": cordoned}})
    return Effect(
        preview=Preview(
            effect=words,
            target=f"node:{node.ref}",
            changes=(Change("Takes replicas", "no" if node.cordoned else "yes", "no" if cordoned else "yes"),),
            versions=snapshot.versions(),
            measures=measures(snapshot, snapshot.on_node if cordoned else (), away_pm),
            parts=(
                Command(node.place, argv=("kubectl", verb, node.ref, *more)),
                Command(node.place, api=f"PATCH /api/v1/nodes/{node.ref}", body=body),
                radius(snapshot.on_node if cordoned else (), away_pm),
            ),
        ),
        result={"node": node.ref, "cordoned": cordoned},
    )


def _node(snapshot: Snapshot) -> Node:
    if snapshot.node is None:
        raise missing("node", "node")
    return snapshot.node
