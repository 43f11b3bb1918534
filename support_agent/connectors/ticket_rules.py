"""Replies, notes and the state of a ticket. Pure."""

from datetime import timedelta

from agentops.kernel.clock import isoformat
from agentops.kernel.errors import FailureKind
from agentops.registry.preview_parts import Mail
from agentops.registry.tool import Change, Preview, Result, ToolFailure
from support_agent.connectors.plan import Message, Plan, Snapshot, conflict, invalid, target_of, ticket_versions
from support_agent.connectors.port import (
    DiscardDraft,
    DraftReply,
    EscalateTicket,
    RecallReply,
    RestoreStatus,
    SendReply,
    UpdateTicket,
)
from support_agent.connectors.records import Ticket, TicketState

RECALL_WINDOW = timedelta(minutes=10)
DRAFT = "draft"
REPLY = "reply"
SENDER = "the support desk"


def plan_draft(snapshot: Snapshot, write: DraftReply) -> Plan:
    """Plan a draft, which reaches nobody until a person sends it."""
    ticket = _open_ticket(snapshot, write.body)
    return Plan(
        preview=Preview(
            effect=f"Keep a draft reply on ticket {ticket.ref}; nothing is sent",
            target=_target(snapshot, ticket),
            changes=(Change("Draft", "", write.body),),
            versions=ticket_versions(ticket),
        ),
        result={"ticket_id": ticket.ref, "status": ticket.status, "draft_id": snapshot.key},
        messages=(Message(DRAFT, write.body),),
    )


def plan_reply(snapshot: Snapshot, write: SendReply) -> Plan:
    """Plan a reply that leaves when the recall window is over. A person's ticket stays with the person."""
    ticket = _open_ticket(snapshot, write.body)
    status = ticket.status if ticket.status == TicketState.ESCALATED else TicketState.ANSWERED.value
    release_at = snapshot.now + RECALL_WINDOW
    return Plan(
        preview=Preview(
            effect=f"Send a reply to {ticket.sender} on ticket {ticket.ref}",
            target=_target(snapshot, ticket),
            changes=_status_change(ticket, status),
            versions=ticket_versions(ticket),
            parts=(Mail(SENDER, (ticket.sender,), (), f"Re: {ticket.subject}", write.body),),
        ),
        result={
            "ticket_id": ticket.ref,
            "status": status,
            "release_at": isoformat(release_at),
            "reply_id": snapshot.key,
        },
        ticket_status=status,
        messages=(Message(REPLY, write.body, release_at),),
    )


def plan_update(snapshot: Snapshot, write: UpdateTicket) -> Plan:
    """Plan the end of work on a ticket. What was handed to a person is not taken back."""
    ticket = _ticket(snapshot)
    if write.status not in (TicketState.ANSWERED, TicketState.CLOSED):
        raise invalid("The status is answered or closed; use escalate_ticket to hand it to a person.", "status")
    if ticket.status == TicketState.ESCALATED:
        raise conflict(f"Ticket {ticket.ref} is with a person, who decides when it is done.", "status")
    return Plan(
        preview=Preview(
            effect=f"Set ticket {ticket.ref} to {write.status}",
            target=_target(snapshot, ticket),
            changes=(*_status_change(ticket, write.status), *_note_change(write.note)),
            versions=ticket_versions(ticket),
        ),
        result=_changed(snapshot, ticket, write.status),
        ticket_status=write.status,
        messages=(Message("note", write.note),) if write.note else (),
    )


def plan_escalation(snapshot: Snapshot, write: EscalateTicket) -> Plan:
    """Plan the hand-over to a person. It is always possible, whatever became of the ticket."""
    ticket = _ticket(snapshot)
    note = f"{write.reason}\n\n{write.summary}"
    return Plan(
        preview=Preview(
            effect=f"Hand ticket {ticket.ref} from {ticket.sender} to a person",
            target=_target(snapshot, ticket),
            changes=(*_status_change(ticket, TicketState.ESCALATED), *_note_change(note)),
            versions=ticket_versions(ticket),
        ),
        result=_changed(snapshot, ticket, TicketState.ESCALATED.value),
        ticket_status=TicketState.ESCALATED.value,
        messages=(Message("note", note),),
    )


