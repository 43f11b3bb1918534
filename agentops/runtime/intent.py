"""The decision about a prepared write, and the durable point that follows from it.

A call that moves money is decided in one transaction: the daily sum is locked, the facts are completed, the
verdict is computed, and the approval request or the intent is recorded. Two sessions that spend for the same
customer at once therefore wait for each other, and splitting an amount between them gains nothing. Any other
call has nothing to lock, and its intent is one statement, unless it follows the withdrawal of an approval in
the caller's transaction, which a taken key must not undo.
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any, Self
from uuid import UUID

from django.db import IntegrityError, transaction

from agentops.gateway.execute import idempotency_key
from agentops.gateway.prepare import Prepared, Refusal
from agentops.kernel.canonical import dumps
from agentops.kernel.crashpoints import CrashPoint, reach
from agentops.kernel.ids import derived_id, new_id
from agentops.ledger.append import Event, StaleStream, Statement
from agentops.ledger.sql import fetch_one
from agentops.policy.engine import Verdict, decide
from agentops.policy.facts import SessionFacts, facts_of
from agentops.policy.rules import Effect
from agentops.registry.tool import Preview, ToolSpec
from agentops.runtime import statements
from agentops.runtime.brief import elevations_of
from agentops.runtime.interrupts import interrupt_of
from agentops.runtime.models import Invocation
from agentops.runtime.ports import ApprovalCase, approval_gate
from agentops.runtime.record import Interrupted, Leaving, Took, record, stands_elsewhere
from agentops.runtime.spend import business_day
from agentops.runtime.states import InvocationState, SessionStatus
from agentops.runtime.work import Work


@dataclass(frozen=True)
class Write:
    """A prepared write on its way to a decision.

    ``facts`` and ``payload`` describe the proposal in the event; ``approved_by`` is set when a person has
    agreed to exactly this; ``invocation_id`` when the call is already on record and waits.
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

    @property
    def moves_money(self) -> bool:
        """True when the call counts in a daily sum, which then stays locked until the decision is recorded."""
        return self.preview.money is not None and bool(self.prepared.tool.money_family)


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
    """Policy or an earlier call stands in the way; nothing was recorded yet."""

    refusal: Refusal
    verdict: Verdict | None


