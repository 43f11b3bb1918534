"""Asking a model: only when it is the tenant's turn, when it can be paid for, and not while its provider is off."""

from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from agentops.gateway.breakers import Admitted, Breakers, ToolOff, provider_breaker
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import FailureKind, IncidentCode
from agentops.llm.configuration import model_choice
from agentops.registry.planner import PlanContext, Planner, PlannerUnavailable, Turn
from agentops.runtime.quota import wait_for_turn
from agentops.runtime.spend import LimitReached, Purse, reserve
from agentops.runtime.work import Work

_Said = TypeVar("_Said")


def ask_planner(planner: Planner, context: PlanContext, *, tenant_id: UUID, breakers: Breakers) -> Turn:
    """Return the planner's proposal. Raises PlannerUnavailable, also without having asked it."""
    return ask(lambda: planner.propose(context), tenant_id=tenant_id, breakers=breakers)


def ask(call: Callable[[], _Said], *, tenant_id: UUID, breakers: Breakers) -> _Said:
    """Return what ``call`` gets from the planner. Raises PlannerUnavailable, also without having called.

    A planner that is no model has neither quota nor breaker. Waiting because the provider wants to be asked less,
    or because others have their turn, is no failed attempt.
    """
    choice = model_choice()
    if choice is None:
        return call()
    name = provider_breaker(choice.provider)
    off = breakers.off(name)
    if off is not None:
        raise _unavailable(off, breakers, name)
    wait = wait_for_turn(tenant_id)
    if wait:
        words = "The model is asked as often as its limit a minute allows."
        raise PlannerUnavailable(FailureKind.RATE_LIMIT, words, retry_after=wait, counts=False)
    try:
        admitted = breakers.admit(name)
    except ToolOff as error:
        raise _unavailable(error, breakers, name) from error
    return _asked(call, admitted)


def _asked(call: Callable[[], _Said], admitted: Admitted) -> _Said:
    try:
        said = call()
    except PlannerUnavailable as error:
        admitted.failed(error.kind, error.message, error.retry_after)
        if error.kind is FailureKind.RATE_LIMIT:
            error.counts = False
        raise
    admitted.worked()
    return said


def set_aside(work: Work, most: int) -> IncidentCode | None:
    """Set aside the most that the planner can cost, in micro-dollars, or return which budget forbids it."""
    held, brief = work.held, work.brief
    if not most:
        return None
    purse = Purse(
        tenant_id=held.tenant_id,
        agent_id=held.agent_id,
        workstream=held.workstream,
        zone=brief.zone,
        session_micro=work.limits.max_cost_micro,
        agent_day_micro=brief.agent_day_micro,
        tenant_day_micro=brief.tenant_day_micro,
    )
    reserved = reserve(
        session_id=held.id, fence=held.fence, purse=purse, micro=most, at=utcnow(), onto=held.reservation
    )
    if isinstance(reserved, LimitReached):
        return reserved.code
    held.reservation = reserved
    return None


def _unavailable(off: ToolOff, breakers: Breakers, name: str) -> PlannerUnavailable:
    patience = breakers.view(name).last_code == FailureKind.RATE_LIMIT
    return PlannerUnavailable(off.kind, off.message, retry_after=off.retry_after, counts=not patience)
