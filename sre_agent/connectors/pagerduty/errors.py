"""PagerDuty's errors as ours: one table.

https://developer.pagerduty.com/docs/errors
"""

from collections.abc import Mapping
from typing import Any

from agentops.kernel.errors import FailureKind
from agentops.net.http import NotReached
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from sre_agent.connectors.hostile_text import visible
from sre_agent.connectors.vendor_door import seconds_of

WAIT = 30.0
MOST_WORDS = 200
_SAYS_NOTHING = "PagerDuty did not say what became of the request."
_AUTH = {
    401: "PagerDuty does not accept the key.",
    402: "PagerDuty refuses: the account's plan does not allow this.",
    403: "PagerDuty refuses: the key may not do this. A read-only key cannot call anybody.",
}
_MISSING = "PagerDuty does not know this: see the file that SRE_VENDORS_FILE names."


def failure_of(
    status: int, answer: Mapping[str, Any], headers: Mapping[str, str], *, writes: bool
) -> ToolFailure | OutcomeUnknown:
    """Return what an answer that is no success means; ``writes``: the request changes something.

    What PagerDuty says about a key may hold a part of it, so it is not repeated.
    """
    if status == 429:
        wait = seconds_of(headers.get("retry-after") or headers.get("ratelimit-reset") or "", WAIT)
        return ToolFailure(FailureKind.RATE_LIMIT, "PagerDuty asks to wait: too many requests.", retry_after=wait)
    if status in _AUTH:
        return ToolFailure(FailureKind.AUTH, _AUTH[status])
    if status == 404:
        return ToolFailure(FailureKind.NOT_FOUND, _MISSING)
    if 400 <= status < 500 and status != 408:
        kind = FailureKind.CONFLICT if status == 409 else FailureKind.VALIDATION
        return ToolFailure(kind, f"PagerDuty refuses: {_words(answer)}")
    if writes:
        return OutcomeUnknown(_SAYS_NOTHING)
    return ToolFailure(FailureKind.UNAVAILABLE, f"PagerDuty failed (status {status}).")


def lost(cause: NotReached, *, writes: bool) -> ToolFailure | OutcomeUnknown:
    """Return what a request without an answer means."""
    if writes and not cause.unsent:
        return OutcomeUnknown(_SAYS_NOTHING)
    kind = FailureKind.TIMEOUT if cause.late else FailureKind.UNAVAILABLE
    return ToolFailure(kind, f"PagerDuty {cause.message}.")


def _words(answer: Mapping[str, Any]) -> str:
    error = answer.get("error")
    told = error if isinstance(error, dict) else {}
    details = told.get("errors")
    words = [str(told.get("message", "")), *(map(str, details) if isinstance(details, list) else ())]
    return visible(" ".join(word for word in words if word) or "it does not say why", MOST_WORDS)
