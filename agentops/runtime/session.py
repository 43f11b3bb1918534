"""A session as the worker that holds it sees it: its row, its lease, and its history folded from the ledger."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from typing import Any
from uuid import UUID

from agentops.kernel.canonical import loads
from agentops.ledger.queries import StreamEvent, events_of
from agentops.registry.planner import Observation, ObservationStatus, ToolCall, Usage
from agentops.runtime.guards import Limits, Progress
from agentops.runtime.models import Session
from agentops.runtime.spend import Reservation


@dataclass(frozen=True)
class ByPerson:
    """What a person proposed instead of the planner: a call, or a last message.

    ``undoes``: the call it takes back. ``edits``: the request whose call it changes.
    """

    actor: str
    call: ToolCall | None
    message: str = ""
    undoes: UUID | None = None
    edits: UUID | None = None


@dataclass(frozen=True)
class Asked:
    """A person's question to the agent about its own call, which waits for a decision meanwhile."""

    actor: str
    question: str


@dataclass(frozen=True)
class Awaited:
    """A read whose answer was not due: it is made again as it was, and the planner is not asked meanwhile.

    ``seen`` is what the planner was shown and said, ``model`` its name, ``waited`` the seconds of all waits so far.
    """

    call: ToolCall
    seen: dict[str, Any]
    model: str
    waited: int


@dataclass(frozen=True)
class Reopened:
    """How the session had ended before a person reopened it to undo something."""

    status: str
    stop_code: str
    outcome: str


@dataclass(frozen=True)
class ProcessState:
    """Where the session stands in one process. ``failed``: it is not going on, what it did is taken back."""

    version: int
    state: str
    failed: bool = False


@dataclass(frozen=True)
class Approved:
    """A call that a person approved, with its arguments as they were."""

    tool: str
    arguments: dict[str, Any]


@dataclass
class Folded:
    """What a stream's events add up to.

    ``proposed`` waits to be carried out, ``proposer`` is who proposed the call that is unfinished, and ``edits`` the
    request whose call that one changes. ``asked`` is a question about it that the agent has not answered yet.
    ``overdue``: nobody decided in time, and so the session is to go to a person.
    ``in_doubt``: an attempt at the intended call, of a worker that was lost or a request that got no answer, may still
    take effect.
    ``awaited`` is a read whose answer was not due.
    ``stopped_at`` is the position at which it began to stop: what was intended before is not made any more.
    ``paused_for`` are the signs of the anomalies it was paused for, ``accepted`` when somebody let it go on with one.
    ``erased``: part of it is about somebody who was erased since, and can no longer be read.
    ``signs`` has for each observation the digest of what the planner said ("" for a call), and whether it wrote.
    """

    history: list[Observation] = field(default_factory=list)
    signs: list[tuple[str, bool]] = field(default_factory=list)
    stop_code: str = ""
    stopped_at: int = 0
    achieved: set[str] = field(default_factory=set)
    proposed: ByPerson | None = None
    proposer: str = ""
    edits: UUID | None = None
    asked: Asked | None = None
    awaited: Awaited | None = None
    overdue: bool = False
    reopened: Reopened | None = None
    processes: dict[str, ProcessState] = field(default_factory=dict)
    in_doubt: bool = False
    approved: list[Approved] = field(default_factory=list)
    paused_for: tuple[str, ...] = ()
    accepted: dict[str, datetime] = field(default_factory=dict)
    erased: bool = False


@dataclass
class Held(Folded):
    """A claimed session. ``position``, ``epoch`` and the counters follow every durable point.

    ``carried`` is what a proposal took that was dropped because of an interrupt; the next durable point counts it.
    ``limits`` are those of the brief that the worker knows.
    ``heeded`` is the wish that the worker knows of already and concludes an unfinished call for.
    """

    id: UUID = field(kw_only=True)
    tenant_id: UUID = field(kw_only=True)
    agent_id: UUID = field(kw_only=True)
    agent_version_id: UUID = field(kw_only=True)
    role: str = field(kw_only=True)
    subject_id: str = field(kw_only=True)
    customer_id: str = field(kw_only=True)
    data_subject: str = field(kw_only=True)
    workstream: str = field(kw_only=True)
    priority: int = field(kw_only=True)
    owner: str = field(kw_only=True)
    fence: int = field(kw_only=True)
    epoch: int = field(kw_only=True)
    position: int = field(kw_only=True)
    steps: int = field(kw_only=True)
    writes: int = field(kw_only=True)
    attempts: int = field(kw_only=True)
    worked_ms: int = field(kw_only=True)
    tokens: int = field(kw_only=True)
    cost_micro: int = field(kw_only=True)
    wanted: str = field(kw_only=True)
    taken_by: str = field(kw_only=True)
    limits: Limits | None = None
    reservation: Reservation | None = None
    carried: Usage | None = None
    heeded: str = ""

    @cached_property
    def progress(self) -> Progress:
        """What the guards have seen. They look at a loaded history when first asked: no approved call waits for it."""
        progress = Progress(max_identical=self.limits.max_identical) if self.limits else Progress()
        # What was recorded since stands in the history too, and is shown by whoever recorded it.
        for observation, (output, wrote) in zip(self.history, self.signs, strict=False):
            progress.see(observation, output, wrote=wrote)
        return progress


