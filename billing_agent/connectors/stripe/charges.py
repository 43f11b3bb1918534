"""Stripe's charges, refunds and disputes as records. Pure."""

from collections.abc import Sequence

from billing_agent.connectors.charge_rules import LOST
from billing_agent.connectors.records import Charge, ChargeStatus, Dispute, DisputeStatus, Refund
from billing_agent.connectors.stripe.amounts import from_stripe, minor
from billing_agent.connectors.stripe.objects import Obj, known_moment, metadata_of, moment, ref_of, versioned

REASON = "reason"
"""The metadata of a refund that say why."""
LONGEST_CODE = 40
_GONE = frozenset({"failed", "canceled"})
_DISPUTES = {
    "warning_needs_response": DisputeStatus.NEEDS_RESPONSE,
    "needs_response": DisputeStatus.NEEDS_RESPONSE,
    "warning_under_review": DisputeStatus.UNDER_REVIEW,
    "under_review": DisputeStatus.UNDER_REVIEW,
    "warning_closed": DisputeStatus.WON,
    "prevented": DisputeStatus.WON,
    "won": DisputeStatus.WON,
    "lost": DisputeStatus.LOST,
}
_DECLINES = {
    "lost_card": LOST,
    "stolen_card": LOST,
    "pickup_card": LOST,
    "generic_decline": "do_not_honor",
    "card_declined": "do_not_honor",
    "invoice_payment_intent_requires_action": "authentication_required",
}


def decline_code(*codes: str | None) -> str:
    """Return the house's word for the first reason that is given, Stripe's own where the house has none."""
    told = next((code for code in codes if code), "processing_error")
    return _DECLINES.get(told, told)[:LONGEST_CODE]


def charge_of(obj: Obj, invoice_ref: str, refunds: Sequence[Obj], disputes: Sequence[Obj]) -> Charge:
    """Return a charge. One whose money is still under way counts as taken; Stripe says what can go back of it."""
    failed = obj["status"] == "failed"
    reason = (obj.get("outcome") or {}).get("reason")
    return versioned(
        Charge(
            ref=obj["id"],
            invoice_ref=invoice_ref,
            method_ref=ref_of(obj.get("payment_method")),
            amount=from_stripe(obj["amount"], obj["currency"]),
            status=ChargeStatus.FAILED if failed else ChargeStatus.SUCCEEDED,
            decline_code=decline_code(reason, obj.get("failure_code")) if failed else "",
            refunded_minor=minor(obj["amount_refunded"], obj["currency"]),
            at=known_moment(obj["created"]),
            refunds=tuple(refund_of(each) for each in reversed(refunds) if each.get("status") not in _GONE),
            disputes=tuple(dispute_of(each) for each in reversed(disputes)),
            version=0,
        )
    )


def refund_of(obj: Obj) -> Refund:
    """Return a refund with the reason that its metadata give."""
    reason = metadata_of(obj).get(REASON) or obj.get("reason") or ""
    return Refund(obj["id"], from_stripe(obj["amount"], obj["currency"]), reason, known_moment(obj["created"]))


def dispute_of(obj: Obj) -> Dispute:
    """Return a dispute; an early inquiry that was closed counts as won."""
    return Dispute(
        ref=obj["id"],
        charge_ref=ref_of(obj["charge"]),
        amount=from_stripe(obj["amount"], obj["currency"]),
        reason=obj["reason"],
        status=_DISPUTES[obj["status"]],
        opened_at=known_moment(obj["created"]),
        respond_by=moment((obj.get("evidence_details") or {}).get("due_by")),
    )
