"""The base of every error, the kinds of failure a tool call can have, and the incident codes."""

from enum import StrEnum


class AgentOpsError(Exception):
    """Base of every error of ours.

    ``code`` is stable and machine-readable, ``next_step`` tells whoever reads it what to do now.
    """

    code = "ERROR"
    next_step = "Report this with the session id."

    def __init__(self, message: str, *, next_step: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        if next_step is not None:
            self.next_step = next_step

    @property
    def in_full(self) -> str:
        """What is wrong and what to do about it, as one text."""
        return f"{self.message} {self.next_step}"


class FailureKind(StrEnum):
    """Why a tool call did not do what was asked. Each kind has one reaction, see ``retryable``."""

    RATE_LIMIT = "RATE_LIMIT"
    VALIDATION = "VALIDATION"
    AUTH = "AUTH"
    TIMEOUT = "TIMEOUT"
    CONFLICT = "CONFLICT"
    NOT_FOUND = "NOT_FOUND"
    UNAVAILABLE = "UNAVAILABLE"
    UNKNOWN = "UNKNOWN"

    @property
    def retryable(self) -> bool:
        """True when the same call may succeed later without anybody changing anything."""
        return self in (FailureKind.RATE_LIMIT, FailureKind.TIMEOUT, FailureKind.UNAVAILABLE)


class IncidentCode(StrEnum):
    """Why a session stopped before its planner finished. Searchable in the console."""

    BUDGET_STEPS = "BUDGET_STEPS"
    BUDGET_TIME = "BUDGET_TIME"
    BUDGET_COST = "BUDGET_COST"
    BUDGET_TOKENS = "BUDGET_TOKENS"
    BUDGET_DAY = "BUDGET_DAY"
    MODEL_UNAVAILABLE = "MODEL_UNAVAILABLE"
    MODEL_MALFORMED = "MODEL_MALFORMED"
    OUTCOME_UNKNOWN = "OUTCOME_UNKNOWN"
    LOOP_REFUSED = "LOOP_REFUSED"
    LOOP_REPEATED = "LOOP_REPEATED"
    LOOP_SAME_OUTPUT = "LOOP_SAME_OUTPUT"
    NO_PROGRESS = "NO_PROGRESS"
    UNDO_FAILED = "UNDO_FAILED"
    ANOMALY = "ANOMALY"
    APPROVAL_EXPIRED = "APPROVAL_EXPIRED"
    CANCELLED = "CANCELLED"
    VERSION_GONE = "VERSION_GONE"
    SUBJECT_ERASED = "SUBJECT_ERASED"
    WORKER_LOST = "WORKER_LOST"
    INTERNAL = "INTERNAL"

    @property
    def words(self) -> str:
        """One sentence for a person."""
        return _INCIDENT_WORDS[self]


_INCIDENT_WORDS = {
    IncidentCode.BUDGET_STEPS: "The session reached its limit of steps.",
    IncidentCode.BUDGET_TIME: "The session ran longer than its time limit allows.",
    IncidentCode.BUDGET_COST: "The session reached its spending limit for model calls.",
    IncidentCode.BUDGET_TOKENS: "The session reached its limit of tokens.",
    IncidentCode.BUDGET_DAY: "The spending limit of the day was reached.",
    IncidentCode.MODEL_UNAVAILABLE: "The model could not be reached after several attempts.",
    IncidentCode.MODEL_MALFORMED: "The model kept answering in a form that cannot be read.",
    IncidentCode.OUTCOME_UNKNOWN: "A call to another system may or may not have taken effect; a person must check.",
    IncidentCode.LOOP_REFUSED: "The model repeated proposals that had been refused.",
    IncidentCode.LOOP_REPEATED: "The model kept making the same call with the same result.",
    IncidentCode.LOOP_SAME_OUTPUT: "The model gave the same answer several times in a row.",
    IncidentCode.NO_PROGRESS: "The session went on for many steps without finding or achieving anything new.",
    IncidentCode.UNDO_FAILED: "Something that was done could not be undone; a person must put it right.",
    IncidentCode.ANOMALY: "The session was about to do something unusual and is paused until a person has looked.",
    IncidentCode.APPROVAL_EXPIRED: "Nobody decided in time about something that the work cannot go on without.",
    IncidentCode.CANCELLED: "A person cancelled the session.",
    IncidentCode.VERSION_GONE: "The session began under a version of the program that is no longer installed.",
    IncidentCode.SUBJECT_ERASED: "What is held about the person it was about was erased, so nobody can go on with it.",
    IncidentCode.WORKER_LOST: "The program that worked on this stopped several times at the same step.",
    IncidentCode.INTERNAL: "Something failed inside this program; the work was handed to a person.",
}
