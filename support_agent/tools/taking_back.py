"""Writes that take an earlier write back. Nobody proposes them of themselves: a person does, or a customer asks."""

from agentops.registry.declare import OUT_CURRENCY, OUT_REF, closed, integer, ref, text, undone_by
from agentops.registry.tool import Arguments, DataClass, Tier, ToolSpec
from support_agent.connectors.port import DiscardDraft, RecallReply, RestoreStatus, StopPayout
from support_agent.tools import flows
from support_agent.tools.parts import OWNER, STATUS_CHANGED, previews, reconcile, runs, status_undone

_BODY = text(10_000)
_EXAMPLE = "3f0a6c1d9be2"


def _recall(arguments: Arguments) -> RecallReply:
    return RecallReply(arguments["reply_id"])


def _discard(arguments: Arguments) -> DiscardDraft:
    return DiscardDraft(arguments["draft_id"])


def _restore(arguments: Arguments) -> RestoreStatus:
    return RestoreStatus(arguments["change_id"])


def _stop(arguments: Arguments) -> StopPayout:
    return StopPayout(arguments["payout_id"])


RECALL_REPLY = ToolSpec(
    name="recall_reply",
    version=1,
    owner=OWNER,
    description=(
        "Takes back a reply on this ticket that has not left yet, within 10 minutes of send_reply. An answered ticket"
        " then goes to a person. Only for a reply that is wrong."
    ),
    input_schema=closed({"reply_id": ref("The reply_id that send_reply returned.")}),
    output_schema=closed({"ticket_id": OUT_REF, "status": text(16), "reply_id": OUT_REF, "body": _BODY}),
    tier=Tier.WRITE_SOFT,
    auth_scope="desk:replies:write",
    data_class=DataClass.PERSONAL,
    flow=flows.RECALL_REPLY,
    run=runs(_recall),
    examples=({"reply_id": _EXAMPLE},),
    undo="the same reply can be sent again",
    undo_call=undone_by("send_reply", {"body": "body"}),
    preview=previews(_recall),
    reconcile=reconcile,
    reconcile_is_final=True,
    queue="orders",
    worst="withholds a right answer from the customer",
    stopped_by=(
        "this ticket's replies only, within ten minutes; the ticket goes to a person, and the reply can be sent again"
    ),
)

DISCARD_DRAFT = ToolSpec(
    name="discard_draft",
    version=1,
    owner=OWNER,
    description="Deletes a draft that draft_reply kept on this ticket. Only for a draft that is wrong.",
    input_schema=closed({"draft_id": ref("The draft_id that draft_reply returned.")}),
    output_schema=closed({"ticket_id": OUT_REF, "status": text(16), "draft_id": OUT_REF, "body": _BODY}),
    tier=Tier.WRITE_SOFT,
    auth_scope="desk:replies:write",
    data_class=DataClass.PERSONAL,
    flow=flows.DISCARD_DRAFT,
    run=runs(_discard),
    examples=({"draft_id": _EXAMPLE},),
    undo="the same draft can be kept again",
    undo_call=undone_by("draft_reply", {"body": "body"}),
    preview=previews(_discard),
    reconcile=reconcile,
    reconcile_is_final=True,
    queue="orders",
    worst="deletes a draft that somebody wanted to send",
    stopped_by="this ticket's drafts of agents only; its text stays on the record and can be kept again",
)

RESTORE_TICKET_STATUS = ToolSpec(
    name="restore_ticket_status",
    version=1,
    owner=OWNER,
    description=(
        "Gives this ticket the status it had before update_ticket or escalate_ticket changed it, which takes it back"
        " from the person it was handed to. Not possible once its status was set again. Notes stay."
    ),
    input_schema=closed({"change_id": ref("The change_id that update_ticket or escalate_ticket returned.")}),
    output_schema=STATUS_CHANGED,
    tier=Tier.WRITE_SOFT,
    auth_scope="desk:tickets:write",
    data_class=DataClass.INTERNAL,
    flow=flows.RESTORE_TICKET_STATUS,
    run=runs(_restore),
    examples=({"change_id": _EXAMPLE},),
    undo="the status can be set back once more",
    undo_call=status_undone,
    preview=previews(_restore),
    reconcile=reconcile,
    reconcile_is_final=True,
    queue="orders",
    tags=("tickets",),
    worst="takes a ticket away from the person it was handed to",
    stopped_by="asks; only the last change, and none that a person made; a note says it",
)

STOP_PAYOUT = ToolSpec(
    name="stop_payout",
    version=1,
    owner=OWNER,
    description=(
        "Stops a refund or credit of this customer within 24 hours, before it is paid out; what a gift card got is"
        " taken off it again, if it still holds that much. Its ticket goes to a person, because the customer may have"
        " been told. The same refund cannot be made again on that ticket."
    ),
    input_schema=closed({"payout_id": ref("The payout_id that issue_refund or issue_credit returned.")}),
    output_schema=closed(
        {
            "payout_id": OUT_REF,
            "order_id": OUT_REF,
            "payment_method_id": OUT_REF,
            "amount_minor": integer(),
            "currency": OUT_CURRENCY,
        },
        optional=("order_id",),
    ),
    tier=Tier.WRITE_HARD,
    auth_scope="desk:refunds:write",
    data_class=DataClass.FINANCIAL,
    flow=flows.STOP_PAYOUT,
    run=runs(_stop),
    examples=({"payout_id": _EXAMPLE},),
    irreversible=True,
    preview=previews(_stop),
    reconcile=reconcile,
    reconcile_is_final=True,
    scoped={"payout_id": "payout"},
    queue="refunds",
    tags=("money",),
    worst="takes promised money back from a customer",
    stopped_by=(
        "asks (cannot be undone); the customer's own refunds and credits, within 24 hours, not what is spent; the"
        " ticket goes to a person"
    ),
)

TAKING_BACK = (RECALL_REPLY, DISCARD_DRAFT, RESTORE_TICKET_STATUS, STOP_PAYOUT)
