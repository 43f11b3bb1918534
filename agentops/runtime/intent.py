"""The decision about a prepared write, and the durable point that follows from it.

A call that moves money is decided in one transaction: the sums are locked, the facts are completed, the verdict is
computed, and the approval request or the intent is recorded. Two sessions that spend for the same customer, or as the
same agent, at once therefore wait for each other, and splitting an amount between them gains nothing. Any other
call has nothing to lock, and its intent is one statement, unless it follows the withdrawal of an approval in
the caller's transaction, which a taken key must not undo.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Any, Self
from uuid import UUID

from django.db import IntegrityError, transaction

from agentops.gateway.evidence import refused_while_behind
from agentops.gateway.execute import idempotency_key
from agentops.gateway.prepare import Prepared, Refusal
from agentops.kernel.canonical import dumps
from agentops.kernel.crashpoints import CrashPoint, reach
from agentops.kernel.ids import new_id
from agentops.ledger.append import Event, StaleStream, Statement
from agentops.ledger.sql import fetch_one
from agentops.policy.baseline import RATE_FORBID
from agentops.policy.engine import Reason, Verdict
from agentops.policy.rules import Effect
from agentops.registry.tool import Preview, ToolSpec
from agentops.runtime import statements
from agentops.runtime.anomalies import Halted, halt, unsettled
from agentops.runtime.benefit import requester_benefits
from agentops.runtime.interrupts import interrupt_of
from agentops.runtime.judging import judge, judged, refusal_by
from agentops.runtime.models import Invocation
from agentops.runtime.ports import ApprovalCase, approval_gate
from agentops.runtime.rate_counts import know_target, note_call
from agentops.runtime.rates import is_limited, rate_of
from agentops.runtime.record import Interrupted, Leaving, Took, record, stands_elsewhere
from agentops.runtime.states import InvocationState, SessionStatus
from agentops.runtime.windows import Window, counts_in_window, open_window
from agentops.runtime.work import Work


@dataclass(frozen=True)
class Write:
    """A prepared write on its way to a decision.

    ``facts`` and ``payload`` describe the proposal in the event; ``approved_by`` is set when a person has
    agreed to exactly this; ``invocation_id`` when the call is already on record and waits. ``trusted``: a person of the
    house or the runtime itself proposes it, so that nothing the session has read can have led it astray. ``flow`` are
    its facts of that name, once they are known. ``edits`` is the request whose call a person changed into this one:
    whatever policy says, somebody else has to agree.
    """

    prepared: Prepared
    preview: Preview
    rationale: str
    took: Took
    facts: dict[str, Any]
    payload: dict[str, Any]
    at: datetime
    invocation_id: UUID | None = None
    approved_by: str = ""
    supersedes: UUID | None = None
    undoes: UUID | None = None
    trusted: bool = False
    flow: Mapping[str, Any] | None = None
    edits: UUID | None = None

    @property
    def moves_money(self) -> bool:
        """True when the call counts in sums, which then stay locked until the decision is recorded."""
        return counts_in_window(self.prepared.tool, self.preview)


@dataclass(frozen=True)
class IntendedCall:
    """A call whose intent is on record, as its row says. ``preview`` is in the form of ``Preview.as_json``."""

    pk: UUID
    tenant_id: UUID
    tool: str
    arguments: dict[str, Any]
    preview: dict[str, Any]
    key: str
    money_family: str
    window_day: date | None
    undoes: UUID | None

    @classmethod
    def of(cls, row: Invocation) -> Self:
        """Return what the row says."""
        return cls(
            row.pk,
            row.tenant_id,
            row.tool,
            row.arguments,
            row.preview,
            row.idempotency_key or "",
            row.money_family,
            row.window_day,
            row.undoes,
        )

    @property
    def versions(self) -> dict[str, int]:
        """The versions of the records that the call was decided about."""
        return {name: int(version) for name, version in self.preview["versions"].items()}


@dataclass(frozen=True)
class Intended:
    """The intent is on record: the call may be made, under its key."""

    call: IntendedCall
    tool: ToolSpec


@dataclass(frozen=True)
class Parked:
    """A person has to decide; the session is no longer held."""

    request_id: UUID


@dataclass(frozen=True)
class TurnedDown:
    """Policy or an earlier call stands in the way; nothing was recorded yet.

    ``judged`` are the facts and the verdict as they are recorded, empty when it was no rule that turned it down.
    """

    refusal: Refusal
    judged: Mapping[str, Any] = field(default_factory=dict)


Decision = Intended | Parked | Halted | TurnedDown


def decide_write(work: Work, write: Write) -> Decision:
    """Decide about a write and record the intent, the request, or why the session pauses. Raises StaleStream.

    What was decided is recorded only under the epoch and at the position it was decided in. When either has moved it
    is decided anew, unless what moved takes the session away: then Interrupted is raised and nothing was done.
    """
    key = idempotency_key(
        tool=write.prepared.tool,
        arguments=write.prepared.arguments,
        preview=write.preview,
        context=work.call_context(),
    )
    while True:
        try:
            locks = write.moves_money or write.supersedes or is_limited(work, write.prepared.tool.name)
            with transaction.atomic() if locks else nullcontext():
                decided = _decide(work, write, key)
        except StaleStream:
            # Inside the caller's transaction nothing is mended: it is rolled back, and the step done anew.
            if write.supersedes or not stands_elsewhere(work.held):
                raise
            if interrupt_of(work) is not None:
                raise Interrupted("somebody stepped in before the call was recorded") from None
        except IntegrityError as error:
            if "idempotency_key" not in str(error):
                raise
            return TurnedDown(_turned_down_by(key) or _UNDER_WAY)
        else:
            if isinstance(decided, Intended):
                # In the caller's transaction that the target is known may still be undone.
                there_to_stay = write.supersedes is None
                note_call(work.held.tenant_id, decided.tool.name, write.preview.target, known=there_to_stay)
            return decided


_UNDER_WAY = Refusal("CONFLICT", "The same action is already under way.", "Do not repeat it; report it as under way.")
_ALREADY_DONE = Refusal("ALREADY_DONE", "This was already done for this request.", "Do not repeat it.")


_CHANGED = Reason("runtime.edited", Effect.ASK, "A person changed the agent's call, so somebody else has to agree.")


def _turned_down_by(key: str) -> Refusal | None:
    """Return why a call with this key is not made: it was already, or is under way. None when it may be."""
    earlier = fetch_one(statements.STATE_OF_KEY, {"key": key})
    if earlier is None:
        return None
    return _ALREADY_DONE if earlier[0] in (InvocationState.SUCCEEDED, InvocationState.COMPENSATED) else _UNDER_WAY


def _decide(work: Work, write: Write, key: str) -> Decision:
    tool = write.prepared.tool
    stopped = refused_while_behind(tool, write.at)
    if stopped is not None:
        return TurnedDown(stopped)
    window = open_window(work, tool, write.preview, write.at)
    rate = rate_of(work, tool, write.preview, write.at, trusted=write.trusted)
    verdict, facts = judge(
        work,
        write.prepared,
        moved=window.moved,
        trusted=write.trusted,
        rate=rate,
        flow=write.flow,
        benefits=requester_benefits(work),
    )
    if verdict.effect is Effect.FORBID:
        refusal = rate.refusal(tool.name, write.at) if verdict.reasons[0].rule == RATE_FORBID else None
        return TurnedDown(refusal or refusal_by(verdict), judged(verdict, facts))
    if write.edits is not None:
        verdict = replace(verdict, effect=Effect.ASK, reasons=(_CHANGED, *verdict.reasons))
    record_facts = {**write.facts, "verdict": verdict.as_json()["effect"]}
    payload = {**write.payload, **judged(verdict, facts), "preview": write.preview.as_json()}
    # A call that is on record already was looked at by a person, or is being shown to one again.
    looked_at = write.invocation_id is not None or write.edits is not None
    anomalies = () if looked_at else unsettled(work.held, rate.anomalies, verdict, write.at)
    if anomalies or (verdict.effect is Effect.ASK and not write.approved_by):
        # Nobody is asked about what was already done. A call that just runs finds out by its key, which is unique.
        earlier = _turned_down_by(key)
        if earlier is not None:
            return TurnedDown(earlier)
        if anomalies:
            return halt(work.held, anomalies, replace(write.took, writes=0), record_facts, payload, at=write.at)
        return _park(work, write, verdict, record_facts, payload)
    first = rate.facts["first_target"]
    also = [know_target(work.held.tenant_id, tool.name, write.preview.target)] if first else []
    return _intend(work, write, key, window, record_facts, payload, also=also)


def _propose(write: Write, invocation_id: UUID, state: InvocationState, key: str | None, day: date | None) -> Statement:
    return Statement(
        "proposed",
        statements.PROPOSE,
        {
            "invocation": invocation_id,
            "tool": write.prepared.tool.name,
            "tool_version": write.prepared.tool.version,
            "arguments": dumps(write.prepared.arguments),
            "preview": dumps(write.preview.as_json()),
            "undoes": write.undoes,
            "invocation_state": state.value,
            "key": key,
            "family": write.prepared.tool.money_family,
            "window_day": day,
            "rationale": write.rationale,
            "intended_at": write.at if state is InvocationState.INTENDED else None,
        },
    )


def _intend(
    work: Work,
    write: Write,
    key: str,
    window: Window,
    facts: dict[str, Any],
    payload: dict[str, Any],
    *,
    also: Sequence[Statement],
) -> Intended:
    invocation_id = write.invocation_id or new_id()
    if write.approved_by:
        facts = {**facts, "approved_by": write.approved_by}
    if write.invocation_id is not None:
        change = Statement(
            "intended",
            statements.INTEND,
            {
                "invocation": invocation_id,
                "key": key,
                "tool_version": write.prepared.tool.version,
                "preview": dumps(write.preview.as_json()),
                "window_day": window.day,
            },
            required=True,
        )
    else:
        change = _propose(write, invocation_id, InvocationState.INTENDED, key, window.day)
    also = [change, *also]
    if window.rows and write.preview.money is not None:
        params = {"windows": list(window.rows), "window_minor": write.preview.money.minor}
        also.append(Statement("counted", statements.COUNT_MONEY, params))
    event = Event("call.intended", work.actor, {**facts, "key": key}, {"invocation": str(invocation_id)}, payload)
    reach(CrashPoint.INTENT_COMMITTING)
    record(work.held, [event], write.took, also=also, at=write.at, as_decided=True)
    reach(CrashPoint.INTENT_COMMITTED)
    return Intended(_as_recorded(work, write, invocation_id, key, window), write.prepared.tool)


def _as_recorded(work: Work, write: Write, invocation_id: UUID, key: str, window: Window) -> IntendedCall:
    """Return the row as the statement just left it; reading it again would cost a round trip a step."""
    return IntendedCall(
        pk=invocation_id,
        tenant_id=work.held.tenant_id,
        tool=write.prepared.tool.name,
        arguments=write.prepared.arguments,
        preview=write.preview.as_json(),
        key=key,
        money_family=write.prepared.tool.money_family,
        window_day=window.day,
        undoes=write.undoes,
    )


@transaction.atomic
def _park(
    work: Work,
    write: Write,
    verdict: Verdict,
    facts: dict[str, Any],
    payload: dict[str, Any],
) -> Parked:
    invocation_id = write.invocation_id or new_id()
    fresh = replace(write, invocation_id=invocation_id)
    case = _case(work, fresh, verdict, payload["facts"])
    request_id = approval_gate().open(case)
    refs = {"invocation": str(invocation_id), "request": str(request_id)}
    if write.edits:
        refs["edits"] = str(write.edits)
    waiting = InvocationState.AWAITING_APPROVAL
    also = [_ask_again(fresh) if write.invocation_id else _propose(write, invocation_id, waiting, None, None)]
    reach(CrashPoint.REQUEST_COMMITTING)
    record(
        work.held,
        [Event("approval.requested", work.actor, facts, refs, payload)],
        replace(write.took, gates=1),
        leaving=Leaving(SessionStatus.WAITING_APPROVAL),
        also=also,
        at=write.at,
        as_decided=True,
    )
    return Parked(request_id)


def _ask_again(write: Write) -> Statement:
    """The new request is about the tool and the records as they are now, so the call must be too."""
    params = {
        "invocation": write.invocation_id,
        "tool_version": write.prepared.tool.version,
        "preview": dumps(write.preview.as_json()),
    }
    return Statement("asked_again", statements.ASK_AGAIN, params)


def _case(work: Work, write: Write, verdict: Verdict, facts: dict[str, Any]) -> ApprovalCase:
    tool, subject = write.prepared.tool, work.subject
    assert write.invocation_id is not None  # noqa: S101 - set by the only caller
    return ApprovalCase(
        tenant_id=work.held.tenant_id,
        session_id=work.held.id,
        invocation_id=write.invocation_id,
        position=work.held.position,
        agent=(work.agent if write.edits else work.actor).removeprefix("agent:"),
        agent_version_id=work.version.pk,
        tool=tool.name,
        tool_version=tool.version,
        tier=tool.tier.value,
        reversibility=tool.reversibility,
        irreversible=tool.irreversible,
        queue=verdict.queue or tool.queue,
        queue_named=bool(verdict.queue),
        tags=tool.tags,
        people=verdict.people,
        facts=facts,
        arguments=write.prepared.arguments,
        preview=write.preview.as_json(),
        effect=write.preview.effect,
        target=write.preview.target,
        sender=subject.sender,
        money=write.preview.money,
        policy_version=work.grants.policy_version(tool.name),
        reasons=tuple((r.rule, r.effect.value, r.words) for r in verdict.reasons),
        rationale=write.rationale,
        subject_kind=subject.kind,
        subject_id=subject.id,
        subject_title=subject.title,
        subject_text=subject.text,
        requester=work.actor,
        customer_email=subject.customer_email,
        requested_at=write.at,
        supersedes=write.supersedes or write.edits,
        editor=work.actor if write.edits else "",
    )
