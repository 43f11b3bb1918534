"""Refunds: https://docs.stripe.com/api/refunds."""

from collections.abc import Mapping
from typing import Any

from tests.factories.fake_stripe.balances import book
from tests.factories.fake_stripe.errors import invalid, refused
from tests.factories.fake_stripe.lists import listed
from tests.factories.fake_stripe.money import shown
from tests.factories.fake_stripe.params import INT, META, RANGE, STR, merged, read, require_one_of, require_positive
from tests.factories.fake_stripe.routing import Route, retrieving
from tests.factories.fake_stripe.world import Obj, World, changed_fields

REASONS = ("duplicate", "fraudulent", "requested_by_customer")


def create(world: World, form: Mapping[str, Any]) -> Obj:
    """Give back what a charge took, all that is left of it when no amount is named."""
    asked = read(form, {"charge": STR, "payment_intent": STR, "amount": INT, "reason": STR, "metadata": META})
    require_one_of(asked.get("reason"), REASONS, "reason")
    charge = _charge(world, asked)
    if charge["status"] != "succeeded":
        raise refused(f"Charge {charge['id']} failed; there is nothing to refund.", "charge_not_refundable", "charge")
    if any(dispute["status"] != "won" for dispute in world.all("dispute", charge=charge["id"])):
        raise refused(
            f"Charge {charge['id']} has been charged back; cannot issue a refund.", "charge_disputed", "charge"
        )
    left = charge["amount"] - charge["amount_refunded"]
    if not left:
        raise refused(f"Charge {charge['id']} has already been refunded.", "charge_already_refunded", "charge")
    amount = require_positive(asked["amount"], "amount") if "amount" in asked else left
    if amount > left:
        code = charge["currency"]
        raise refused(
            f"Refund amount ({shown(amount, code)}) is greater than unrefunded amount on charge ({shown(left, code)})",
            None,
            "amount",
        )
    return refund(world, charge, amount, reason=asked.get("reason"), metadata=merged({}, asked.get("metadata")))


def _charge(world: World, asked: Mapping[str, Any]) -> Obj:
    if bool(asked.get("charge")) == bool(asked.get("payment_intent")):
        raise invalid("One of charge or payment_intent must be provided.", "charge", "parameter_missing")
    if asked.get("charge"):
        return world.find("charge", asked["charge"], "charge")
    intent = world.find("payment_intent", asked["payment_intent"], "payment_intent")
    if intent["latest_charge"] is None:
        raise refused("This PaymentIntent does not have a successful charge to refund.")
    return world.find("charge", intent["latest_charge"])


def refund(world: World, charge: Obj, amount: int, **more: Any) -> Obj:
    """Give an amount back that is left."""
    ref = world.new_id("re")
    booked = book(world, "refund", -amount, charge["currency"], ref)
    made = world.add(
        {
            "id": ref,
            "object": "refund",
            "amount": amount,
            "balance_transaction": booked["id"],
            "charge": charge["id"],
            "created": world.now,
            "currency": charge["currency"],
            "destination_details": {
                "card": {
                    "reference_status": "pending",
                    "reference_type": "acquirer_reference_number",
                    "type": "refund",
                },
                "type": "card",
            },
            "metadata": {},
            "payment_intent": charge["payment_intent"],
            "reason": None,
            "receipt_number": None,
            "source_transfer_reversal": None,
            "status": "succeeded",
            "transfer_reversal": None,
            **more,
        }
    )
    before = dict(charge)
    charge["amount_refunded"] += amount
    charge["refunded"] = charge["amount_refunded"] == charge["amount"]
    world.effect("refund.created", made)
    world.effect("charge.refunded", charge, changed_fields(before, charge))
    return made


def update(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Change the metadata of a refund."""
    asked = read(form, {"metadata": META})
    made = world.find("refund", ref)
    made["metadata"] = merged(made["metadata"], asked.get("metadata"))
    world.effect("refund.updated", made, {})
    return made


def list_all(world: World, form: Mapping[str, Any]) -> Obj:
    """Return refunds."""
    return listed(world, "refund", form, "/v1/refunds", {"charge": STR, "payment_intent": STR, "created": RANGE})


ROUTES = [
    Route("POST", "/v1/refunds", create, "charge"),
    Route("GET", "/v1/refunds", list_all, "charge"),
    Route("GET", "/v1/refunds/{}", retrieving("refund"), "charge"),
    Route("POST", "/v1/refunds/{}", update, "charge"),
]
