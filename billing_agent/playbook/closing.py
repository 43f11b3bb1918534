"""The end of a session (pure): hand over what is left, mail the customer, close the case, finish.

Each of these is proposed once, whatever becomes of it, so a session that cannot do them ends all the same.
"""

from collections.abc import Sequence

from agentops.registry.offline.attempts import status_of
from agentops.registry.offline.ending import Work, final, note, reason, summary
from agentops.registry.offline.looking import CannotKnow, NotYetKnown
from agentops.registry.planner import Observation, ObservationStatus, Proposal, ToolCall
from billing_agent.playbook.answers import Letter
from billing_agent.playbook.facts import Desk
from billing_agent.playbook.mails import fits, letters_of

CLOSING_TOOLS = frozenset({"escalate_case", "list_mail_templates", "send_email", "draft_email", "close_case"})
MOST_MAILS = 3
"""So many fit into the steps of a session; what more there is to tell, a person tells."""

_NOT_ALLOWED = frozenset({ObservationStatus.REFUSED, ObservationStatus.REJECTED, ObservationStatus.EXPIRED})
_UNSENT = "The customer could not be told everything by mail."


def close(history: Sequence[Observation], desk: Desk, granted: frozenset[str], work: Work) -> Proposal:
    """Return the next proposal of the end, finally the answer that ends the session. Raises NotYetKnown."""
    escalation = status_of(history, "escalate_case")
    if work.needs_a_person and escalation is None and "escalate_case" in granted:
        return _hand_over(work, desk)
    letters, all_fit = _letters(work, desk, granted)
    sent = _sent(history)
    if len(sent) < min(len(letters), MOST_MAILS):
        return ToolCall("send_email", letters[len(sent)].arguments, "The customer is told what was found and done.")
    draft = next((number for number, status in enumerate(sent) if status in _NOT_ALLOWED), None)
    if draft is not None and "draft_email" in granted and status_of(history, "draft_email") is None:
        return ToolCall(
            "draft_email", letters[draft].arguments, "The mail may not be sent; a person can use the draft."
        )
    is_told = all_fit and len(sent) == len(letters) and set(sent) == {ObservationStatus.OK}
    if not is_told and escalation is None and "escalate_case" in granted:
        return _hand_over(work, desk)
    if is_told and escalation is None and "close_case" in granted and status_of(history, "close_case") is None:
        return ToolCall("close_case", {"note": note(work, "case")}, "Everything is done and told.")
    return final(work, "case", unsent=not is_told, escalated=escalation is ObservationStatus.OK)


def _hand_over(work: Work, desk: Desk) -> ToolCall:
    told = f"{summary(work) or _UNSENT}\n{_stands(desk)}".strip()
    return ToolCall("escalate_case", {"reason": reason(work), "summary": told}, "What is left is for a person.")


def _stands(desk: Desk) -> str:
    """Return how the account stands, nothing when that is not known."""
    try:
        account = desk.account()
    except (CannotKnow, NotYetKnown):
        return ""
    unpaid = ", ".join(head.words for head in account.open_invoices) or "none"
    return f"Found: {account.name} owes {account.owed} and has {account.credit} of credit. Open invoices: {unpaid}."


def _letters(work: Work, desk: Desk, granted: frozenset[str]) -> tuple[tuple[Letter, ...], bool]:
    """Return the letters that can be sent, and whether these are all that there is to tell."""
    try:
        wanted = letters_of(work, desk)
        if not wanted or "send_email" not in granted:
            return (), False
        templates = desk.templates()
    except CannotKnow:
        return (), False
    fitting = tuple(mail for mail in wanted if fits(mail, templates))
    return fitting, len(fitting) == len(wanted)


def _sent(history: Sequence[Observation]) -> list[ObservationStatus]:
    """Return how each mail ended; what became of one that a person changed, the next one tells."""
    return [seen.status for seen in history if seen.tool == "send_email" and not seen.is_edited]
