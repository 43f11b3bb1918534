"""Continuing a session that comes back with an unfinished call: after a crash, a back-off, or a decision."""

from django.db import transaction

from agentops.gateway.breakers import tool_breaker
from agentops.gateway.prepare import Prepared, Refusal, prepare
from agentops.kernel.clock import utcnow
from agentops.kernel.crashpoints import CrashPoint, reach
from agentops.ledger.append import Event
from agentops.policy.facts import restored
from agentops.registry.planner import ToolCall
from agentops.runtime.effect import leave_unknown, perform, recover
from agentops.runtime.explaining import explain
from agentops.runtime.intent import Decision, Intended, IntendedCall, TurnedDown, Write, decide_write
from agentops.runtime.models import Invocation
from agentops.runtime.ports import ApprovalState, Resolution, approval_gate
from agentops.runtime.record import Took, or_interrupted, record, sleep, stands_elsewhere
from agentops.runtime.retiring import retire
from agentops.runtime.states import InvocationState
from agentops.runtime.wakeup import unfinished_call
from agentops.runtime.work import Work


def continue_pending(work: Work, *, again: bool) -> bool:
    """Conclude the session's unfinished call, if it has one, and return whether the session is still held.

    ``again``: a call that had no effect may be made now. One that belongs to the work before the session began to stop
    is not made in any case. Raises Interrupted.
    """
    invocation = unfinished_call(work.held.id)
    if invocation is None:
        return True
    tool = work.role.tool(invocation.tool)
    again = again and invocation.position >= work.held.stopped_at
    if invocation.state == InvocationState.INTENDED:
        if tool is None:
            return leave_unknown(work, IntendedCall.of(invocation))
        return recover(work, IntendedCall.of(invocation), tool, again=again)
    if not again:
        words = "The session was stopped or taken away before it took effect."
        retire(work.held, invocation, Refusal("NOT_CONTINUED", words, "Propose it again if it is still right."))
        return True
    if work.held.asked is not None:
        explain(work, invocation, work.held.asked)
        return False
    return _after_decision(work, invocation)


def _after_decision(work: Work, invocation: Invocation) -> bool:
    """Act on an approval, if what was approved is still exactly what would happen.

    Rejections and expiries were concluded by whoever decided them, so only an approval comes here.
    """
    reach(CrashPoint.WOKEN_AFTER_APPROVAL)
    resolution = approval_gate().resolution(invocation.pk)
    if resolution.state is not ApprovalState.APPROVED:
        # A worker that slept past its lease may find a later request of the same call.
        stands_elsewhere(work.held)
        raise RuntimeError(f"session {work.held.id} was woken while its request is {resolution.state}")
    off = work.breakers.off(tool_breaker(invocation.tool))
    if off is not None:
        # A tool that is off for a moment takes nothing from what a person decided.
        seconds = off.retry_after or 1.0
        sleep(work.held, code=off.kind.value, words=off.message, seconds=seconds, took=Took(), attempt=False)
        return False
    call = ToolCall(invocation.tool, invocation.arguments, invocation.rationale)
    checked = prepare(call=call, role=work.role, granted=work.grants.tools, context=work.call_context())
    if isinstance(checked, Refusal):
        retire(work.held, invocation, checked)
        return True
    if checked.preview is None:
        raise RuntimeError(f"{invocation.tool} has become a read while a request for it was open")
    same = (
        checked.preview.as_json() == resolution.preview
        and checked.tool.version == invocation.tool_version
        and work.grants.policy_version(invocation.tool) == resolution.policy_version
        and not resolution.unfit
    )
    write = _write(work, invocation, checked, resolution, same=same)
    decided = decide_write(work, write) if same else _ask_anew(work, invocation, resolution, write)
    if isinstance(decided, Intended):
        return perform(work, decided)
    if isinstance(decided, TurnedDown):
        # It is not possible under the rules any more: the approval, if it still stands, is withdrawn with the call.
        retire(work.held, invocation, decided.refusal)
        return True
    return False


def _ask_anew(work: Work, invocation: Invocation, resolution: Resolution, write: Write) -> Decision:
    with or_interrupted(work.held), transaction.atomic():
        reason = resolution.unfit or "The record or the rules changed after the approval."
        _record_void(work, invocation, resolution, reason)
        return decide_write(work, write)


def _write(work: Work, invocation: Invocation, checked: Prepared, resolution: Resolution, *, same: bool) -> Write:
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
        undoes=invocation.undoes,
        trusted=not work.by_planner and work.held.edits is None,
        edits=work.held.edits,
        flow=restored(resolution.facts, invocation.arguments).get("flow") if same else None,
    )


def _record_void(work: Work, invocation: Invocation, resolution: Resolution, reason: str) -> None:
    """Withdraw the approval, and say why. In the caller's transaction."""
    approval_gate().withdraw(invocation.pk, reason)
    refs = {"invocation": str(invocation.pk), "request": str(resolution.request_id)}
    record(work.held, [Event("approval.voided", "runtime", {"tool": invocation.tool, "reason": reason}, refs)], Took())
