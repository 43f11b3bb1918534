"""Continuing a session that comes back with an unfinished call: after a crash, a back-off, or a decision."""

from django.db import transaction

from agentops.gateway.prepare import Prepared, Refusal, prepare
from agentops.kernel.clock import utcnow
from agentops.ledger.append import Event
from agentops.registry.planner import ObservationStatus, ToolCall
from agentops.runtime.effect import leave_unknown, perform, recover
from agentops.runtime.intent import Intended, TurnedDown, Write, decide_write
from agentops.runtime.models import Invocation
from agentops.runtime.ports import ApprovalState, Resolution, approval_gate
from agentops.runtime.record import Took, conclude, observe, record
from agentops.runtime.states import InvocationState
from agentops.runtime.work import Work

UNFINISHED = [InvocationState.INTENDED.value, InvocationState.AWAITING_APPROVAL.value]


def continue_pending(work: Work, *, again: bool) -> bool:
    """Conclude the session's unfinished call, if it has one, and return whether the session is still held.

    ``again``: an intended call that had no effect may be made now.
    """
    invocation = Invocation.objects.filter(session_id=work.held.id, state__in=UNFINISHED).first()
    if invocation is None:
        return True
    tool = work.role.tool(invocation.tool)
    if invocation.state == InvocationState.INTENDED:
        if tool is None:
            return leave_unknown(work, invocation)
        return recover(work, invocation, tool, again=again)
    return _after_decision(work, invocation)


def _after_decision(work: Work, invocation: Invocation) -> bool:
    """Act on an approval, if what was approved is still exactly what would happen.

    Rejections and expiries were concluded by whoever decided them, so only an approval comes here.
    """
    resolution = approval_gate().resolution(invocation.pk)
    if resolution.state is not ApprovalState.APPROVED:
        raise RuntimeError(f"session {work.held.id} was woken while its request is {resolution.state}")
    grants = work.grants()
    call = ToolCall(invocation.tool, invocation.arguments, invocation.rationale)
    checked = prepare(call=call, role=work.role, granted=grants.tools, context=work.call_context())
    if isinstance(checked, Refusal):
        return _turn_down(work, invocation, resolution, checked, voided=False)
    if checked.preview is None:
        raise RuntimeError(f"{invocation.tool} has become a read while a request for it was open")
    same = (
        checked.preview.as_json() == resolution.preview
        and checked.tool.version == invocation.tool_version
        and grants.policy_version(invocation.tool) == resolution.policy_version
    )
    write = _write(invocation, checked, resolution, same=same)
    if same:
        decided = decide_write(work, grants, write)
    else:
        with transaction.atomic():
            _record_void(work, invocation, resolution, "The record or the rules changed after the approval.")
            decided = decide_write(work, grants, write)
    if isinstance(decided, Intended):
        return perform(work, decided)
    if isinstance(decided, TurnedDown):
        return _turn_down(work, invocation, resolution, decided.refusal, voided=not same)
    return False


def _write(invocation: Invocation, checked: Prepared, resolution: Resolution, *, same: bool) -> Write:
    if checked.preview is None:
        raise RuntimeError(f"{invocation.tool} has no dry run")
    return Write(
        prepared=checked,
        preview=checked.preview,
        rationale=invocation.rationale,
        took=Took(),
        facts={"tool": invocation.tool},
        payload={"arguments": invocation.arguments, "rationale": invocation.rationale},
        at=utcnow(),
        invocation_id=invocation.pk,
        approved_by=resolution.person if same else "",
        supersedes=None if same else resolution.request_id,
    )


def _record_void(work: Work, invocation: Invocation, resolution: Resolution, reason: str) -> None:
    """Withdraw the approval, and say why. In the caller's transaction."""
    approval_gate().void(resolution.request_id, reason)
    refs = {"invocation": str(invocation.pk), "request": str(resolution.request_id)}
    record(work.held, [Event("approval.voided", "runtime", {"tool": invocation.tool, "reason": reason}, refs)], Took())


@transaction.atomic
def _turn_down(work: Work, invocation: Invocation, resolution: Resolution, refusal: Refusal, *, voided: bool) -> bool:
    """The approved call is no longer possible at all: withdraw the approval and tell the planner why."""
    if not voided:
        _record_void(work, invocation, resolution, refusal.message)
    refs = {"invocation": str(invocation.pk), "request": str(resolution.request_id)}
    facts = {"tool": invocation.tool, "code": refusal.code}
    record(
        work.held,
        [Event("call.refused", work.actor, facts, refs, {"result": refusal.as_json()})],
        Took(),
        also=[conclude(invocation.pk, InvocationState.AWAITING_APPROVAL, InvocationState.REFUSED)],
    )
    observe(
        work.held,
        tool=invocation.tool,
        arguments=invocation.arguments,
        status=ObservationStatus.REFUSED,
        result=refusal.as_json(),
    )
    return True
