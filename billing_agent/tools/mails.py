"""Soft writes to the customer: mails from reviewed templates, as drafts or on their way."""

from agentops.registry.declare import OUT_REF, closed, listed, ref, text, undone_by
from agentops.registry.tool import Arguments, DataClass, Tier, ToolSpec
from billing_agent.connectors.mail_rules import RECALL_WINDOW
from billing_agent.connectors.port import DiscardMail, RecallMail, WriteMail
from billing_agent.tools import flows
from billing_agent.tools.parts import OUT_STATUS, OWNER, previews, reconcile, runs

"""How long the billing system keeps a mail before it leaves."""

MOST_FIELDS = 40

_FIELDS = listed(
    closed(
        {
            "name": text(40, "The gap's name, without braces."),
            "value": text(300, "One line of text that fills it; amounts and dates as the customer reads them."),
        }
    ),
    MOST_FIELDS,
    "Each gap of the template once, and no others.",
)
_TEMPLATE_ID = ref("The template's id, as list_mail_templates gives it.")
_WRITTEN = closed({"template_id": _TEMPLATE_ID, "fields": _FIELDS})
_EXAMPLE = {
    "template_id": "refund-made",
    "fields": [{"name": "amount", "value": "$29.00"}, {"name": "invoice", "value": "INV-000042"}],
}
_OUT = closed(
    {
        "mail_id": OUT_REF,
        "template_id": OUT_REF,
        "status": OUT_STATUS,
        "release_at": text(40, "When it leaves, empty for a draft.", least=0),
    }
)
_OUT_TAKEN_BACK = closed({"mail_id": OUT_REF, "template_id": OUT_REF, "status": OUT_STATUS})


def _fields(arguments: Arguments) -> tuple[tuple[str, str], ...]:
    return tuple((field["name"], field["value"]) for field in arguments["fields"])


def _draft(arguments: Arguments) -> WriteMail:
    return WriteMail(arguments["template_id"], _fields(arguments), send=False)


def _send(arguments: Arguments) -> WriteMail:
    return WriteMail(arguments["template_id"], _fields(arguments), send=True)


def _recall(arguments: Arguments) -> RecallMail:
    return RecallMail(arguments["mail_id"])


def _discard(arguments: Arguments) -> DiscardMail:
    return DiscardMail(arguments["mail_id"])


DRAFT_EMAIL = ToolSpec(
    name="draft_email",
    version=1,
    owner=OWNER,
    description=(
        "Fills a reviewed template for this customer and keeps it as a draft for a person to read and send. Nothing"
        " reaches the customer. Use it when you are not certain that the mail is right."
    ),
    input_schema=_WRITTEN,
    output_schema=_OUT,
    tier=Tier.WRITE_SOFT,
    auth_scope="billing:mails:write",
    data_class=DataClass.PERSONAL,
    flow=flows.DRAFT_EMAIL,
    run=runs(_draft),
    examples=(_EXAMPLE,),
    undo="the draft can be thrown away; nothing was sent",
    undo_call=undone_by("discard_email_draft", {"mail_id": "mail_id"}),
    preview=previews(_draft),
    reconcile=reconcile,
    reconcile_is_final=True,
    queue="billing-mail",
    worst="leaves a bad draft with the customer's record",
    stopped_by="nothing is sent; discard_email_draft or a person throws it away",
)

SEND_EMAIL = ToolSpec(
    name="send_email",
    version=1,
    owner=OWNER,
    description=(
        "Fills a reviewed template and sends it to this customer's own address. It leaves after 10 minutes; until"
        " then it can be recalled. Fill the gaps only with what lookups have shown and what has really been done. No"
        " other address and no text of your own can be sent."
    ),
    input_schema=_WRITTEN,
    output_schema=_OUT,
    tier=Tier.WRITE_SOFT,
    auth_scope="billing:mails:write",
    data_class=DataClass.PERSONAL,
    flow=flows.SEND_EMAIL,
    run=runs(_send),
    examples=(_EXAMPLE,),
    undo="can be recalled for 10 minutes",
    undo_call=undone_by("recall_email", {"mail_id": "mail_id"}),
    undo_within=RECALL_WINDOW,
    preview=previews(_send),
    reconcile=reconcile,
    reconcile_is_final=True,
    queue="billing-mail",
    tags=("outbound",),
    outcome="answered",
    worst="a reviewed mail with a wrong amount or date reaches the customer",
    stopped_by=(
        "reviewed templates only, one line a gap, to the customer's own address; it leaves after ten minutes, until"
        " then it can be recalled"
    ),
)

RECALL_EMAIL = ToolSpec(
    name="recall_email",
    version=1,
    owner=OWNER,
    description=(
        "Takes back a mail to this customer that has not left yet, within 10 minutes of send_email. Only for a mail"
        " that is wrong."
    ),
    input_schema=closed({"mail_id": ref("The mail_id that send_email returned.")}),
    output_schema=_OUT_TAKEN_BACK,
    tier=Tier.WRITE_SOFT,
    auth_scope="billing:mails:write",
    data_class=DataClass.PERSONAL,
    flow=flows.RECALL_EMAIL,
    run=runs(_recall),
    examples=({"mail_id": "ml_90aa17"},),
    undo="the same template can be sent again",
    preview=previews(_recall),
    reconcile=reconcile,
    reconcile_is_final=True,
    scoped={"mail_id": "mail"},
    queue="billing-mail",
    worst="withholds a right mail from the customer",
    stopped_by="mails to the session's customer only, within ten minutes; it can be sent again",
)

DISCARD_EMAIL_DRAFT = ToolSpec(
    name="discard_email_draft",
    version=1,
    owner=OWNER,
    description="Throws away a draft that draft_email kept for this customer. Only for a draft that is wrong.",
    input_schema=closed({"mail_id": ref("The mail_id that draft_email returned.")}),
    output_schema=_OUT_TAKEN_BACK,
    tier=Tier.WRITE_SOFT,
    auth_scope="billing:mails:write",
    data_class=DataClass.PERSONAL,
    flow=flows.DISCARD_EMAIL_DRAFT,
    run=runs(_discard),
    examples=({"mail_id": "ml_90aa17"},),
    undo="the same template can be kept as a draft again",
    preview=previews(_discard),
    reconcile=reconcile,
    reconcile_is_final=True,
    scoped={"mail_id": "mail"},
    queue="billing-mail",
    worst="throws away a draft that somebody wanted to send",
    stopped_by="drafts for the session's customer only; it can be drafted again",
)

MAILS = (DRAFT_EMAIL, SEND_EMAIL, RECALL_EMAIL, DISCARD_EMAIL_DRAFT)
