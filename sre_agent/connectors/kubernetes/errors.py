"""What the API server refuses, as ours: one table.

A read that failed had no effect. A write had none either when the server refused it or it never left; after anything
else nobody knows. https://kubernetes.io/docs/reference/using-api/api-concepts/ and
https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md
"""

from agentops.kernel.errors import FailureKind
from agentops.net.http import NotReached, Reply
from agentops.registry.tool import OutcomeUnknown, ToolFailure

KINDS = {
    400: FailureKind.VALIDATION,
    401: FailureKind.AUTH,
    403: FailureKind.AUTH,
    404: FailureKind.NOT_FOUND,
    405: FailureKind.VALIDATION,
    406: FailureKind.VALIDATION,
    409: FailureKind.CONFLICT,
    410: FailureKind.CONFLICT,
    413: FailureKind.VALIDATION,
    415: FailureKind.VALIDATION,
    422: FailureKind.VALIDATION,
    429: FailureKind.RATE_LIMIT,
}
"""By status; any other is UNAVAILABLE for a read, and unknown for a write."""
LONGEST_WAIT = 3_600.0
MOST_WORDS = 300


def failure_of(reply: Reply, verb: str, resource: str, words: str) -> ToolFailure:
    """Return the failure of a request that had no effect. ``words`` are the server's, ``verb`` what RBAC calls it."""
    kind = KINDS.get(reply.status, FailureKind.UNAVAILABLE)
    return ToolFailure(kind, _sentence(reply.status, kind, verb, resource, words), retry_after=_wait(reply))


def write_failure_of(reply: Reply, verb: str, resource: str, words: str) -> ToolFailure | OutcomeUnknown:
    """Return what a write ended in: a failure when it certainly had no effect, otherwise nobody knows."""
    if reply.status in KINDS:
        return failure_of(reply, verb, resource, words)
    return OutcomeUnknown(f"Kubernetes did not say what became of it (status {reply.status}).")


def lost(cause: NotReached) -> ToolFailure:
    """Return the failure of a request without an answer, which changed nothing."""
    kind = FailureKind.TIMEOUT if cause.late else FailureKind.UNAVAILABLE
    return ToolFailure(kind, f"Kubernetes {cause.message}.")


def write_lost(cause: NotReached) -> ToolFailure | OutcomeUnknown:
    """Return what a write without an answer ended in."""
    return lost(cause) if cause.unsent else OutcomeUnknown(f"Kubernetes {cause.message}: nobody knows what it did.")


def _sentence(status: int, kind: FailureKind, verb: str, resource: str, words: str) -> str:
    if status == 401:
        return "Kubernetes does not accept the token."
    if status == 403:
        return f"Kubernetes refuses: the token may not {verb} {resource}."
    if kind is FailureKind.RATE_LIMIT:
        return "Kubernetes asks to wait: too many requests."
    if kind is FailureKind.UNAVAILABLE:
        return f"Kubernetes failed (status {status})."
    said = " ".join(words.split())[:MOST_WORDS]
    return f"Kubernetes refuses: {said or f'status {status}, and it does not say why'}"


def _wait(reply: Reply) -> float | None:
    """Return how long the server asks to wait, in seconds."""
    said = reply.retry_after
    if said.isascii() and said.isdigit() and len(said) < 6:
        return min(float(said), LONGEST_WAIT)
    return None
