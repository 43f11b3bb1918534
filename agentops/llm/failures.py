"""From whatever goes wrong in a model call to ``PlannerUnavailable`` with one of our kinds."""

import math
from collections.abc import Mapping

from pydantic_ai.exceptions import (
    AgentRunError,
    ModelConnectionError,
    ModelHTTPError,
    ModelQuotaExceededError,
    ModelRequestTimeout,
    ModelTimeoutError,
)

from agentops.kernel.errors import FailureKind
from agentops.llm.configuration import ModelChoice
from agentops.llm.transport import Received
from agentops.registry.planner import PlannerUnavailable
from agentops.safety.quarantine import clean, one_line

LONGEST_WAIT = 3_600.0

_KINDS = {
    401: FailureKind.AUTH,
    402: FailureKind.AUTH,
    403: FailureKind.AUTH,
    404: FailureKind.NOT_FOUND,
    408: FailureKind.TIMEOUT,
    429: FailureKind.RATE_LIMIT,
    504: FailureKind.TIMEOUT,
}


def failure_of(error: Exception, received: Received, choice: ModelChoice) -> PlannerUnavailable | None:
    """Return the failure that ``error`` stands for, or None when it is a mistake in this program.

    Once a response has begun, any exception is the fault of what was received: the readers of the
    providers' libraries do not promise which errors a hostile body raises.
    """
    name = choice.name
    if isinstance(error, ModelRequestTimeout | ModelTimeoutError | TimeoutError):
        return PlannerUnavailable(FailureKind.TIMEOUT, f"{name} did not answer in time.")
    if isinstance(error, ModelHTTPError):
        return _from_status(error, choice)
    if received.refused:
        return PlannerUnavailable(FailureKind.UNAVAILABLE, f"{name} sent {received.refused}.")
    if 300 <= received.status < 400:
        return PlannerUnavailable(
            FailureKind.VALIDATION, f"{name} answered with a redirect, which is not followed. Check AGENT_MODEL_URL."
        )
    if isinstance(error, ModelConnectionError):
        words = "could not be reached" if error.phase == "connect" else "broke off the connection"
        return PlannerUnavailable(FailureKind.UNAVAILABLE, f"{name} {words}.")
    if received.status or isinstance(error, AgentRunError):
        return PlannerUnavailable(FailureKind.UNAVAILABLE, f"{name} answered with something that cannot be read.")
    return None


def _from_status(error: ModelHTTPError, choice: ModelChoice) -> PlannerUnavailable:
    status = error.status_code
    fallback = FailureKind.UNAVAILABLE if status >= 500 else FailureKind.VALIDATION
    # An account without credit stays so until somebody pays: waiting, as for a rate limit, does not help.
    kind = FailureKind.AUTH if isinstance(error, ModelQuotaExceededError) else _KINDS.get(status, fallback)
    said = _said(error.body, choice.key)
    words = f"{choice.name} answered with status {status}{f': {said}' if said else '.'}"
    return PlannerUnavailable(kind, words, retry_after=_wait(error.retry_after) if kind.retryable else None)


def _wait(seconds: float | None) -> float | None:
    """Return a wait that can be waited for, None for anything that is not a number of seconds."""
    if seconds is None or not math.isfinite(seconds) or seconds < 0:
        return None
    return min(seconds, LONGEST_WAIT)


def _said(body: object, key: str) -> str:
    """Return the provider's own words, short and without the key, which a server might send back."""
    while isinstance(body, Mapping):
        body = body.get("error", body.get("message"))
    if not isinstance(body, str):
        return ""
    words = one_line(clean(body).text)
    return (words.replace(key, "[key]") if key else words)[:300]