_ENDINGS = {
    "call.read": ObservationStatus.OK,
    "call.read_failed": ObservationStatus.FAILED,
    "call.refused": ObservationStatus.REFUSED,
    "call.succeeded": ObservationStatus.OK,
    "call.failed": ObservationStatus.FAILED,
    "call.unknown": ObservationStatus.UNKNOWN,
    "model.malformed": ObservationStatus.REFUSED,
    "approval.rejected": ObservationStatus.REJECTED,
    "approval.edited": ObservationStatus.REJECTED,
    "approval.expired": ObservationStatus.EXPIRED,
    "person.answered": ObservationStatus.OK,
    "question.expired": ObservationStatus.EXPIRED,
    "question.overtaken": ObservationStatus.EXPIRED,
    "session.handed_back": ObservationStatus.OK,
    "call.reconciled": ObservationStatus.OK,
}
OBSERVED = frozenset(_ENDINGS)
"""The events that can end a step: with a result, they are the observations of a history, in their order."""

_SESSION_ENDS = frozenset({"session.finished", "session.stopped", "session.cancelled"})
_NOT_ASKED_ANY_MORE = frozenset({"approval.answered", "approval.expired", "approval.voided", "call.refused"})
_TAKEN_UP = frozenset({"session.stopping", "session.handed_back", *_SESSION_ENDS})
"""Somebody looks after the work of whoever did not decide."""

_BEGINS_CALL = frozenset({"approval.requested", "call.intended"})


def fold(events: list[StreamEvent]) -> Folded:
    """Return the history that ``events`` tell, in their order (pure)."""
    folded = Folded()
    arguments: dict[str, tuple[str, Any]] = {}
    for event in events:
        body: dict[str, Any] = {} if event.body is None else loads(event.body)
        folded.erased = folded.erased or event.erased_at is not None
        invocation = event.refs.get("invocation", "")
        if "arguments" in body and invocation:
            arguments[invocation] = (event.facts["tool"], body["arguments"])
        _note(folded, event, body)
        if event.type == "approval.approved" and invocation in arguments:
            folded.approved.append(Approved(*arguments[invocation]))
        _follow_proposal(folded, event, body)
        _follow_request(folded, event, body)
        _follow_pause(folded, event)
        status = _ENDINGS.get(event.type)
        if status is None or body.get("result") is None:
            continue
        if event.facts.get("found") == "not_happened":
            status = ObservationStatus.FAILED
        given = (event.facts.get("tool", ""), body.get("arguments"))
        tool, proposed = arguments.get(invocation, given)
        folded.history.append(Observation(len(folded.history) + 1, tool, proposed, status, body.get("result")))
        folded.signs.append((event.facts.get("output", ""), event.type == "call.succeeded"))
        if status is ObservationStatus.OK and event.facts.get("outcome"):
            folded.achieved.add(event.facts["outcome"])
    return folded


