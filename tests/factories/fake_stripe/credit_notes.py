"""Credit notes, which lower an invoice that is final: https://docs.stripe.com/api/credit_notes."""

from collections.abc import Mapping
from typing import Any

from tests.factories.fake_stripe import collecting
from tests.factories.fake_stripe.balances import adjust
from tests.factories.fake_stripe.errors import invalid, refused
from tests.factories.fake_stripe.lists import listed
from tests.factories.fake_stripe.money import shown
from tests.factories.fake_stripe.params import INT, META, RANGE, STR, merged, read, require_one_of, require_positive
from tests.factories.fake_stripe.refunds import refund
from tests.factories.fake_stripe.routing import Route, retrieving
from tests.factories.fake_stripe.world import Obj, World

REASONS = ("duplicate", "fraudulent", "order_change", "product_unsatisfactory")
_SHAPE = {
    "invoice": STR,
    "amount": INT,
    "credit_amount": INT,
    "refund_amount": INT,
    "out_of_band_amount": INT,
    "memo": STR,
    "metadata": META,
    "reason": STR,
}


def create(world: World, form: Mapping[str, Any]) -> Obj:
    """Lower an invoice: an open one by what it asks for, a paid one by credit, a refund or what was paid elsewhere."""
    asked, invoice = _checked(world, form)
    note = world.add(_note(world, asked, invoice, world.new_id("cn")))
    world.effect("credit_note.created", note)
    if note["pre_payment_amount"]:
        collecting.lower(world, invoice, note["pre_payment_amount"])
    if note["post_payment_amount"]:
        invoice["post_payment_credit_notes_amount"] += note["post_payment_amount"]
        _paid_back(world, asked, invoice, note)
        world.effect("invoice.updated", invoice, {})
    return note


def _paid_back(world: World, asked: Mapping[str, Any], invoice: Obj, note: Obj) -> None:
    if asked.get("credit_amount"):
        customer = world.customer(invoice["customer"])
        amount, code = -asked["credit_amount"], invoice["currency"]
        moved = adjust(world, customer, amount, code, "credit_note", credit_note=note["id"], invoice=invoice["id"])
        note["customer_balance_transaction"] = moved["id"]
    if asked.get("refund_amount"):
        made = refund(world, _charge(world, invoice), asked["refund_amount"])
        note["refunds"] = [{"amount_refunded": made["amount"], "refund": made["id"], "type": "refund"}]


def _charge(world: World, invoice: Obj) -> Obj:
    for payment in world.all("invoice_payment", invoice=invoice["id"], status="paid"):
        intent = world.find("payment_intent", payment["payment"]["payment_intent"])
        return world.find("charge", intent["latest_charge"])
    raise refused("This invoice has no charge to refund.", None, "refund_amount")


def preview(world: World, form: Mapping[str, Any]) -> Obj:
    """Return the credit note that would be made."""
    asked, invoice = _checked(world, form)
    return _note(world, asked, invoice, "cn_preview")


def _checked(world: World, form: Mapping[str, Any]) -> tuple[dict[str, Any], Obj]:
    asked = read(form, _SHAPE, needs=("invoice", "amount"))
    require_one_of(asked.get("reason"), REASONS, "reason")
    invoice = world.find("invoice", asked["invoice"], "invoice")
    amount, code = require_positive(asked["amount"], "amount"), invoice["currency"]
    if invoice["status"] not in ("open", "paid"):
        raise refused(f"You cannot create a credit note for an invoice that is {invoice['status']}.", None, "invoice")
    notes = invoice["pre_payment_credit_notes_amount"] + invoice["post_payment_credit_notes_amount"]
    most = invoice["amount_remaining"] if invoice["status"] == "open" else invoice["total"] - notes
    if amount > most:
        raise refused(
            f"The credit note amount ({shown(amount, code)}) is greater than what can be credited"
            f" ({shown(most, code)}).",
            None,
            "amount",
        )
    parts = [asked.get(name) or 0 for name in ("credit_amount", "refund_amount", "out_of_band_amount")]
    if invoice["status"] == "paid" and sum(parts) != amount:
        raise invalid("The sum of credit_amount, refund_amount and out_of_band_amount must be the amount.", "amount")
    if invoice["status"] == "open" and any(parts):
        raise invalid("A credit note for an open invoice takes no credit, refund or out of band amount.", "amount")
    if asked.get("refund_amount"):
        charge = _charge(world, invoice)
        if asked["refund_amount"] > charge["amount"] - charge["amount_refunded"]:
            raise refused("The refund is greater than what is left of the charge.", None, "refund_amount")
    return asked, invoice


def _note(world: World, asked: Mapping[str, Any], invoice: Obj, ref: str) -> Obj:
    amount, before = asked["amount"], invoice["status"] == "open"
    number = len(list(world.all("credit_note", invoice=invoice["id"]))) + 1
    return {
        "id": ref,
        "object": "credit_note",
        "amount": amount,
        "amount_shipping": 0,
        "created": world.now,
        "currency": invoice["currency"],
        "customer": invoice["customer"],
        "customer_balance_transaction": None,
        "discount_amount": 0,
        "discount_amounts": [],
        "effective_at": world.now,
        "invoice": invoice["id"],
        "lines": {
            "object": "list",
            "data": [],
            "has_more": False,
            "url": f"/v1/credit_notes/{ref}/lines",
        },
        "livemode": world.live,
        "memo": asked.get("memo"),
        "metadata": merged({}, asked.get("metadata")),
        "number": f"{invoice['number']}-CN-{number:02}",
        "out_of_band_amount": asked.get("out_of_band_amount"),
        "pdf": f"https://pay.stripe.com/credit_notes/{ref}/pdf",
        "post_payment_amount": 0 if before else amount,
        "pre_payment_amount": amount if before else 0,
        "pretax_credit_amounts": [],
        "reason": asked.get("reason"),
        "refunds": [],
        "shipping_cost": None,
        "status": "issued",
        "subtotal": amount,
        "subtotal_excluding_tax": amount,
        "total": amount,
        "total_excluding_tax": amount,
        "total_taxes": [],
        "type": "pre_payment" if before else "post_payment",
        "voided_at": None,
    }


def update(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Change the words of a credit note."""
    asked = read(form, {"memo": STR, "metadata": META})
    note = world.find("credit_note", ref)
    note["metadata"] = merged(note["metadata"], asked.pop("metadata", None))
    note |= asked
    world.effect("credit_note.updated", note, {})
    return note


def void(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Take a credit note back: only while its invoice is open."""
    read(form, {})
    note = world.find("credit_note", ref)
    invoice = world.find("invoice", note["invoice"])
    if note["status"] != "issued" or invoice["status"] != "open":
        raise refused("You can only void issued credit notes of open invoices.")
    note |= {"status": "void", "voided_at": world.now}
    collecting.raise_again(world, invoice, note["amount"])
    world.effect("credit_note.voided", note)
    return note


def list_all(world: World, form: Mapping[str, Any]) -> Obj:
    """Return credit notes."""
    return listed(world, "credit_note", form, "/v1/credit_notes", {"customer": STR, "invoice": STR, "created": RANGE})


ROUTES = [
    Route("GET", "/v1/credit_notes/preview", preview, "credit_note"),
    Route("POST", "/v1/credit_notes", create, "credit_note"),
    Route("GET", "/v1/credit_notes", list_all, "credit_note"),
    Route("GET", "/v1/credit_notes/{}", retrieving("credit_note"), "credit_note"),
    Route("POST", "/v1/credit_notes/{}", update, "credit_note"),
    Route("POST", "/v1/credit_notes/{}/void", void, "credit_note"),
]
