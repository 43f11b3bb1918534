"""Soft writes to the ticket itself: its status, and the hand-over to a person."""

from agentops.registry.declare import choice, closed, text
from agentops.registry.tool import Arguments, DataClass, Tier, ToolSpec
from support_agent.connectors.port import EscalateTicket, UpdateTicket
from support_agent.tools import flows
from support_agent.tools.parts import OWNER, STATUS_CHANGED, previews, reconcile, runs, status_undone


def _update(arguments: Arguments) -> UpdateTicket:
    return UpdateTicket(arguments["status"], arguments.get("note", ""))


def _escalate(arguments: Arguments) -> EscalateTicket:
    return EscalateTicket(arguments["reason"], arguments["summary"])


UPDATE_TICKET = ToolSpec(
    name="update_ticket",
    version=2,
    owner=OWNER,
    description=(
        "Sets this ticket to answered or closed, with an optional note that only colleagues see. send_reply marks the"
        " ticket answered by itself; use this to close it. Not possible once the ticket is with a person."
    ),
    input_schema=closed(
        {
            "status": choice("answered", "closed", words="What the ticket becomes."),
            "note": text(2000, "A note for colleagues."),
        },
        optional=("note",),
    ),
    output_schema=STATUS_CHANGED,
    tier=Tier.WRITE_SOFT,
    auth_scope="desk:tickets:write",
    data_class=DataClass.INTERNAL,
    flow=flows.UPDATE_TICKET,
    run=runs(_update),
    examples=({"status": "closed", "note": "The customer thanked us; nothing is left to do."}, {"status": "answered"}),
    undo="the ticket's status can be set back; the note stays",
    undo_call=status_undone,
    preview=previews(_update),
    reconcile=reconcile,
    reconcile_is_final=True,
    versioned=True,
    queue="orders",
    tags=("tickets",),
    worst="closes a ticket that is not done",
    stopped_by="the status can be set back; a ticket that is with a person cannot be closed",
)

ESCALATE_TICKET = ToolSpec(
    name="escalate_ticket",
    version=2,
    owner=OWNER,
    description=(
        "Hands this ticket to a person. Use it when the knowledge base does not cover the question, when the customer"
        " asks for what no tool does, when somebody else's order is meant, or when you cannot tell what is wanted."
        " Say what the customer wants, what you found, and what is left to do. Nothing is sent to the customer."
    ),
    input_schema=closed(
        {
            "reason": text(300, "Why a person is needed, in one sentence."),
            "summary": text(4000, "What is wanted, what was found and done, what is left."),
        }
    ),
    output_schema=STATUS_CHANGED,
    tier=Tier.WRITE_SOFT,
    auth_scope="desk:tickets:write",
    data_class=DataClass.INTERNAL,
    flow=flows.ESCALATE_TICKET,
    run=runs(_escalate),
    examples=(
        {
            "reason": "The knowledge base says nothing about bulk orders.",
            "summary": "Dana Ruiz asks for a quote for 40 lamps. Nothing was changed. A price is to be offered.",
        },
    ),
    undo="the ticket's status can be set back; the note stays",
    undo_call=status_undone,
    preview=previews(_escalate),
    reconcile=reconcile,
    reconcile_is_final=True,
    versioned=True,
    queue="orders",
    tags=("tickets",),
    outcome="escalated",
    worst="floods people with tickets",
    stopped_by="one ticket a session; taking it back from the person asks",
)

TICKETS = (UPDATE_TICKET, ESCALATE_TICKET)
