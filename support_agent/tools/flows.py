"""What the desk's tools do with the values they are given, and who wrote what they return.

Ids, prices and states are the shop's own. Names and addresses are what the ticket's customer once typed in, and so by
the person whose request this is. The knowledge base is written by the shop. A reply goes to the ticket's customer and
to nobody else.
"""

from collections.abc import Mapping

from agentops.registry.flow import Argument, Field, Flow, Intent, Kind, Sends, Trust

REPLY, TICKET, REFUND, CREDIT, CANCEL, CHANGE, RETURN, EXCHANGE, TAKE_BACK = (
    "reply",
    "ticket",
    "refund",
    "credit",
    "cancel",
    "change",
    "return",
    "exchange",
    "take back",
)

INTENTS = (
    Intent(REPLY),
    Intent(TICKET),
    Intent(
        REFUND,
        (
            "refund*",
            "reimburse*",
            "money back",
            "give back",
            "send back money",
            "charged twice",
            "charged double",
            "charged two",
            "double charge*",
            "doublecharged",
            "double billed",
            "billed twice",
            "billed double",
            "overcharged",
        ),
    ),
    Intent(CREDIT, ("credit", "credits", "goodwill", "voucher*", "compensat*", "gesture", "coupon*", "gift card")),
    Intent(CANCEL, ("cancel*",)),
    Intent(
        CHANGE,
        (
            "change*",
            "modify*",
            "update*",
            "correct*",
            "fix*",
            "edit*",
            "switch*",
            "swap*",
            "replace*",
            "upgrade*",
            "downgrade*",
            "redirect*",
            "exchange*",
            "ship to",
            "send to",
            "deliver to",
            "pay with",
            "address",
        ),
    ),
    Intent(RETURN, ("return*", "send back", "ship back", "give back")),
    Intent(EXCHANGE, ("exchange*", "swap*", "replace*", "switch*", "change*", "upgrade*", "downgrade*")),
    Intent(TAKE_BACK, ("stop refund*", "stop credit*", "stop payout*", "undo*", "recall*", "take back")),
)

_ORDER = Argument(Kind.REF, of="order")
_ITEM = Argument(Kind.REF, of="item")
_METHOD = Argument(Kind.REF, of="payment method")
_AMOUNT = Argument(Kind.AMOUNT, of="minor")
_LABEL = Argument(Kind.LABEL)
_TEXT = Argument(Kind.TEXT)

_OWN_LABEL = Field(Trust.OWN, Kind.LABEL)
_OWN_AMOUNT = Field(Trust.OWN, Kind.AMOUNT)
_OWN_BALANCE = Field(Trust.OWN, Kind.AMOUNT, private=True)
_OWN_ORDER = Field(Trust.OWN, Kind.REF, of="order")
_OWN_ITEM = Field(Trust.OWN, Kind.REF, of="item")
_OWN_METHOD = Field(Trust.OWN, Kind.REF, of="payment method")
_OWN_PRODUCT = Field(Trust.OWN, Kind.REF, of="product")
_OWN_VALUE = Field(Trust.OWN, Kind.VALUE)
_NAME = Field(Trust.OWN, Kind.LABEL, private=True)
_ADDRESS = Field(Trust.OWN, Kind.TARGET, of="address", private=True)

_ADDRESS_LINES = dict.fromkeys(
    ("address1", "address2", "city", "state", "country", "zip"), Argument(Kind.TARGET, of="address")
)


def _own(of: str) -> Field:
    return Field(Trust.OWN, Kind.REF, of=of)


LOOKUP_CUSTOMER = Flow(
    "look up",
    arguments=dict.fromkeys(("email", "first_name", "last_name", "zip"), Argument(Kind.VALUE)),
    results={
        "customer_id": _own("customer"),
        "first_name": _NAME,
        "last_name": _NAME,
        "email": Field(Trust.OWN, Kind.TARGET, of="customer", private=True),
        "address": _ADDRESS,
        "payment_methods[]": _OWN_LABEL,
        "payment_methods[].payment_method_id": _OWN_METHOD,
        "payment_methods[].last_four": Field(Trust.OWN, Kind.LABEL, private=True),
        "payment_methods[].balance_minor": _OWN_BALANCE,
        "order_ids": _OWN_ORDER,
        "older_orders": _OWN_LABEL,
    },
)

LOOKUP_ORDER = Flow(
    "look up",
    arguments={"order_id": _ORDER},
    document="order_id",
    results={
        "order_id": _OWN_ORDER,
        "status": _OWN_LABEL,
        "currency": _OWN_LABEL,
        "address": _ADDRESS,
        "items[].item_id": _OWN_ITEM,
        "items[].product_id": _OWN_PRODUCT,
        "items[].name": _OWN_VALUE,
        "items[].price_minor": _OWN_AMOUNT,
        "items[].options": _OWN_VALUE,
        "fulfilments[].tracking_ids": _OWN_VALUE,
        "fulfilments[].item_ids": _OWN_ITEM,
        "payments[].kind": _OWN_LABEL,
        "payments[].amount_minor": _OWN_AMOUNT,
        "payments[].payment_method_id": _OWN_METHOD,
        "refundable_minor": _OWN_AMOUNT,
        "cancel_reason": _OWN_LABEL,
        "return.item_ids": _OWN_ITEM,
        "return.payment_method_id": _OWN_METHOD,
        "exchange.item_ids": _OWN_ITEM,
        "exchange.new_item_ids": _OWN_ITEM,
        "exchange.payment_method_id": _OWN_METHOD,
        "exchange.difference_minor": _OWN_AMOUNT,
    },
)

