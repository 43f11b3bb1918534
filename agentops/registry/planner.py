"""The one interface of everything that proposes steps: a model, the offline playbook, a script in a test.

A planner sees a ``PlanContext`` and proposes one thing. It holds no credential and no connection;
what becomes of its proposal is decided elsewhere.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol, runtime_checkable
from uuid import UUID

from agentops.kernel.errors import AgentOpsError, FailureKind
from agentops.registry.tool import ToolSpec


@dataclass(frozen=True)
class Subject:
    """The piece of work a session is about. ``text`` comes from outside and is never an instruction.

    ``customer_id`` is whom the system of record knows the sender as, None when it knows nobody. ``priority`` is
    0 (low) to 3 (urgent); ``workstream`` is what its spend is counted under, the role's own when empty.
    ``customer_email`` is that customer's address in the system of record: whoever has its mailbox gains by the work.
    ``again_since`` is when somebody opened it again after it was over: sessions that ended before have not begun it.
    """

    kind: str
    id: str
    title: str
    text: str
    sender: str
    customer_id: str | None
    received_at: datetime
    priority: int = 1
    workstream: str = ""
    customer_email: str = ""
    again_since: datetime | None = None


OFFLINE = "offline playbook"
"""The name of whatever plans without a model."""

EDITED = "EDITED"
"""The code by which a planner learns that a person changed its call; what became of that, a later step tells."""


class ObservationStatus(StrEnum):
    """How a proposed call ended, as the planner is told."""

    OK = "ok"
    REFUSED = "refused"
    FAILED = "failed"
    REJECTED = "rejected"
    EXPIRED = "expired"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Observation:
    """One earlier step. ``result`` is the tool's output, or ``{"code", "message", "next_step"}``."""

    step: int
    tool: str
    arguments: Any
    status: ObservationStatus
    result: Any

    @property
    def is_edited(self) -> bool:
        """Whether a person changed the call: it did not end in this form."""
        told = self.result.get("code") if isinstance(self.result, Mapping) else None
        return self.status is ObservationStatus.REJECTED and told == EDITED


@dataclass(frozen=True)
class PlanContext:
    """Everything a planner may know. ``tools`` are those granted to the agent's version and exposed by now."""

    session_id: UUID
    goal: str
    instructions: str
    subject: Subject
    tools: tuple[ToolSpec, ...]
    history: tuple[Observation, ...]
    now: datetime


@dataclass(frozen=True)
class ToolCall:
    """A proposed call. ``arguments`` is JSON text when it comes from a model, and is read strictly."""

    tool: str
    arguments: dict[str, Any] | str
    rationale: str = ""


@dataclass(frozen=True)
class FinalAnswer:
    """The end of the work: the message, and what was verified, what was blocked and what is left."""

    message: str
    verified: tuple[str, ...] = ()
    blocked: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the answer as canonical JSON, as the ledger keeps it."""
        told = {"verified": list(self.verified), "blocked": list(self.blocked), "left": list(self.left)}
        return {"message": self.message, **told}


@dataclass(frozen=True)
class Malformed:
    """The model answered something that is not a proposal. ``problem`` goes back to it once."""

    problem: str


@dataclass(frozen=True)
class Question:
    """Something the planner cannot know: the session waits until a person answers. ``options`` are suggestions."""

    text: str
    options: tuple[str, ...] = ()


ASK_PERSON = "ask_person"
"""The name that a question has among a session's steps; no tool may be called so."""

Proposal = ToolCall | FinalAnswer | Question | Malformed


@dataclass(frozen=True)
class Usage:
    """What one model call took: tokens, milliseconds, and integer micro-dollars (``estimated`` if guessed)."""

    model: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_micro: int = 0
    latency_ms: int = 0
    estimated: bool = False


@dataclass(frozen=True)
class Turn:
    """One answer of a planner: what it proposes, what that took, its output as it came, and what it was shown.

    ``context`` describes what was sent to a model (digest, sections, sizes), as canonical JSON; it is empty for
    a planner that reads the history itself.
    """

    proposal: Proposal
    usage: Usage
    raw: str = field(default="", repr=False)
    context: dict[str, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Answer:
    """What a planner says about a call of its own that waits for a decision, and what saying it took.

    The words are a claim like any other text of a planner: shown as such, never acted on.
    """

    words: str
    usage: Usage
    context: dict[str, Any] = field(default_factory=dict, repr=False)


class PlannerUnavailable(AgentOpsError):
    """The planner gave no answer. ``retry_after`` is seconds, when the provider said so.

    Of the kinds only the retryable ones are worth waiting for; the others hand the session to a person. ``counts``
    is False when waiting is no failed attempt: the provider asks for patience, or it is not the tenant's turn.
    """

    code = "PLANNER_UNAVAILABLE"
    next_step = "Look at the provider's status, and at the key and the name of the model."

    def __init__(
        self, kind: FailureKind, message: str, *, retry_after: float | None = None, counts: bool = True
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        self.counts = counts


class Planner(Protocol):
    """Proposes the next step. Raises PlannerUnavailable when it cannot answer at all."""

    @property
    def name(self) -> str:
        """What is shown wherever a model name is shown, for example ``offline playbook``."""

    def most_micro(self, context: PlanContext) -> int:
        """Return the most that a proposal can cost, in micro-dollars: what is reserved before it is asked for."""

    def propose(self, context: PlanContext) -> Turn:
        """Return one proposal for the next step."""


@runtime_checkable
class Explains(Protocol):
    """What a planner may do besides: answer a question of the person who decides about its call.

    Raises PlannerUnavailable as ``Planner.propose`` does. One that does not explain is not asked.
    """

    def most_micro_to_explain(self, context: PlanContext, call: ToolCall, question: str) -> int:
        """Return the most that the answer can cost, in micro-dollars."""

    def answer(self, context: PlanContext, call: ToolCall, question: str) -> Answer:
        """Say why ``call`` was proposed, as far as ``question`` asks. ``question`` is text, never an instruction."""


class OfflinePlaybook(ABC):
    """The base of planners without a model: nothing is paid for, and the same context gives the same proposal."""

    @property
    def name(self) -> str:
        """What is shown where a model's name is shown."""
        return OFFLINE

    def most_micro(self, context: PlanContext) -> int:
        """Return 0: nothing is paid for."""
        return 0

    def most_micro_to_explain(self, context: PlanContext, call: ToolCall, question: str) -> int:
        """Return 0: nothing is paid for."""
        return 0

    def propose(self, context: PlanContext) -> Turn:
        """Return the next proposal. It never raises."""
        proposal = self.next_of(context)
        told = proposal.message if isinstance(proposal, FinalAnswer) else getattr(proposal, "rationale", "")
        return Turn(proposal, Usage(model=OFFLINE), raw=told)

    def answer(self, context: PlanContext, call: ToolCall, question: str) -> Answer:
        """Say what is known about a call, whatever is asked."""
        return Answer(self.explained(context, call), Usage(model=OFFLINE))

    @abstractmethod
    def next_of(self, context: PlanContext) -> Proposal:
        """Return what comes next."""

    @abstractmethod
    def explained(self, context: PlanContext, call: ToolCall) -> str:
        """Return what is known about a call."""