def _note(folded: Folded, event: StreamEvent, body: dict[str, Any]) -> None:
    """Follow what is not an observation: stops, a person's proposals, processes, retries."""
    facts, kind = event.facts, event.type
    if kind == "session.stopping":
        folded.stop_code, folded.stopped_at = facts["code"], folded.stopped_at or event.position
    elif kind == "person.proposed":
        folded.proposed, folded.awaited = _by_person(event, body), None
    elif kind == "session.reopened":
        folded.reopened = Reopened(facts["was"], facts["code"], facts["outcome"])
        folded.stop_code, folded.stopped_at = "", 0
        folded.proposed = _by_person(event, body)
    elif kind in _SESSION_ENDS:
        folded.reopened = folded.proposed = None
    elif kind == "session.sleeping":
        folded.in_doubt = folded.in_doubt or facts.get("without_effect") is False
        folded.awaited = _awaited(event, body) if "waits" in facts else folded.awaited
    elif kind == "call.intended":
        folded.in_doubt = False
    elif kind == "session.lease_expired":
        folded.in_doubt = True
    elif kind in ("process.began", "process.moved"):
        folded.processes[facts["process"]] = ProcessState(facts["version"], facts["to"])
    elif kind in ("process.failed", "process.compensated"):
        before = folded.processes[facts["process"]]
        folded.processes[facts["process"]] = replace(before, state=facts["to"], failed=kind == "process.failed")


def _follow_pause(folded: Folded, event: StreamEvent) -> None:
    """Whoever lets a session go on that was paused for something unusual accepts that."""
    if event.type == "session.paused":
        # A worker pauses it again after each step of the person who looks at it.
        folded.paused_for = (*folded.paused_for, *event.facts.get("signs", ()))
    elif event.type in ("session.resumed", "session.handed_back"):
        folded.accepted |= dict.fromkeys(folded.paused_for, event.at)
        folded.paused_for = ()


def _follow_proposal(folded: Folded, event: StreamEvent, body: dict[str, Any]) -> None:
    """A proposal is taken up by the call that it begins, or by what is answered to it."""
    if event.type in _BEGINS_CALL:
        edits = event.refs.get("edits")
        folded.proposer, folded.proposed, folded.edits = event.actor, None, UUID(edits) if edits else None
    elif event.type == "approval.edited":
        given = body.get("proposal")
        # Without its payload nobody knows any more what was to be proposed.
        call = ToolCall(given["tool"], given["arguments"], given["rationale"]) if given else None
        folded.proposer = ""
        folded.proposed = ByPerson(event.actor, call, edits=UUID(event.refs["request"])) if call else None
    elif event.type in _ENDINGS and event.type != "call.reconciled":
        folded.proposer, folded.proposed, folded.edits, folded.awaited = "", None, None, None


def _follow_request(folded: Folded, event: StreamEvent, body: dict[str, Any]) -> None:
    """A question about a call is answered, or is nobody's any more once the call itself has ended."""
    if event.type == "approval.asked":
        folded.asked = Asked(event.actor, str(body.get("question", "")))
    elif event.type in _NOT_ASKED_ANY_MORE:
        folded.asked = None
    if event.type == "approval.expired" and event.facts.get("hand_over"):
        folded.overdue = True
    elif event.type in _TAKEN_UP:
        folded.overdue = False


def _by_person(event: StreamEvent, body: dict[str, Any]) -> ByPerson | None:
    """Return what a person proposed, None once nobody can read it any more."""
    if event.erased_at is not None:
        return None
    undoes = event.refs.get("undoes")
    call = ToolCall(body["tool"], body["arguments"], body["rationale"]) if "tool" in body else None
    return ByPerson(event.actor, call, body.get("message", ""), UUID(undoes) if undoes else None)


def _awaited(event: StreamEvent, body: dict[str, Any]) -> Awaited | None:
    """Return the read that waits; None without its payload, since nobody knows then what was asked."""
    if "arguments" not in body:
        return None
    call = ToolCall(event.facts["tool"], body["arguments"], body["rationale"])
    seen = {name: value for name, value in body.items() if name not in ("arguments", "rationale")}
    return Awaited(call, seen, event.facts["model"], event.facts["waited"])


def load(row: Session, *, owner: str, epoch: int) -> Held:
    """Return the claimed session with its history. One query, whatever the session's length."""
    folded = fold(events_of(row.id))
    return Held(
        **vars(folded),
        id=row.id,
        tenant_id=row.tenant_id,
        agent_id=row.agent_id,
        agent_version_id=row.agent_version_id,
        role=row.role,
        subject_id=row.subject_id,
        customer_id=row.customer_id,
        data_subject=row.data_subject,
        workstream=row.workstream,
        priority=row.priority,
        owner=owner,
        fence=row.fence,
        epoch=epoch,
        position=row.position,
        steps=row.steps,
        writes=row.writes,
        attempts=row.attempts,
        worked_ms=row.worked_ms,
        tokens=row.input_tokens + row.output_tokens,
        cost_micro=row.cost_micro,
        wanted=row.wanted,
        taken_by=row.taken_by,
    )
