"""The states of a session and of an invocation, and the only transitions between them (pure)."""

from enum import StrEnum

from agentops.kernel.errors import AgentOpsError


class SessionStatus(StrEnum):
    """Where a session stands."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING_APPROVAL = "waiting_approval"
    WAITING_PERSON = "waiting_person"
    SLEEPING = "sleeping"
    PAUSED = "paused"
    FINISHED = "finished"
    STOPPED = "stopped"
    CANCELLED = "cancelled"


class InvocationState(StrEnum):
    """Where a proposed call stands."""

    AWAITING_APPROVAL = "awaiting_approval"
    REFUSED = "refused"
    INTENDED = "intended"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    COMPENSATED = "compensated"


class Wish(StrEnum):
    """What an operator wants of a session that a worker holds; carried out between two steps."""

    NONE = ""
    PAUSE = "pause"
    TAKE_OVER = "take_over"
    CANCEL = "cancel"

    @property
    def done(self) -> str:
        """What has been done to the session once it is carried out."""
        return {"pause": "paused", "take_over": "taken over", "cancel": "cancelled"}[self.value]


class IllegalTransition(AgentOpsError):
    """A change of state that the table does not know."""

    code = "ILLEGAL_TRANSITION"


_S = SessionStatus
SESSION_TRANSITIONS: dict[SessionStatus, frozenset[SessionStatus]] = {
    _S.QUEUED: frozenset({_S.RUNNING, _S.PAUSED, _S.CANCELLED, _S.STOPPED}),
    _S.RUNNING: frozenset(
        {
            _S.QUEUED,
            _S.WAITING_APPROVAL,
            _S.WAITING_PERSON,
            _S.SLEEPING,
            _S.PAUSED,
            _S.FINISHED,
            _S.STOPPED,
            _S.CANCELLED,
        }
    ),
    # Whoever it is about is erased: then it stops wherever it stands.
    _S.WAITING_APPROVAL: frozenset({_S.QUEUED, _S.PAUSED, _S.CANCELLED, _S.STOPPED}),
    _S.WAITING_PERSON: frozenset({_S.QUEUED, _S.PAUSED, _S.CANCELLED, _S.STOPPED}),
    _S.SLEEPING: frozenset({_S.QUEUED, _S.PAUSED, _S.CANCELLED, _S.STOPPED}),
    _S.PAUSED: frozenset({_S.QUEUED, _S.CANCELLED, _S.STOPPED}),
    # An ended session comes back for one thing only: a person's proposal to undo what it did.
    _S.FINISHED: frozenset({_S.QUEUED}),
    _S.STOPPED: frozenset({_S.QUEUED}),
    _S.CANCELLED: frozenset({_S.QUEUED}),
}

_I = InvocationState
INVOCATION_TRANSITIONS: dict[InvocationState, frozenset[InvocationState]] = {
    _I.AWAITING_APPROVAL: frozenset({_I.INTENDED, _I.REFUSED}),
    _I.INTENDED: frozenset({_I.SUCCEEDED, _I.FAILED, _I.UNKNOWN}),
    # What became of it is found out later, by asking the system of record or by a person.
    _I.UNKNOWN: frozenset({_I.SUCCEEDED, _I.FAILED}),
    _I.REFUSED: frozenset(),
    _I.SUCCEEDED: frozenset({_I.COMPENSATED}),
    _I.FAILED: frozenset(),
    _I.COMPENSATED: frozenset(),
}

UNFINISHED = frozenset({_I.AWAITING_APPROVAL, _I.INTENDED})
ENDED = frozenset({_S.FINISHED, _S.STOPPED, _S.CANCELLED})


def require_transition(before: SessionStatus, after: SessionStatus) -> None:
    """Raise IllegalTransition unless a session may go from ``before`` to ``after``."""
    if after not in SESSION_TRANSITIONS[before]:
        raise IllegalTransition(f"a session cannot go from {before} to {after}")


def require_invocation_transition(before: InvocationState, after: InvocationState) -> None:
    """Raise IllegalTransition unless an invocation may go from ``before`` to ``after``."""
    if after not in INVOCATION_TRANSITIONS[before]:
        raise IllegalTransition(f"a call cannot go from {before} to {after}")
