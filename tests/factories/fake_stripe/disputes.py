"""Disputes, which a customer's bank opens, here a test: https://docs.stripe.com/api/disputes."""

from collections.abc import Mapping
from typing import Any

from tests.factories.fake_stripe.balances import book
from tests.factories.fake_stripe.errors import refused
from tests.factories.fake_stripe.lists import listed
from tests.factories.fake_stripe.params import BOOL, META, RANGE, STR, merged, read, require_one_of
from tests.factories.fake_stripe.routing import Route, retrieving
from tests.factories.fake_stripe.world import Obj, World

REASONS = (
    "bank_cannot_process",
    "check_returned",
    "credit_not_processed",
    "customer_initiated",
    "debit_not_authorized",
    "duplicate",
    "fraudulent",
    "general",
    "incorrect_account_details",
    "insufficient_funds",
    "noncompliant",
    "product_not_received",
    "product_unacceptable",
    "subscription_canceled",
    "unrecognized",
)
FEE = 1500
DAYS_TO_ANSWER = 7
_EVIDENCE = dict.fromkeys(
    ("customer_communication", "customer_email_address", "customer_name", "product_description", "uncategorized_text"),
    STR,
)


def open_dispute(world: World, charge_ref: str, *, reason: str = "fraudulent", amount: int | None = None) -> Obj:
    """Take a charge back, as the customer's bank does: the money leaves at once, with a fee."""
    require_one_of(reason, REASONS, "reason")
    charge = world.find("charge", charge_ref, "charge")
    if charge["disputed"] or charge["status"] != "succeeded":
        raise refused(f"Charge {charge_ref} cannot be disputed.")
    ref = world.new_id("du")
    taken = amount or charge["amount"] - charge["amount_refunded"]
    booked = book(world, "adjustment", -taken, charge["currency"], ref, fee=FEE)
    dispute = world.add(
        {
            "id": ref,
            "object": "dispute",
            "amount": taken,
            "balance_transactions": [booked],
            "charge": charge_ref,
            "created": world.now,
            "currency": charge["currency"],
            "enhanced_eligibility_types": [],
            "evidence": {**dict.fromkeys(_EVIDENCE), "enhanced_evidence": {}},
            "evidence_details": {
                "due_by": world.now + DAYS_TO_ANSWER * 86_400,
                "enhanced_eligibility": {},
                "has_evidence": False,
                "past_due": False,
                "submission_count": 0,
                "submission_method": "not_submitted",
            },
            "is_charge_refundable": False,
            "livemode": world.live,
            "metadata": {},
            "network_reason_code": "10.4",
            "payment_intent": charge["payment_intent"],
            "payment_method_details": {
                "card": {"brand": "visa", "case_type": "chargeback", "network": "visa", "network_reason_code": "10.4"},
                "type": "card",
            },
            "reason": reason,
            "status": "needs_response",
        }
    )
    charge["disputed"] = True
    world.effect("charge.dispute.created", dispute)
    world.effect("charge.dispute.funds_withdrawn", dispute)
    return dispute


def close_dispute(world: World, ref: str, *, won: bool) -> Obj:
    """Settle a dispute, as the bank does: one that is won brings the money back."""
    dispute = world.find("dispute", ref)
    if dispute["status"] in ("won", "lost"):
        raise refused(f"Dispute {ref} is already {dispute['status']}.")
    dispute["status"] = "won" if won else "lost"
    if won:
        booked = book(world, "adjustment", dispute["amount"], dispute["currency"], ref)
        dispute["balance_transactions"] = [*dispute["balance_transactions"], booked]
        world.effect("charge.dispute.funds_reinstated", dispute)
    world.effect("charge.dispute.closed", dispute)
    return dispute


def update(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Say something to the bank; with ``submit`` it is sent."""
    asked = read(form, {"evidence": _EVIDENCE, "metadata": META, "submit": BOOL})
    dispute = world.find("dispute", ref)
    if dispute["status"] in ("won", "lost"):
        raise refused("This dispute is already closed.")
    before = {"status": dispute["status"]}
    dispute["evidence"] |= asked.get("evidence") or {}
    dispute["metadata"] = merged(dispute["metadata"], asked.get("metadata"))
    if asked.get("submit"):
        dispute["status"] = "under_review"
        dispute["evidence_details"] |= {
            "has_evidence": True,
            "submission_count": 1,
            "submission_method": "manual",
        }
    world.effect("charge.dispute.updated", dispute, before)
    return dispute


def accept(world: World, form: Mapping[str, Any], ref: str) -> Obj:
    """Give a dispute up."""
    read(form, {})
    return close_dispute(world, ref, won=False)


def list_all(world: World, form: Mapping[str, Any]) -> Obj:
    """Return disputes."""
    return listed(world, "dispute", form, "/v1/disputes", {"charge": STR, "payment_intent": STR, "created": RANGE})


ROUTES = [
    Route("GET", "/v1/disputes", list_all, "dispute"),
    Route("GET", "/v1/disputes/{}", retrieving("dispute"), "dispute"),
    Route("POST", "/v1/disputes/{}", update, "dispute"),
    Route("POST", "/v1/disputes/{}/close", accept, "dispute"),
]
