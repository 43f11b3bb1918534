"""Soft writes to the customer: drafts and replies."""

from agentops.registry.tool import Arguments, DataClass, Tier, ToolSpec
from support_agent.connectors.port import DraftReply, SendReply
from support_agent.tools.parts import OUT_REF, OWNER, closed, previews, reconcile, runs, text

_BODY = text(10_000, "The whole reply as plain text, in the customer's language, ready to send.")


def _draft(arguments: Arguments) -> DraftReply:
    return DraftReply(arguments["body"])


def _reply(arguments: Arguments) -> SendReply:
    return SendReply(arguments["body"])


DRAFT_REPLY = ToolSpec(
    name="draft_reply",
    version=1,
    owner=OWNER,
    description=(
        "Keeps a reply as a draft on this ticket for a person to read and send. Nothing reaches the customer and the"
        " ticket's status stays as it is."
    ),
    input_schema=closed({"body": _BODY}),
    output_schema=closed({"ticket_id": OUT_REF, "status": text(16)}),
    tier=Tier.WRITE_SOFT,
    auth_scope="desk:replies:write",
    data_class=DataClass.PERSONAL,
    run=runs(_draft),
    examples=({"body": "Hello Dana,\n\nyour parcel left on Monday.\n\nThe support desk"},),
    undo="a person can delete the draft; nothing was sent",
    preview=previews(_draft),
    reconcile=reconcile,
    queue="orders",
)

SEND_REPLY = ToolSpec(
    name="send_reply",
    version=1,
    owner=OWNER,
    description=(
        "Answers the customer on this ticket and marks it answered. The reply leaves after 10 minutes; until then a"
        " person can recall it. Say only what lookups and the knowledge base have shown, and what has really been"
        " done. Not possible on a closed ticket."
    ),
    input_schema=closed({"body": _BODY}),
    output_schema=closed({"ticket_id": OUT_REF, "status": text(16), "release_at": text(40)}),
    tier=Tier.WRITE_SOFT,
    auth_scope="desk:replies:write",
    data_class=DataClass.PERSONAL,
    run=runs(_reply),
    examples=({"body": "Hello Dana,\n\n$12.00 went back to your card today.\n\nThe support desk"},),
    undo="can be recalled for 10 minutes",
    preview=previews(_reply),
    reconcile=reconcile,
    queue="orders",
    outcome="answered",
)

REPLIES = (DRAFT_REPLY, SEND_REPLY)
