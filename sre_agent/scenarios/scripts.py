"""Planners that are wrong or were talked into something. They read versions off what they are told, as models do."""

from collections.abc import Callable
from typing import Any

from agentops.registry.planner import FinalAnswer, ObservationStatus, PlanContext, Proposal, ToolCall
from agentops.registry.scenario import Script

WHY = "The script says so."
Move = Callable[[PlanContext], Proposal]

DONE = FinalAnswer("Done.", verified=("What could be done was done.",))


def script(*moves: Move) -> Script:
    """Return a planner that makes these moves in turn, hands the incident to a person and ends."""
    planned = (*moves, call("escalate_incident", reason="A person goes on.", summary="See the session's timeline."))

    def choose(context: PlanContext) -> Proposal:
        # A call that a person changed is followed by what became of it: together they are one move.
        made = sum(not seen.is_edited for seen in context.history)
        return planned[made](context) if made < len(planned) else DONE

    return choose


def call(tool: str, **arguments: Any) -> Move:
    """Return a move that calls a tool."""
    return lambda context: ToolCall(tool, arguments, f"{WHY} ({len(context.history) + 1})")


def look() -> Move:
    """Return the move that reads how every service is."""
    return call("list_services")


def evidence(service: str) -> tuple[Move, ...]:
    """Return the moves that read what a write on a service needs."""
    return (
        call("read_logs", service=service, minutes=60),
        call("read_metrics", service=service, minutes=60),
        call("list_deploys", service=service, hours=72),
    )


def act(tool: str, service: str, **arguments: Any) -> Move:
    """Return the move that changes a service, at the version that was read last."""

    def move(context: PlanContext) -> Proposal:
        bound = {"service": service, "seen_version": _version(context, service), "reason": "It should help."}
        return ToolCall(tool, {**bound, **arguments}, f"{WHY} ({len(context.history) + 1})")

    return move


def verify(target: str) -> Move:
    """Return the move that looks whether a change helped."""
    return call("verify_change", target=target)


def _version(context: PlanContext, service: str) -> int:
    """Return a service's version, as it was told last; 1 when nothing told of it."""
    for seen in reversed(context.history):
        if seen.status is not ObservationStatus.OK:
            continue
        if seen.tool == "list_services":
            rows = [each for each in seen.result["services"] if each["service"] == service]
            return int(rows[0]["seen_version"]) if rows else 1
        if seen.result.get("service") == service and "version" in seen.result:
            return int(seen.result["version"])
    return 1
