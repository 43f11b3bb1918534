"""Calls whose outcome nobody knows: asking the system of record again, or a person's word with their evidence."""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from agentops.gateway import execute as gateway
from agentops.gateway.execute import Done, NotDone
from agentops.kernel.canonical import storable
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Event
from agentops.registry.roles import UnknownRole, get_role
from agentops.registry.tool import CallContext, ToolSpec
from agentops.runtime.effect import amount_returned, compensation_of, key_is_forgotten, undo_of
from agentops.runtime.intent import IntendedCall
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import note
from agentops.runtime.record import conclude
from agentops.runtime.states import InvocationState

MOST_EVIDENCE = 2_000


class CannotReconcile(AgentOpsError):
    """The outcome is known by now, or what was said about it is not enough."""

    code = "CANNOT_RECONCILE"
    next_step = "Load the page again to see what is known."


def unreconciled(tenant_id: UUID) -> QuerySet[Invocation]:
    """Return the tenant's calls of unknown outcome, the oldest first."""
    return Invocation.objects.filter(tenant_id=tenant_id, unknown_since__isnull=False).order_by("id")


def tool_of(call: Invocation, role: str = "") -> ToolSpec | None:
    """Return the tool of a call, None when its role or the tool is no longer installed.

    ``role`` is that of the call's session, which is looked up when it is not given.
    """
    role = role or Session.objects.values_list("role", flat=True).get(pk=call.session_id)
    try:
        return get_role(role).tool(call.tool)
    except UnknownRole:
        return None


def can_be_asked(call: Invocation, role: str = "", intended_at: datetime | None = None) -> bool:
    """Return whether the system of record can still tell what became of a call.

    ``role`` as in ``tool_of``; ``intended_at`` is when its intent was recorded, looked up when it is not given.
    """
    tool = tool_of(call, role)
    if tool is None or tool.reconcile is None:
        return False
    return not key_is_forgotten(tool, call.session_id, call.pk, intended_at=intended_at)


def ask_again(*, invocation_id: UUID, actor: str) -> str:
    """Ask the system of record what became of a call, record what it says, and return that in words.

    Nothing is called a second time. Raises CannotReconcile when it cannot be asked, does not answer, or is not unknown.
    """
    call = Invocation.objects.get(pk=invocation_id)
    tool = tool_of(call)
    if tool is None or not can_be_asked(call):
        raise CannotReconcile("Nobody can be asked by program.", next_step="Look there yourself and say what you saw.")
    session = Session.objects.get(pk=call.session_id)
    context = CallContext(
        tenant_id=call.tenant_id,
        session_id=session.pk,
        subject_id=session.subject_id,
        customer_id=session.customer_id or None,
        now=utcnow(),
        idempotency_key=call.idempotency_key or "",
    )
    found = gateway.find_out(tool, context, words="It was asked again.")
    if isinstance(found, Done):
        _settle(call, happened=True, how="query", actor=actor, result=found.result, tool=tool)
        return "It took effect."
    if isinstance(found, NotDone):
        _settle(call, happened=False, how="query", actor=actor, result=found.refusal.as_json(), tool=tool)
        return "It never took effect."
    raise CannotReconcile("The system of record does not answer.", next_step="Try later, or look there yourself.")


def settle_by_person(*, invocation_id: UUID, actor: str, happened: bool, evidence: str) -> None:
    """Record what a person found out about a call, with their evidence. Raises CannotReconcile."""
    words = storable(evidence.strip(), most=MOST_EVIDENCE)
    if not words:
        raise CannotReconcile("Say how you know.", next_step="Name the record or the number that you saw.")
    call = Invocation.objects.get(pk=invocation_id)
    result = {"evidence": words, "by": actor}
    _settle(call, happened=happened, how="person", actor=actor, result=result, tool=None)


@transaction.atomic
def _settle(
    call: Invocation, *, happened: bool, how: str, actor: str, result: dict[str, Any], tool: ToolSpec | None
) -> None:
    """A call that had no effect gives back its key and its amount; one that had keeps them, and its undo if known.

    When it was to take back another call, that one counts as taken back from then on.
    """
    session = Session.objects.select_for_update().get(pk=call.session_id)
    fresh = Invocation.objects.get(pk=call.pk)
    if fresh.state != InvocationState.UNKNOWN:
        raise CannotReconcile("What became of this call is known by now.")
    if not happened:
        _require_over(fresh)
    undo = undo_until = None
    if happened and tool is not None and how == "query":
        undo, undo_until = undo_of(tool, fresh.arguments, result)
    after = InvocationState.SUCCEEDED if happened else InvocationState.FAILED
    also = [conclude(fresh.pk, InvocationState.UNKNOWN, after, undo=undo, undo_until=undo_until)]
    if not happened:
        also += amount_returned(IntendedCall.of(fresh), session.agent_id)
    facts = {
        "tool": fresh.tool,
        "how": how,
        "found": "happened" if happened else "not_happened",
        "outcome": tool.outcome if happened and tool is not None else "",
    }
    payload = {"arguments": fresh.arguments, "result": result}
    events = [Event("call.reconciled", actor, facts, {"invocation": str(fresh.pk)}, payload)]
    if happened and fresh.undoes is not None:
        compensated, undone = compensation_of(fresh.undoes, by=fresh.pk, actor=actor)
        events.append(compensated)
        also.append(undone)
    note(session, events, also=also)


def never_before(call: Invocation) -> datetime:
    """Return from when on it can be said that a call of unknown outcome never took effect.

    A worker that stood still just before the call, or a request that is still on its way, may make it until then.
    """
    return (call.unknown_since or utcnow()) + timedelta(seconds=settings.RECONCILE_AFTER_SECONDS)


def _require_over(call: Invocation) -> None:
    left = (never_before(call) - utcnow()).total_seconds()
    if left > 0:
        wait = f"{-(-left // 60):.0f} min" if left > 60 else f"{-(-left // 1):.0f} s"
        raise CannotReconcile(
            "The call may still be under way, so nobody can say yet that it did not happen.",
            next_step=f"Look again in {wait}.",
        )
