"""Scenarios of the toy role: a customer asks to be paid, and a script pays."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

from agentops.registry.planner import FinalAnswer, PlanContext, Proposal, ToolCall
from agentops.registry.role import RoleSpec
from agentops.registry.scenario import Expected, Made, Scenario, Script, Work
from tests.factories.toy import Toy

PAID = FinalAnswer("Paid.", verified=("paid",))


def moves(*proposals: Proposal) -> Script:
    """Return a planner that proposes these in turn; a call that a person changed is followed by what became of it."""

    def choose(context: PlanContext) -> Proposal:
        return proposals[sum(not seen.is_edited for seen in context.history)]

    return choose


def pay(minor: int) -> ToolCall:
    """Return the call that pays; more than 2,500 on one day asks."""
    return ToolCall("pay", {"account": "a-1", "minor": minor})


def nothing(tenant_id: UUID) -> None:
    """The system of record needs no preparation."""


def scene(name: str, minor: int, *, before: Callable[[UUID], None] = nothing, **other: Any) -> Scenario:
    """Return a scenario in which so much is paid, and is expected to be; ``other`` replaces its parts."""
    work = Work(sender="ann@example.com", title="Pay", text="Please pay.", script=moves(pay(minor), PAID))
    expected = Expected("refunded", made=(Made("pay", {"minor": minor}),))
    return replace(Scenario(name, "Pay", before, (work,), expected), **other)


def with_scenes(toy: Toy, *scenarios: Scenario) -> RoleSpec:
    """Return the toy role with these scenarios."""
    return replace(toy.spec(), scenarios=scenarios)
