"""How an invoice is finalized, paid and closed: https://docs.stripe.com/invoicing/integration/workflow-transitions."""

from tests.factories.fake_stripe.balances import adjust
from tests.factories.fake_stripe.errors import ApiError, refused
from tests.factories.fake_stripe.invoice_shape import AUTOMATIC, subscription_of
from tests.factories.fake_stripe.money import LEAST
from tests.factories.fake_stripe.payments import attempt, intend
from tests.factories.fake_stripe.periods import DAY
from tests.factories.fake_stripe.world import Obj, World, changed_fields

RETRIES = (3 * DAY, 5 * DAY, 7 * DAY)
"""How long after an automatic attempt that failed the next one comes."""

HOUR = 3_600


def finalize(world: World, invoice: Obj, *, auto_advance: bool | None = None) -> None:
    """Give a draft its number and use the customer's credit on it. Raises ApiError for what is no draft."""
    if invoice["status"] != "draft":
        raise refused("This invoice is already finalized, you can't re-finalize a non-draft invoice.")
    customer = world.find("customer", invoice["customer"])
    invoice["auto_advance"] = invoice["auto_advance"] if auto_advance is None else auto_advance
    due = _settled_by_balance(world, invoice, customer)
    invoice |= {
        "amount_due": due,
        "amount_remaining": due,
        "status": "open",
        "number": invoice["number"] or f"{customer['invoice_prefix']}-{customer['next_invoice_sequence']:04}",
        "effective_at": world.now,
        "automatically_finalizes_at": None,
        "hosted_invoice_url": f"https://invoice.stripe.com/i/{invoice['id']}",
        "invoice_pdf": f"https://pay.stripe.com/invoice/{invoice['id']}/pdf",
    }
    customer["next_invoice_sequence"] += 1
    invoice["status_transitions"]["finalized_at"] = world.now
    if due:
        _await_payment(world, invoice, due)
    world.effect("invoice.finalized", invoice)
    if not due:
        closed_as_paid(world, invoice)


def _settled_by_balance(world: World, invoice: Obj, customer: Obj) -> int:
    """Move the customer's balance and return what is due. A total below zero becomes credit."""
    total, balance, code = invoice["total"], customer["balance"], invoice["currency"]
    invoice["starting_balance"] = balance
    due = max(total + balance, 0) if total >= 0 else 0
    moved, kind = due - total, "applied_to_invoice"
    if 0 < due < LEAST.get(code, 1) and invoice["collection_method"] == AUTOMATIC:
        # What no card is charged with is kept as a debt.
        moved, due, kind = -total, 0, "invoice_too_small"
    if moved:
        adjust(world, customer, -moved, code, kind, invoice=invoice["id"])
    invoice["ending_balance"] = customer["balance"]
    invoice["_balance_used"] = -moved
    return due


def _await_payment(world: World, invoice: Obj, due: int) -> None:
    intent = intend(
        world, due, invoice["currency"], invoice["customer"], description=invoice["description"] or "Invoice"
    )
    world.effect("payment_intent.created", intent)
    world.add(
        {
            "id": world.new_id("inpay"),
            "object": "invoice_payment",
            "amount_paid": None,
            "amount_requested": due,
            "created": world.now,
            "currency": invoice["currency"],
            "invoice": invoice["id"],
            "is_default": True,
            "livemode": world.live,
            "payment": {"payment_intent": intent["id"], "type": "payment_intent"},
            "status": "open",
            "status_transitions": {"canceled_at": None, "paid_at": None},
        }
    )
    if invoice["auto_advance"] and invoice["collection_method"] == AUTOMATIC:
        invoice["next_payment_attempt"] = world.now + HOUR


def payment_of(world: World, invoice: Obj) -> tuple[Obj, Obj]:
    """Return the payment of an open invoice and its intent."""
    payment = next(world.all("invoice_payment", invoice=invoice["id"], status="open"))
    return payment, world.find("payment_intent", payment["payment"]["payment_intent"])


def method_of(world: World, invoice: Obj, asked: str | None = None) -> Obj:
    """Return the card that pays an invoice: the one that is asked for, the invoice's, the subscription's, the default.

    Raises ApiError when there is none, and for a card of somebody else.
    """
    customer = world.find("customer", invoice["customer"])
    subscription = subscription_of(invoice)
    default = None if customer.get("deleted") else customer["invoice_settings"]["default_payment_method"]
    subscribed = world.find("subscription", subscription)["default_payment_method"] if subscription else None
    ref = asked or invoice["default_payment_method"] or subscribed or default
    if ref is None:
        raise refused(
            "This customer has no attached payment source or default payment method. Please consider adding a default"
            " payment method."
        )
    method = world.find("payment_method", ref, "payment_method")
    if method["customer"] != invoice["customer"]:
        raise ApiError(
            400,
            f"The customer does not have a payment method with the ID {ref}. The payment method must be attached to the"
            " customer.",
            code="resource_missing",
            param="payment_method",
        )
    return method