def plan_recall(snapshot: Snapshot, write: RecallReply) -> Plan:
    """Plan the recall of a reply that has not left. An answered ticket goes to a person, who answers anew."""
    ticket, reply = _ticket(snapshot), snapshot.written
    if reply is None or reply.kind != REPLY or reply.release_at is None:
        raise ToolFailure(FailureKind.NOT_FOUND, f"Ticket {ticket.ref} has no such reply.", field="reply_id")
    if reply.recalled_at is not None:
        raise conflict(f"The reply on ticket {ticket.ref} was recalled before.", "reply_id")
    if reply.release_at <= snapshot.now:
        raise conflict(
            f"The reply on ticket {ticket.ref} has left; it could be recalled for {_minutes(RECALL_WINDOW)}.",
            "reply_id",
        )
    status = TicketState.ESCALATED.value if ticket.status == TicketState.ANSWERED else ticket.status
    return Plan(
        preview=Preview(
            effect=f"Recall the reply to {ticket.sender} on ticket {ticket.ref} before it leaves",
            target=_target(snapshot, ticket),
            changes=(Change("Reply", reply.body, ""), *_status_change(ticket, status)),
        ),
        result={"ticket_id": ticket.ref, "status": status, "reply_id": reply.ref, "body": reply.body},
        recalls=reply.ref,
    )


def plan_discard(snapshot: Snapshot, write: DiscardDraft) -> Plan:
    """Plan the deletion of a draft. Nothing was sent, so the ticket stays as it is."""
    ticket, draft = _ticket(snapshot), snapshot.written
    if draft is None or draft.kind != DRAFT:
        words = f"Ticket {ticket.ref} has no such draft; it may be deleted already."
        raise ToolFailure(FailureKind.NOT_FOUND, words, field="draft_id")
    return Plan(
        preview=Preview(
            effect=f"Delete the draft reply on ticket {ticket.ref}",
            target=_target(snapshot, ticket),
            changes=(Change("Draft", draft.body, ""),),
        ),
        result={"ticket_id": ticket.ref, "status": ticket.status, "draft_id": draft.ref, "body": draft.body},
        discards=draft.ref,
    )


def plan_restore(snapshot: Snapshot, write: RestoreStatus) -> Plan:
    """Plan the former status of a ticket, while the change in question is the last one. Notes stay on record."""
    ticket, change = _ticket(snapshot), snapshot.change
    if change is None:
        words = f"Ticket {ticket.ref} has no such change of status."
        raise ToolFailure(FailureKind.NOT_FOUND, words, field="change_id")
    if ticket.status_key != change.ref:
        raise conflict(
            f"The status of ticket {ticket.ref} was set again since; it is {ticket.status} now.", "change_id"
        )
    note = f"Set back from {ticket.status} to {change.before}."
    return Plan(
        preview=Preview(
            effect=f"Set ticket {ticket.ref} back from {ticket.status} to {change.before}",
            target=_target(snapshot, ticket),
            changes=(*_status_change(ticket, change.before), *_note_change(note)),
        ),
        result=_changed(snapshot, ticket, change.before),
        ticket_status=change.before,
        messages=(Message("note", note),),
        takes_status_back=True,
    )


def _changed(snapshot: Snapshot, ticket: Ticket, status: str) -> Result:
    return {"ticket_id": ticket.ref, "status": status, "former_status": ticket.status, "change_id": snapshot.key}


def _minutes(window: timedelta) -> str:
    return f"{window // timedelta(minutes=1)} minutes"


def _ticket(snapshot: Snapshot) -> Ticket:
    if snapshot.ticket is None:
        raise ToolFailure(FailureKind.NOT_FOUND, "The desk has no ticket for this session.")
    return snapshot.ticket


def _open_ticket(snapshot: Snapshot, body: str) -> Ticket:
    ticket = _ticket(snapshot)
    if not body.strip():
        raise invalid("The reply is empty.", "body")
    if ticket.status == TicketState.CLOSED:
        raise conflict(f"Ticket {ticket.ref} is closed.")
    return ticket


def _target(snapshot: Snapshot, ticket: Ticket) -> str:
    return target_of(snapshot.customer) if snapshot.customer is not None else f"ticket:{ticket.ref}"


def _status_change(ticket: Ticket, status: str) -> tuple[Change, ...]:
    return (Change("Status", ticket.status, status),) if status != ticket.status else ()


def _note_change(note: str) -> tuple[Change, ...]:
    return (Change("Note", "", note),) if note else ()
