"""Soft writes to the customer: drafts and replies."""

from agentops.registry.declare import OUT_REF, closed, text, undone_by
from agentops.registry.tool import Arguments, DataClass, Tier, ToolSpec
from support_agent.connectors.port import DraftReply, SendReply
from support_agent.connectors.ticket_rules import RECALL_WINDOW
from support_agent.tools import flows
from support_agent.tools.parts import OWNER, previews, reconcile, runs

_BODY = text(10_000, "The whole reply as plain text, in the customer's language, ready to send.")


def _draft(arguments: Arguments) -> DraftReply:
    return DraftReply(arguments["body"])


def _reply(arguments: Arguments) -> SendReply:
    return SendReply(arguments["body"])


DRAFT_REPLY = ToolSpec(
    name="draft_reply",
    version=2,
    owner=OWNER,
    description=(
        "Keeps a reply as a draft on this ticket for a person to read and send. Nothing reaches the customer and the"
        " ticket's status stays as it is."
    ),
    input_schema=closed({"body": _BODY}),
    output_schema=closed({"ticket_id": OUT_REF, "status": text(16), "draft_id": OUT_REF}),
    tier=Tier.WRITE_SOFT,
    auth_scope="desk:replies:write",
    data_class=DataClass.PERSONAL,
    flow=flows.DRAFT_REPLY,
    run=runs(_draft),
    examples=({"body": "Hello Dana,\n\nyour parcel left on Monday.\n\nThe support desk"},),
    undo="the draft can be deleted; nothing was sent",
    undo_call=undone_by("discard_draft", {"draft_id": "draft_id"}),
    preview=previews(_draft),
    reconcile=reconcile,
    reconcile_is_final=True,
    versioned=True,
    queue="orders",
    worst="leaves a bad draft on the ticket",
    stopped_by="nothing is sent; discard_draft or a person deletes it",
)

SEND_REPLY = ToolSpec(
    name="send_reply",
    version=2,
    owner=OWNER,
    description=(
        "Answers the customer on this ticket and marks it answered. The reply leaves after 10 minutes; until then it"
        " can be recalled. Say only what lookups and the knowledge base have shown, and what has really been"
        " done. Not possible on a closed ticket."
    ),
    input_schema=closed({"body": _BODY}),
    output_schema=closed({"ticket_id": OUT_REF, "status": text(16), "release_at": text(40), "reply_id": OUT_REF}),
    tier=Tier.WRITE_SOFT,
    auth_scope="desk:replies:write",
    data_class=DataClass.PERSONAL,
    flow=flows.SEND_REPLY,
    run=runs(_reply),
    examples=({"body": "Hello Dana,\n\n$12.00 went back to your card today.\n\nThe support desk"},),
    undo="can be recalled for 10 minutes",
    undo_call=undone_by("recall_reply", {"reply_id": "reply_id"}),
    undo_within=RECALL_WINDOW,
    preview=previews(_reply),
    reconcile=reconcile,
    reconcile_is_final=True,
    versioned=True,
    queue="orders",
    tags=("outbound",),
    outcome="answered",
    worst="a false promise reaches the customer",
    stopped_by="leaves after ten minutes, until then it can be recalled; no tool sends to another address",
)

REPLIES = (DRAFT_REPLY, SEND_REPLY)
