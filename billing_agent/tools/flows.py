"""What the billing tools do with the values they are given, and who wrote what they return.

Ids, prices, amounts and states are the house's own, and so is what stands on its invoices and why it gave a credit. The
reason of a dispute is what a customer told their bank. Templates are written and reviewed by the house. A mail goes to
the customer's own address and to nobody else.
"""

from collections.abc import Mapping

from agentops.registry.flow import COUNT, Argument, Field, Flow, Intent, Kind, Sends, Trust

CASE, MAIL, CREDIT, REFUND, CHARGE, INVOICE, VOID, WRITE_OFF, PLAN, PAUSE, CANCEL, TAKE_BACK = (
    "case",
    "mail",
    "credit",
    "refund",
    "charge",
    "invoice",
    "void",
    "write off",
    "plan",
    "pause",
    "cancel",
    "take back",
)

INTENTS = (
    Intent(CASE),
    Intent(MAIL),
    Intent(
        CREDIT,
        # Not "credit" alone: letters to a billing desk speak of credit cards.
        (
            "credits",
            "credit of",
            "credit note*",
            "credit to account",
            "account credit",
            "service credit",
            "apply credit",
            "issue credit",
            "goodwill",
            "compensat*",
            "gesture",
        ),
    ),
    Intent(
        REFUND,
        (
            "refund*",
            "reimburse*",
            "money back",
            "give back",
            "charged twice",
            "charged double",
            "double charge*",
            "billed twice",
            "billed double",
            "overcharged",
        ),
    ),
    Intent(
        CHARGE,
        (
            "retry*",
            "try again",
            "try once more",
            "charge again",
            "charge new card",
            "charge other card",
            "pay now",
            "take payment",
            "collect payment",
        ),
    ),
    Intent(
        INVOICE,
        (
            "issue invoice*",
            "generate invoice*",
            "make invoice*",
            "new invoice*",
            "bill us for",
            "bill me for",
            "invoice us for",
        ),
    ),
    Intent(VOID, ("void*", "cancel invoice*", "withdraw invoice*", "wrong invoice*", "invoice mistake")),
    Intent(WRITE_OFF, ("write off", "written off", "uncollectible", "bad debt*", "give up invoice*", "insolven*")),
    Intent(
        PLAN,
        (
            "upgrade*",
            "downgrade*",
            "change plan*",
            "switch plan*",
            "move plan*",
            "change subscription*",
            "switch to",
            "move to",
            "seat*",
            "licence*",
            "license*",
        ),
    ),
    Intent(
        PAUSE, ("pause*", "suspend*", "put on hold", "resume*", "unpause*", "continue subscription*", "reactivate*")
    ),
    Intent(
        CANCEL, ("cancel*", "terminate*", "end subscription*", "stop subscription*", "unsubscribe*", "close account")
    ),
    Intent(
        TAKE_BACK, ("undo*", "take back", "recall*", "reverse*", "keep subscription*", "keep plan*", "changed my mind")
    ),
)

_LABEL = Argument(Kind.LABEL)
_TEXT = Argument(Kind.TEXT)
_AMOUNT = Argument(Kind.AMOUNT, of="minor")
_COUNT = Argument(Kind.AMOUNT, of=COUNT)
_INVOICE = Argument(Kind.REF, of="invoice")
_CHARGE = Argument(Kind.REF, of="charge")
_SUBSCRIPTION = Argument(Kind.REF, of="subscription")
_PLAN = Argument(Kind.REF, of="plan")
_CREDIT = Argument(Kind.REF, of="credit")
_METHOD = Argument(Kind.REF, of="payment method")
_TEMPLATE = Argument(Kind.REF, of="template")
_MAIL = Argument(Kind.REF, of="mail")

_OWN_LABEL = Field(Trust.OWN, Kind.LABEL)
_OWN_VALUE = Field(Trust.OWN, Kind.VALUE)
_OWN_AMOUNT = Field(Trust.OWN, Kind.AMOUNT)
_OWN_TOTAL = Field(Trust.OWN, Kind.AMOUNT, private=True)
_OWN_WHEN = Field(Trust.OWN, Kind.WHEN)
_TOLD_BANK = Field(Trust.THIRD, Kind.TEXT)


def _own(of: str) -> Field:
    return Field(Trust.OWN, Kind.REF, of=of)


