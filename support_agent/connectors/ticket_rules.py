"""Replies, notes and the state of a ticket. Pure."""

from datetime import timedelta

from agentops.kernel.clock import isoformat
from agentops.kernel.errors import FailureKind
from agentops.registry.tool import Change, Preview, ToolFailure
from support_agent.connectors.plan import Message, Plan, Snapshot, conflict, invalid, target_of
from support_agent.connectors.port import DraftReply, EscalateTicket, SendReply, UpdateTicket
from support_agent.connectors.records import Ticket, TicketState

RECALL_WINDOW = timedelta(minutes=10)


def plan_draft(snapshot: Snapshot, write: DraftReply) -> Plan:
    """Plan a draft, which reaches nobody until a person sends it."""
    ticket = _open_ticket(snapshot, write.body)
    return Plan(
        preview=Preview(
            effect=f"Keep a draft reply on ticket {ticket.ref}; nothing is sent",
            target=_target(snapshot, ticket),
            changes=(Change("Draft", "", write.body),),
        ),
        result={"ticket_id": ticket.ref, "status": ticket.status},
        messages=(Message("draft", write.body),),
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
            changes=(Change("Reply", "", write.body), *_status_change(ticket, status)),
        ),
        result={"ticket_id": ticket.ref, "status": status, "release_at": isoformat(release_at)},
        ticket_status=status,
        messages=(Message("reply", write.body, release_at),),
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
        ),
        result={"ticket_id": ticket.ref, "status": write.status},
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
        ),
        result={"ticket_id": ticket.ref, "status": TicketState.ESCALATED.value},
        ticket_status=TicketState.ESCALATED.value,
        messages=(Message("note", note),),
    )


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
