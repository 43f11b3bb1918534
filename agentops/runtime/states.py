"""The states of a session and of an invocation, and the only transitions between them (pure)."""

from enum import StrEnum

from agentops.kernel.errors import AgentOpsError


class SessionStatus(StrEnum):
    """Where a session stands."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING_APPROVAL = "waiting_approval"
    SLEEPING = "sleeping"
    FINISHED = "finished"
    STOPPED = "stopped"


class InvocationState(StrEnum):
    """Where a proposed call stands."""

    AWAITING_APPROVAL = "awaiting_approval"
    REFUSED = "refused"
    INTENDED = "intended"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"


class IllegalTransition(AgentOpsError):
    """A change of state that the table does not know."""

    code = "ILLEGAL_TRANSITION"


_S = SessionStatus
SESSION_TRANSITIONS: dict[SessionStatus, frozenset[SessionStatus]] = {
    _S.QUEUED: frozenset({_S.RUNNING}),
    _S.RUNNING: frozenset({_S.QUEUED, _S.WAITING_APPROVAL, _S.SLEEPING, _S.FINISHED, _S.STOPPED}),
    _S.WAITING_APPROVAL: frozenset({_S.QUEUED}),
    _S.SLEEPING: frozenset({_S.QUEUED}),
    _S.FINISHED: frozenset(),
    _S.STOPPED: frozenset(),
}

_I = InvocationState
INVOCATION_TRANSITIONS: dict[InvocationState, frozenset[InvocationState]] = {
    _I.AWAITING_APPROVAL: frozenset({_I.INTENDED, _I.REFUSED}),
    _I.INTENDED: frozenset({_I.SUCCEEDED, _I.FAILED, _I.UNKNOWN}),
    _I.UNKNOWN: frozenset(),
    _I.REFUSED: frozenset(),
    _I.SUCCEEDED: frozenset(),
    _I.FAILED: frozenset(),
}

ENDED = frozenset({_S.FINISHED, _S.STOPPED})


def require_transition(before: SessionStatus, after: SessionStatus) -> None:
    """Raise IllegalTransition unless a session may go from ``before`` to ``after``."""
    if after not in SESSION_TRANSITIONS[before]:
        raise IllegalTransition(f"a session cannot go from {before} to {after}")


def require_invocation_transition(before: InvocationState, after: InvocationState) -> None:
    """Raise IllegalTransition unless an invocation may go from ``before`` to ``after``."""
    if after not in INVOCATION_TRANSITIONS[before]:
        raise IllegalTransition(f"a call cannot go from {before} to {after}")
