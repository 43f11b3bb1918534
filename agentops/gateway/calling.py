"""One call of a tool's own function, in whose hands anything may happen.

It is lent its credential, let through by the tool's breaker and reported to it; the credential is renewed once when it
has run out. Whatever the tool returns or raises is freed of secrets before anybody sees it, and comes out as an
answer or one of three errors.
"""

import logging
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from agentops.gateway.breakers import Admitted, Breakers, tool_breaker
from agentops.gateway.credentials import Loan, lent
from agentops.kernel.errors import AgentOpsError, FailureKind
from agentops.registry.tool import CallContext, NotYet, OutcomeUnknown, ToolFailure, ToolSpec

log = logging.getLogger(__name__)

T = TypeVar("T")

_MOST_CAUSES = 5


class ToolBroke(AgentOpsError):
    """The tool's own code ended in something that is neither a ToolFailure nor an OutcomeUnknown."""

    code = "TOOL_BROKE"
    next_step = "Read the log of that moment, and mend the tool."

    def __init__(self, message: str, *, timed_out: bool = False) -> None:
        super().__init__(message)
        self.timed_out = timed_out


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What a tool returned. ``problem`` is empty when it can be used; ``scrubbed`` counts places freed of secrets."""

    result: T
    problem: str = ""
    scrubbed: int = 0


def call(
    tool: ToolSpec,
    context: CallContext,
    act: Callable[[CallContext], T],
    *,
    problem_of: Callable[[T], str],
    breakers: Breakers | None = None,
) -> Answer[T]:
    """Return what ``act`` returned, which has to be canonical JSON or None when ``problem_of`` says nothing about it.

    Raises ToolOff when the tool's breaker is open, and NoCredential when there is none: nothing was tried then.
    Otherwise ToolFailure, OutcomeUnknown, ToolBroke or, for a read, NotYet. With ``breakers`` the call is reported, an
    unusable answer as a failure; that there was no credential is not the tool's fault.
    """
    with lent(tool, context) as loan:
        admitted = None if breakers is None else breakers.admit(tool_breaker(tool.name))
        try:
            result = act_once_renewed(tool, loan, act)
        except (ToolFailure, OutcomeUnknown, ToolBroke) as error:
            _report(admitted, error)
            raise
        except NotYet:
            # That an answer is not due says nothing, but a probe must not be left open: the tool did answer.
            if admitted is not None and admitted.probe is not None:
                admitted.worked()
            raise
        problem = problem_of(result)
        problem = loan.text(problem) if problem else ""
        if admitted is not None and problem:
            admitted.failed(FailureKind.UNKNOWN, problem)
        elif admitted is not None:
            admitted.worked()
        return Answer(result if problem else loan.value(result), problem, loan.removed)


def act_once_renewed(tool: ToolSpec, loan: Loan, act: Callable[[CallContext], T]) -> T:
    """Call ``act``; when access is missing, renew the tool's credentials and call it once more.

    A call that ended in AUTH certainly had no effect. Raises ToolFailure, OutcomeUnknown, ToolBroke or, for a read,
    NotYet.
    """
    try:
        return _contained(tool, loan, act)
    except ToolFailure as failure:
        if failure.kind is not FailureKind.AUTH or not (tool.secret or tool.refresh):
            raise
        try:
            loan.renew()
            if tool.refresh is not None:
                _contained(tool, loan, tool.refresh)
        except (ToolFailure, OutcomeUnknown, ToolBroke, NotYet) as error:
            log.warning("the credentials of %s could not be renewed: %s", tool.name, error.message)
            raise failure from None
    return _contained(tool, loan, act)


def _contained(tool: ToolSpec, loan: Loan, act: Callable[[CallContext], T]) -> T:
    """Return what ``act`` returns. Raises ToolFailure, OutcomeUnknown, ToolBroke or, for a read, NotYet.

    It does so whatever ``act`` raised.

    A tool that calls ``sys.exit`` ends its call, not the worker. Only the keyboard reaches the main thread.
    """
    try:
        return act(loan.context)
    except (ToolFailure, OutcomeUnknown) as error:
        loan.failure(error)
        raise error from None
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
            raise
        if isinstance(error, NotYet) and not tool.is_write:
            loan.failure(error)
            raise error from None
        _log_broken(tool, loan, error)
        raise ToolBroke(type(error).__name__, timed_out=isinstance(error, TimeoutError)) from None


def _log_broken(tool: ToolSpec, loan: Loan, error: BaseException) -> None:
    """Log where it broke and why. What it and its causes say may hold the credential: no error is logged as it is."""
    said: list[str] = []
    seen: BaseException | None = error
    while seen is not None and len(said) < _MOST_CAUSES:
        said.append("".join(traceback.format_exception_only(seen)).strip())
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    told = ToolBroke(loan.text(" because of ".join(said)))
    log.error("tool %s broke", tool.name, exc_info=(ToolBroke, told, error.__traceback__))


def failure_of(error: ToolFailure | OutcomeUnknown | ToolBroke) -> tuple[FailureKind, str, float | None]:
    """Return the kind of a failure, its words, and the seconds after which to try again, if it said so."""
    if isinstance(error, ToolFailure):
        return error.kind, error.message, error.retry_after
    return FailureKind.UNKNOWN, error.message, None


def _report(admitted: Admitted | None, error: ToolFailure | OutcomeUnknown | ToolBroke) -> None:
    if admitted is not None:
        admitted.failed(*failure_of(error))