_SUBSCRIPTION_FIELDS: Mapping[str, Field] = {
    "subscription_id": _own("subscription"),
    "plan_id": _own("plan"),
    "plan": _OWN_VALUE,
    "next_plan_id": _own("plan"),
    "quantity": _OWN_AMOUNT,
    "status": _OWN_LABEL,
    "period_start": _OWN_WHEN,
    "period_end": _OWN_WHEN,
    "cancel_at": _OWN_WHEN,
    "paused_at": _OWN_WHEN,
    "resumes_at": _OWN_WHEN,
}
# The house gives it, so that a text may speak of it: the number in INV-000042 is known wherever it is written.
_NUMBER = Field(Trust.HOUSE, Kind.REF, of="invoice")
_INVOICE_FIELDS: Mapping[str, Field] = {
    "invoice_id": _own("invoice"),
    "number": _NUMBER,
    "status": _OWN_LABEL,
    "currency": _OWN_LABEL,
    "total_minor": _OWN_AMOUNT,
    "left_minor": _OWN_AMOUNT,
    "issued_at": _OWN_WHEN,
    "due_at": _OWN_WHEN,
    "attempts": _OWN_LABEL,
    "next_attempt_at": _OWN_WHEN,
}
_CHARGE_FIELDS: Mapping[str, Field] = {
    "charge_id": _own("charge"),
    "payment_method_id": _own("payment method"),
    "amount_minor": _OWN_AMOUNT,
    "currency": _OWN_LABEL,
    "status": _OWN_LABEL,
    "decline_code": _OWN_LABEL,
    "refunded_minor": _OWN_AMOUNT,
    "refundable_minor": _OWN_AMOUNT,
    "at": _OWN_WHEN,
}


def _each(above: str, fields: Mapping[str, Field]) -> dict[str, Field]:
    return {f"{above}[].{name}": field for name, field in fields.items()}


LOOKUP_CUSTOMER_360 = Flow(
    "look up",
    results={
        "customer_id": _own("customer"),
        "name": Field(Trust.OWN, Kind.LABEL, private=True),
        "email": Field(Trust.OWN, Kind.TARGET, of="customer", private=True),
        "currency": _OWN_LABEL,
        "country": _OWN_LABEL,
        "tax_bp": _OWN_LABEL,
        "tax_exempt": _OWN_LABEL,
        "is_deleted": _OWN_LABEL,
        "payment_methods[].payment_method_id": _own("payment method"),
        "payment_methods[].words": Field(Trust.OWN, Kind.LABEL, private=True),
        "payment_methods[].expires": Field(Trust.OWN, Kind.LABEL, private=True),
        "payment_methods[].is_default": _OWN_LABEL,
        **_each("subscriptions", _SUBSCRIPTION_FIELDS),
        **_each("open_invoices", _INVOICE_FIELDS),
        "disputes[].dispute_id": _own("dispute"),
        "disputes[].charge_id": _own("charge"),
        "disputes[].amount_minor": _OWN_AMOUNT,
        "disputes[].currency": _OWN_LABEL,
        "disputes[].reason": _TOLD_BANK,
        "disputes[].status": _OWN_LABEL,
        "disputes[].respond_by": _OWN_WHEN,
        "credits[].credit_id": _own("credit"),
        "credits[].amount_minor": _OWN_AMOUNT,
        "credits[].left_minor": _OWN_AMOUNT,
        "credits[].currency": _OWN_LABEL,
        "credits[].reason": _OWN_VALUE,
        "owed_minor": _OWN_TOTAL,
        "credit_minor": _OWN_TOTAL,
        "paid_minor": _OWN_TOTAL,
        "is_cut": _OWN_LABEL,
    },
)
LIST_INVOICES = Flow(
    "look up",
    arguments={"limit": _LABEL},
    results=_each("invoices", _INVOICE_FIELDS),
)
EXPLAIN_INVOICE = Flow(
    "look up",
    arguments={"invoice_id": _INVOICE},
    document="invoice_id",
    results={
        **_INVOICE_FIELDS,
        "subscription_id": _own("subscription"),
        "memo": _OWN_VALUE,
        "lines[].description": _OWN_VALUE,
        "lines[].quantity": _OWN_AMOUNT,
        "lines[].unit_minor": _OWN_AMOUNT,
        "lines[].amount_minor": _OWN_AMOUNT,
        "lines[].tax_minor": _OWN_AMOUNT,
        "lines[].proration": _OWN_LABEL,
        "lines[].from": _OWN_WHEN,
        "lines[].to": _OWN_WHEN,
        "subtotal_minor": _OWN_AMOUNT,
        "tax_minor": _OWN_AMOUNT,
        "paid_minor": _OWN_AMOUNT,
        "credited_minor": _OWN_AMOUNT,
        **_each("charges", _CHARGE_FIELDS),
        "is_cut": _OWN_LABEL,
    },
)
LIST_PLANS = Flow(
    "look up",
    results={
        "plans[].plan_id": _own("plan"),
        "plans[].name": _OWN_VALUE,
        "plans[].interval": _OWN_LABEL,
        "plans[].price_minor": _OWN_AMOUNT,
        "plans[].currency": _OWN_LABEL,
        "more": _OWN_LABEL,
    },
)
LIST_MAIL_TEMPLATES = Flow(
    "look up",
    results={
        "templates[].template_id": _own("template"),
        "templates[].name": _OWN_VALUE,
        "templates[].subject": Field(Trust.HOUSE, Kind.TEXT),
        "templates[].body": Field(Trust.HOUSE, Kind.TEXT),
        "more": _OWN_LABEL,
    },
)