def decide_write(work: Work, write: Write) -> Intended | Parked | TurnedDown:
    """Decide about a write and record the intent or the request. Raises StaleStream.

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
            with transaction.atomic() if write.moves_money or write.supersedes else nullcontext():
                return _decide(work, write, key)
        except StaleStream:
            # Inside the caller's transaction nothing is mended: it is rolled back, and the step done anew.
            if write.supersedes or not stands_elsewhere(work.held):
                raise
            if interrupt_of(work) is not None:
                raise Interrupted("somebody stepped in before the call was recorded") from None
        except IntegrityError as error:
            if "idempotency_key" not in str(error):
                raise
            return TurnedDown(_turned_down_by(key) or _UNDER_WAY, None)


_UNDER_WAY = Refusal("CONFLICT", "The same action is already under way.", "Do not repeat it; report it as under way.")
_ALREADY_DONE = Refusal("ALREADY_DONE", "This was already done for this request.", "Do not repeat it.")


def _turned_down_by(key: str) -> Refusal | None:
    """Return why a call with this key is not made: it was already, or is under way. None when it may be."""
    earlier = fetch_one(statements.STATE_OF_KEY, {"key": key})
    if earlier is None:
        return None
    return _ALREADY_DONE if earlier[0] in (InvocationState.SUCCEEDED, InvocationState.COMPENSATED) else _UNDER_WAY


def _decide(work: Work, write: Write, key: str) -> Intended | Parked | TurnedDown:
    window = _open_window(work, write)
    verdict, facts = judge(work, write.prepared, write.preview, moved=window.moved)
    if verdict.effect is Effect.FORBID:
        return TurnedDown(refusal_by(verdict), verdict)
    record_facts = {**write.facts, "verdict": verdict.as_json()["effect"]}
    payload = {**write.payload, "facts": facts, "verdict": verdict.as_json(), "preview": write.preview.as_json()}
    if verdict.effect is Effect.ASK and not write.approved_by:
        # Nobody is asked about what was already done. A call that just runs finds out by its key, which is unique.
        earlier = _turned_down_by(key)
        return TurnedDown(earlier, None) if earlier else _park(work, write, verdict, record_facts, payload)
    return _intend(work, write, key, window, record_facts, payload)


def refusal_by(verdict: Verdict) -> Refusal:
    """Return what a planner is told of a verdict that stands in the way."""
    return Refusal("POLICY", verdict.reasons[0].words, "Do something else, or hand over.")


def judge(work: Work, prepared: Prepared, preview: Preview | None, *, moved: int) -> tuple[Verdict, dict[str, Any]]:
    """Return the verdict on a prepared call and the facts it rests on."""
    money = preview.money if preview else None
    grant = work.grants.by_tool.get(prepared.tool.name)
    facts = facts_of(
        tool=prepared.tool,
        grant=grant.facts(currency=money.currency if money else None) if grant else None,
        session=SessionFacts(steps=work.held.steps, writes=work.held.writes),
        preview=preview,
        customer_day_minor=moved,
        frozen=work.brief.freeze_of(prepared.tool.name) is not None,
        elevated=not prepared.tool.elevated or prepared.tool.auth_scope in elevations_of(work.held.id),
    )
    return decide(facts, work.brief.rules_for(facts)), facts


@dataclass(frozen=True)
class _Window:
    id: UUID | None
    day: date | None
    moved: int


def _open_window(work: Work, write: Write) -> _Window:
    """Lock the daily sum that the call would add to, and return it. Calls without money have none."""
    money, family = write.preview.money, write.prepared.tool.money_family
    if money is None or not write.moves_money:
        return _Window(None, None, 0)
    day = business_day(write.at, work.brief.zone)
    window = window_id(work.held.tenant_id, family, write.preview.target, money.currency, day)
    row = fetch_one(
        statements.OPEN_WINDOW,
        {
            "window": window,
            "tenant": work.held.tenant_id,
            "family": family,
            "target": write.preview.target,
            "currency": money.currency,
            "day": day,
        },
    )
    return _Window(window, day, int(row[0]) if row else 0)


def window_id(tenant_id: UUID, family: str, target: str, currency: str, day: date) -> UUID:
    """Return the id of the row that sums up one family, target, currency and business day."""
    return derived_id("money", str(tenant_id), family, target, currency, day.isoformat())


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
        },
    )


def _intend(
    work: Work, write: Write, key: str, window: _Window, facts: dict[str, Any], payload: dict[str, Any]
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
    also = [change]
    if window.id is not None and write.preview.money is not None:
        money = write.preview.money
        also.append(Statement("counted", statements.COUNT_MONEY, {"window": window.id, "window_minor": money.minor}))
    event = Event("call.intended", work.actor, {**facts, "key": key}, {"invocation": str(invocation_id)}, payload)
    reach(CrashPoint.INTENT_COMMITTING)
    record(work.held, [event], write.took, also=also, at=write.at, as_decided=True)
    reach(CrashPoint.INTENT_COMMITTED)
    return Intended(_as_recorded(work, write, invocation_id, key, window), write.prepared.tool)


def _as_recorded(work: Work, write: Write, invocation_id: UUID, key: str, window: _Window) -> IntendedCall:
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
    case = _case(work, fresh, verdict)
    request_id = approval_gate().open(case)
    refs = {"invocation": str(invocation_id), "request": str(request_id)}
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


def _case(work: Work, write: Write, verdict: Verdict) -> ApprovalCase:
    tool, subject = write.prepared.tool, work.subject
    assert write.invocation_id is not None  # noqa: S101 - set by the only caller
    return ApprovalCase(
        tenant_id=work.held.tenant_id,
        session_id=work.held.id,
        invocation_id=write.invocation_id,
        position=work.held.position,
        agent=work.actor.removeprefix("agent:"),
        agent_version_id=work.version.pk,
        tool=tool.name,
        tool_version=tool.version,
        tier=tool.tier.value,
        reversibility=tool.reversibility,
        irreversible=tool.irreversible,
        queue=tool.queue,
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
        requested_at=write.at,
        supersedes=write.supersedes,
    )
