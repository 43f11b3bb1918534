"""The end of a session (pure): hand over what is left, answer the customer, set the ticket's state, finish.

Each of these is proposed once, whatever becomes of it, so a session that cannot do them ends all the same.
"""

from collections.abc import Sequence

from agentops.registry.offline.attempts import status_of
from agentops.registry.offline.ending import Work, final, note, reason, summary
from agentops.registry.offline.looking import CannotKnow, NotYetKnown
from agentops.registry.planner import Observation, ObservationStatus, PlanContext, Proposal, ToolCall
from support_agent.playbook.facts import Desk
from support_agent.playbook.letter import reply

CLOSING_TOOLS = frozenset({"escalate_ticket", "send_reply", "draft_reply", "update_ticket"})
_NOT_ALLOWED = frozenset({ObservationStatus.REFUSED, ObservationStatus.REJECTED, ObservationStatus.EXPIRED})


def close(context: PlanContext, desk: Desk, granted: frozenset[str], work: Work) -> Proposal:
    """Return the next proposal of the end, finally the answer that ends the session."""
    name = _first_name(desk)
    can_answer = bool(name) and context.subject.customer_id is not None and "send_reply" in granted
    escalation = status_of(context.history, "escalate_ticket")
    sending = status_of(context.history, "send_reply")
    answered = sending is ObservationStatus.OK
    for_a_person = work.needs_a_person or (not answered and (sending is not None or not can_answer))
    escalated = escalation is ObservationStatus.OK
    if for_a_person and escalation is None and "escalate_ticket" in granted:
        told = {"reason": reason(work), "summary": summary(work) or "The reply to the customer could not be sent."}
        return ToolCall("escalate_ticket", told, "What is left is for a person.")
    body = reply(name, work, escalated=escalated)
    if can_answer and sending is None:
        return ToolCall("send_reply", {"body": body}, "The customer is told what was done and what was not.")
    if sending in _NOT_ALLOWED and _can_still(context.history, "draft_reply", granted):
        return ToolCall("draft_reply", {"body": body}, "The reply may not be sent; a person can use the draft.")
    if answered and not for_a_person and _can_still(context.history, "update_ticket", granted):
        return ToolCall(
            "update_ticket", {"status": "answered", "note": note(work, "ticket")}, "Everything is answered."
        )
    return final(work, "ticket", unsent=not answered, escalated=escalated)


def _can_still(history: Sequence[Observation], tool: str, granted: frozenset[str]) -> bool:
    return tool in granted and status_of(history, tool) is None


def _first_name(desk: Desk) -> str:
    try:
        return desk.person().first_name
    except (CannotKnow, NotYetKnown):
        return ""