_MONEY = {"amount_minor": _AMOUNT, "currency": _LABEL, "reason": _TEXT}
_MOVED: Mapping[str, Field] = {
    **_INVOICE_FIELDS,
    **_CHARGE_FIELDS,
    "credit_id": _own("credit"),
    "refund_id": _own("refund"),
    "used_minor": _OWN_AMOUNT,
    "tax_minor": _OWN_AMOUNT,
    "subtotal_minor": _OWN_AMOUNT,
    "credited_minor": _OWN_AMOUNT,
    "written_off_minor": _OWN_AMOUNT,
    "invoice_status": _OWN_LABEL,
}
APPLY_CREDIT = Flow(CREDIT, arguments={**_MONEY, "invoice_id": _INVOICE}, results=_MOVED, on_customer=True)
REVERSE_CREDIT = Flow(TAKE_BACK, arguments={"credit_id": _CREDIT, "reason": _TEXT}, results=_MOVED)
RETRY_CHARGE = Flow(
    CHARGE,
    arguments={"invoice_id": _INVOICE, "payment_method_id": _METHOD, "amount_minor": _AMOUNT, "currency": _LABEL},
    results=_MOVED,
)
REFUND_CHARGE = Flow(REFUND, arguments={"charge_id": _CHARGE, **_MONEY}, results=_MOVED)
GENERATE_INVOICE = Flow(
    INVOICE,
    arguments={
        "items[].description": _TEXT,
        "items[].quantity": _COUNT,
        "items[].unit_minor": _AMOUNT,
        "currency": _LABEL,
        "memo": _TEXT,
        "due_days": Argument(Kind.WHEN),
    },
    results=_MOVED,
    on_customer=True,
)
VOID_INVOICE = Flow(VOID, arguments={"invoice_id": _INVOICE, "reason": _TEXT}, results=_MOVED)
WRITE_OFF_INVOICE = Flow(WRITE_OFF, arguments={"invoice_id": _INVOICE, "reason": _TEXT}, results=_MOVED)

_SOLD: Mapping[str, Field] = {
    **_SUBSCRIPTION_FIELDS,
    "former_plan_id": _own("plan"),
    "former_quantity": _OWN_AMOUNT,
    "former_next_plan_id": _own("plan"),
    "former_status": _OWN_LABEL,
    "changes_at": _OWN_WHEN,
    "currency": _OWN_LABEL,
    "invoice_id": _own("invoice"),
    "invoiced_minor": _OWN_AMOUNT,
    "left_minor": _OWN_AMOUNT,
    "credited_minor": _OWN_AMOUNT,
    "credit_id": _own("credit"),
}
_OF_SUBSCRIPTION = {"subscription_id": _SUBSCRIPTION}
CHANGE_PLAN = Flow(
    PLAN,
    arguments={**_OF_SUBSCRIPTION, "plan_id": _PLAN, "quantity": _COUNT, "when": Argument(Kind.WHEN)},
    results=_SOLD,
)
DROP_PLAN_CHANGE = Flow(TAKE_BACK, arguments=_OF_SUBSCRIPTION, results=_SOLD)
PAUSE_SUBSCRIPTION = Flow(PAUSE, arguments={**_OF_SUBSCRIPTION, "until": Argument(Kind.WHEN)}, results=_SOLD)
RESUME_SUBSCRIPTION = Flow(PAUSE, arguments=_OF_SUBSCRIPTION, results=_SOLD)
CANCEL_SUBSCRIPTION = Flow(CANCEL, arguments={**_OF_SUBSCRIPTION, "reason": _TEXT}, results=_SOLD)
END_SUBSCRIPTION_NOW = Flow(CANCEL, arguments={**_OF_SUBSCRIPTION, "reason": _TEXT}, results=_SOLD)
KEEP_SUBSCRIPTION = Flow(TAKE_BACK, arguments=_OF_SUBSCRIPTION, results=_SOLD)

_MAILED: Mapping[str, Field] = {
    "mail_id": _own("mail"),
    "template_id": _own("template"),
    "status": _OWN_LABEL,
    "release_at": _OWN_WHEN,
}
_WRITTEN = {"template_id": _TEMPLATE, "fields[].name": _LABEL, "fields[].value": _TEXT}
DRAFT_EMAIL = Flow(MAIL, arguments=_WRITTEN, results=_MAILED)
SEND_EMAIL = Flow(MAIL, sends=Sends.SUBJECT, arguments=_WRITTEN, results=_MAILED)
RECALL_EMAIL = Flow(TAKE_BACK, arguments={"mail_id": _MAIL}, results=_MAILED)
DISCARD_EMAIL_DRAFT = Flow(TAKE_BACK, arguments={"mail_id": _MAIL}, results=_MAILED)

_CASE: Mapping[str, Field] = {"case_id": _own("case"), "status": _OWN_LABEL, "former_status": _OWN_LABEL}
CLOSE_CASE = Flow(CASE, arguments={"note": _TEXT}, results=_CASE)
REOPEN_CASE = Flow(TAKE_BACK, results=_CASE)
ESCALATE_CASE = Flow(CASE, arguments={"reason": _TEXT, "summary": _TEXT}, results=_CASE)