def collect(world: World, invoice: Obj, method: Obj, *, automatic: bool = False) -> ApiError | None:
    """Try to take what is due of an open invoice. Returns the issuer's refusal, None when it is paid."""
    payment, intent = payment_of(world, invoice)
    refusal = attempt(world, intent, method)
    first = invoice["attempt_count"] == 0
    if first or automatic:
        invoice["attempt_count"] += 1
    invoice["attempted"] = True
    if refusal is not None:
        _failed(world, invoice)
        return refusal
    payment |= {"status": "paid", "amount_paid": intent["amount"]}
    payment["status_transitions"]["paid_at"] = world.now
    invoice |= {"amount_paid": intent["amount"], "amount_remaining": 0}
    world.effect("invoice_payment.paid", payment)
    closed_as_paid(world, invoice)
    return None


def _failed(world: World, invoice: Obj) -> None:
    count = invoice["attempt_count"]
    invoice["next_payment_attempt"] = (
        world.now + RETRIES[count - 1]
        if invoice["auto_advance"] and invoice["collection_method"] == AUTOMATIC and count <= len(RETRIES)
        else None
    )
    customer = world.find("customer", invoice["customer"])
    if not customer.get("deleted"):
        customer["delinquent"] = True
    world.effect("invoice.payment_failed", invoice)
    _subscription_is(world, invoice, {"active": "past_due", "trialing": "past_due"})


def closed_as_paid(world: World, invoice: Obj) -> None:
    """Close an invoice of which nothing is left to pay."""
    invoice |= {"status": "paid", "attempted": True, "next_payment_attempt": None, "auto_advance": False}
    invoice["status_transitions"]["paid_at"] = world.now
    world.effect("invoice.paid", invoice)
    world.effect("invoice.payment_succeeded", invoice)
    _subscription_is(world, invoice, {"past_due": "active", "incomplete": "active", "unpaid": "active"})


def _subscription_is(world: World, invoice: Obj, moves: dict[str, str]) -> None:
    ref = subscription_of(invoice)
    subscription = world.records["subscription"].get(ref or "")
    if subscription is None or subscription["status"] not in moves:
        return
    if subscription["latest_invoice"] != invoice["id"]:
        return
    before = {"status": subscription["status"]}
    subscription["status"] = moves[subscription["status"]]
    world.effect("customer.subscription.updated", subscription, before)


def void(world: World, invoice: Obj) -> None:
    """Take an open invoice back, and give credit back that was used on it. Raises ApiError."""
    if invoice["status"] not in ("open", "uncollectible"):
        raise refused(f"You can only void open or uncollectible invoices. This invoice is {invoice['status']}.")
    if invoice["amount_paid"]:
        raise refused("You cannot void an invoice on which something was paid.")
    before = dict(invoice)
    _cancel_payment(world, invoice, "void_invoice")
    used = invoice["_balance_used"]
    customer = world.find("customer", invoice["customer"])
    if used and not customer.get("deleted"):
        adjust(world, customer, -used, invoice["currency"], "unapplied_from_invoice", invoice=invoice["id"])
    invoice |= {"status": "void", "next_payment_attempt": None, "auto_advance": False, "amount_remaining": 0}
    invoice["status_transitions"]["voided_at"] = world.now
    world.effect("invoice.voided", invoice, changed_fields(before, invoice))


def _cancel_payment(world: World, invoice: Obj, reason: str) -> None:
    for payment in list(world.all("invoice_payment", invoice=invoice["id"], status="open")):
        intent = world.find("payment_intent", payment["payment"]["payment_intent"])
        payment["status"] = "canceled"
        payment["status_transitions"]["canceled_at"] = world.now
        intent |= {"status": "canceled", "canceled_at": world.now, "cancellation_reason": reason}
        world.effect("payment_intent.canceled", intent)


def give_up(world: World, invoice: Obj) -> None:
    """Mark an open invoice as one that will not be paid. Raises ApiError."""
    if invoice["status"] != "open":
        raise refused(f"You can only mark open invoices as uncollectible. This invoice is {invoice['status']}.")
    before = dict(invoice)
    invoice |= {"status": "uncollectible", "next_payment_attempt": None, "auto_advance": False}
    invoice["status_transitions"]["marked_uncollectible_at"] = world.now
    world.effect("invoice.marked_uncollectible", invoice, changed_fields(before, invoice))


def lower(world: World, invoice: Obj, amount: int) -> None:
    """Take a credit note off what an open invoice asks for; one of which nothing is left is paid."""
    _owe(world, invoice, -amount)
    if not invoice["amount_remaining"]:
        _cancel_payment(world, invoice, "void_invoice")
        closed_as_paid(world, invoice)


def raise_again(world: World, invoice: Obj, amount: int) -> None:
    """Ask for what a credit note took off, which is taken back."""
    _owe(world, invoice, amount)


def _owe(world: World, invoice: Obj, change: int) -> None:
    payment, intent = payment_of(world, invoice)
    before = dict(invoice)
    invoice["amount_due"] += change
    invoice["amount_remaining"] += change
    invoice["pre_payment_credit_notes_amount"] -= change
    if invoice["amount_remaining"]:
        payment["amount_requested"] = intent["amount"] = invoice["amount_remaining"]
    world.effect("invoice.updated", invoice, changed_fields(before, invoice))
