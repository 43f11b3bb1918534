"""One call of a tool's own function, in whose hands anything may happen.

It is let through by the tool's breaker and reported to it, its credentials are renewed once when they have run out,
and whatever it raises comes out as one of three errors.
"""

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from agentops.gateway.breakers import Admitted, Breakers, tool_breaker
from agentops.kernel.errors import AgentOpsError, FailureKind
from agentops.registry.tool import CallContext, OutcomeUnknown, ToolFailure, ToolSpec

log = logging.getLogger(__name__)

T = TypeVar("T")


class ToolBroke(AgentOpsError):
    """The tool's own code ended in something that is neither a ToolFailure nor an OutcomeUnknown."""

    code = "TOOL_BROKE"
    next_step = "Read the log of that moment, and mend the tool."


def call(
    tool: ToolSpec,
    context: CallContext,
    act: Callable[[], T],
    *,
    problem_of: Callable[[T], str],
    breakers: Breakers | None = None,
) -> tuple[T, str]:
    """Return what ``act`` returned, and the problem with it: ``problem_of`` is empty for a usable answer.

    Raises ToolOff when the tool's breaker is open and nothing was tried, otherwise ToolFailure, OutcomeUnknown or
    ToolBroke. With ``breakers`` the call is reported, an unusable answer as a failure.
    """
    admitted = None if breakers is None else breakers.admit(tool_breaker(tool.name))
    try:
        result = act_once_renewed(tool, context, act)
    except (ToolFailure, OutcomeUnknown, ToolBroke) as error:
        _report(admitted, error)
        raise
    problem = problem_of(result)
    if admitted is not None and problem:
        admitted.failed(FailureKind.UNKNOWN, problem)
    elif admitted is not None:
        admitted.worked()
    return result, problem


def act_once_renewed(tool: ToolSpec, context: CallContext, act: Callable[[], T]) -> T:
    """Call ``act``; when access is missing, renew the tool's credentials and call it once more.

    A call that ended in AUTH certainly had no effect. Raises ToolFailure, OutcomeUnknown or ToolBroke.
    """
    try:
        return contained(act)
    except ToolFailure as failure:
        if failure.kind is not FailureKind.AUTH or tool.refresh is None:
            raise
        refresh = tool.refresh
        try:
            contained(lambda: refresh(context))
        except (ToolFailure, OutcomeUnknown, ToolBroke):
            log.warning("the credentials of %s could not be renewed", tool.name, exc_info=True)
            raise failure from None
    return contained(act)


def contained(act: Callable[[], T]) -> T:
    """Return what ``act`` returns. Raises ToolFailure, OutcomeUnknown or ToolBroke, whatever it raised.

    A tool that calls ``sys.exit`` ends its call, not the worker. Only the keyboard reaches the main thread.
    """
    try:
        return act()
    except (ToolFailure, OutcomeUnknown):
        raise
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise
        raise ToolBroke(type(error).__name__) from error


def failure_of(error: ToolFailure | OutcomeUnknown | ToolBroke) -> tuple[FailureKind, str, float | None]:
    """Return the kind of a failure, its words, and the seconds after which to try again, if it said so."""
    if isinstance(error, ToolFailure):
        return error.kind, error.message, error.retry_after
    return FailureKind.UNKNOWN, error.message, None


def _report(admitted: Admitted | None, error: ToolFailure | OutcomeUnknown | ToolBroke) -> None:
    if admitted is not None:
        admitted.failed(*failure_of(error))