LOOKUP_PRODUCT = Flow(
    "look up",
    arguments={"product_id": Argument(Kind.REF, of="product")},
    document="product_id",
    results={
        "product_id": _OWN_PRODUCT,
        "name": _OWN_VALUE,
        "variants[].item_id": _OWN_ITEM,
        "variants[].options": _OWN_VALUE,
        "variants[].price_minor": _OWN_AMOUNT,
        "variants[].currency": _OWN_LABEL,
        "variants[].available": _OWN_LABEL,
    },
)

LIST_PRODUCTS = Flow(
    "look up",
    arguments={"query": _LABEL},
    results={"products[].product_id": _OWN_PRODUCT, "products[].name": _OWN_VALUE, "more": _OWN_LABEL},
)

SEARCH_KNOWLEDGE_BASE = Flow(
    "look up",
    arguments={"query": _LABEL},
    results={
        "results[].id": _own("article"),
        "results[].title": Field(Trust.HOUSE, Kind.TEXT),
        "results[].passage": Field(Trust.HOUSE, Kind.TEXT),
        "results[].score": _OWN_LABEL,
    },
)

_STATUS_CHANGED = {
    "ticket_id": _own("ticket"),
    "status": _OWN_LABEL,
    "former_status": _OWN_LABEL,
    "change_id": _own("change"),
}
_TICKET_OF = {"ticket_id": _own("ticket"), "status": _OWN_LABEL}

DRAFT_REPLY = Flow(REPLY, arguments={"body": _TEXT}, results={**_TICKET_OF, "draft_id": _own("draft")})
SEND_REPLY = Flow(
    REPLY,
    sends=Sends.SUBJECT,
    arguments={"body": _TEXT},
    results={**_TICKET_OF, "release_at": Field(Trust.OWN, Kind.WHEN), "reply_id": _own("reply")},
)
UPDATE_TICKET = Flow(TICKET, arguments={"status": _LABEL, "note": _TEXT}, results=_STATUS_CHANGED)
ESCALATE_TICKET = Flow(TICKET, arguments={"reason": _TEXT, "summary": _TEXT}, results=_STATUS_CHANGED)

_MONEY = {"amount_minor": _AMOUNT, "currency": _LABEL, "payment_method_id": _METHOD, "reason": _TEXT}
_MONEY_MOVED = {
    "order_id": _OWN_ORDER,
    "payment_method_id": _OWN_METHOD,
    "amount_minor": _OWN_AMOUNT,
    "currency": _OWN_LABEL,
    "refunded_minor": _OWN_AMOUNT,
    "refundable_minor": _OWN_AMOUNT,
    "balance_minor": _OWN_BALANCE,
    "payout_id": _own("payout"),
}
ISSUE_REFUND = Flow(REFUND, arguments={"order_id": _ORDER, **_MONEY}, results=_MONEY_MOVED)
ISSUE_CREDIT = Flow(CREDIT, arguments=_MONEY, results=_MONEY_MOVED)
STOP_PAYOUT = Flow(TAKE_BACK, arguments={"payout_id": Argument(Kind.REF, of="payout")}, results=_MONEY_MOVED)

_ORDER_CHANGED: Mapping[str, Field] = {
    "order_id": _OWN_ORDER,
    "customer_id": _own("customer"),
    "status": _OWN_LABEL,
    "currency": _OWN_LABEL,
    "item_ids": _OWN_ITEM,
    "new_item_ids": _OWN_ITEM,
    "payment_method_id": _OWN_METHOD,
    "amount_minor": _OWN_AMOUNT,
    "difference_minor": _OWN_AMOUNT,
    "refund_minor": _OWN_AMOUNT,
    "refunds[].payment_method_id": _OWN_METHOD,
    "refunds[].amount_minor": _OWN_AMOUNT,
    "address": _ADDRESS,
    "former_address": _ADDRESS,
}
_RETURNED = {"order_id": _ORDER, "item_ids": _ITEM, "payment_method_id": _METHOD}
_ITEMS = {**_RETURNED, "new_item_ids": _ITEM}
CANCEL_PENDING_ORDER = Flow(CANCEL, arguments={"order_id": _ORDER, "reason": _LABEL}, results=_ORDER_CHANGED)
CHANGE_ORDER_ITEMS = Flow(CHANGE, arguments=_ITEMS, results=_ORDER_CHANGED)
CHANGE_ORDER_ADDRESS = Flow(CHANGE, arguments={"order_id": _ORDER, **_ADDRESS_LINES}, results=_ORDER_CHANGED)
CHANGE_ORDER_PAYMENT = Flow(
    CHANGE, arguments={"order_id": _ORDER, "payment_method_id": _METHOD}, results=_ORDER_CHANGED
)
CHANGE_CUSTOMER_ADDRESS = Flow(CHANGE, arguments=_ADDRESS_LINES, results=_ORDER_CHANGED)
RETURN_DELIVERED_ITEMS = Flow(RETURN, arguments=_RETURNED, results=_ORDER_CHANGED)
EXCHANGE_DELIVERED_ITEMS = Flow(EXCHANGE, arguments=_ITEMS, results=_ORDER_CHANGED)

RECALL_REPLY = Flow(
    TAKE_BACK,
    arguments={"reply_id": Argument(Kind.REF, of="reply")},
    results={**_TICKET_OF, "reply_id": _own("reply"), "body": Field(Trust.UNTRUSTED, Kind.TEXT)},
)
DISCARD_DRAFT = Flow(
    TAKE_BACK,
    arguments={"draft_id": Argument(Kind.REF, of="draft")},
    results={**_TICKET_OF, "draft_id": _own("draft"), "body": Field(Trust.UNTRUSTED, Kind.TEXT)},
)
RESTORE_TICKET_STATUS = Flow(
    TAKE_BACK, arguments={"change_id": Argument(Kind.REF, of="change")}, results=_STATUS_CHANGED
)
