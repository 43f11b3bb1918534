"""Asking a model: only when it is the tenant's turn, and not while its provider is off."""

from uuid import UUID

from agentops.gateway.breakers import Admitted, Breakers, ToolOff, provider_breaker
from agentops.kernel.errors import FailureKind
from agentops.llm.configuration import model_choice
from agentops.registry.planner import PlanContext, Planner, PlannerUnavailable, Turn
from agentops.runtime.quota import wait_for_turn


def ask_planner(planner: Planner, context: PlanContext, *, tenant_id: UUID, breakers: Breakers) -> Turn:
    """Return the planner's proposal. Raises PlannerUnavailable, also without having asked it.

    A planner that is no model has neither quota nor breaker. Waiting because the provider wants to be asked less,
    or because others have their turn, is no failed attempt.
    """
    choice = model_choice()
    if choice is None:
        return planner.propose(context)
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
    return _asked(planner, context, admitted)


def _asked(planner: Planner, context: PlanContext, admitted: Admitted) -> Turn:
    try:
        turn = planner.propose(context)
    except PlannerUnavailable as error:
        admitted.failed(error.kind, error.message, error.retry_after)
        if error.kind is FailureKind.RATE_LIMIT:
            error.counts = False
        raise
    admitted.worked()
    return turn


def _unavailable(off: ToolOff, breakers: Breakers, name: str) -> PlannerUnavailable:
    patience = breakers.view(name).last_code == FailureKind.RATE_LIMIT
    return PlannerUnavailable(off.kind, off.message, retry_after=off.retry_after, counts=not patience)
