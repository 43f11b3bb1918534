"""An invoice as it is made: https://docs.stripe.com/api/invoices/object."""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from tests.factories.fake_stripe.errors import invalid
from tests.factories.fake_stripe.lines import Draft, line, summed
from tests.factories.fake_stripe.periods import DAY
from tests.factories.fake_stripe.world import Obj, World

AUTOMATIC, SENT = "charge_automatically", "send_invoice"

_BLANK: Obj = {
    "object": "invoice",
    "account_country": "US",
    "account_name": "Fake",
    "account_tax_ids": None,
    "amount_due": 0,
    "amount_overpaid": 0,
    "amount_paid": 0,
    "amount_remaining": 0,
    "amount_shipping": 0,
    "application": None,
    "attempt_count": 0,
    "attempted": False,
    "auto_advance": False,
    "automatic_tax": {
        "disabled_reason": None,
        "enabled": False,
        "liability": None,
        "provider": None,
        "status": None,
    },
    "automatically_finalizes_at": None,
    "billing_reason": "manual",
    "custom_fields": None,
    "customer_shipping": None,
    "customer_tax_ids": [],
    "default_payment_method": None,
    "default_source": None,
    "description": None,
    "discounts": [],
    "effective_at": None,
    "ending_balance": None,
    "footer": None,
    "from_invoice": None,
    "hosted_invoice_url": None,
    "invoice_pdf": None,
    "issuer": {"type": "self"},
    "last_finalization_error": None,
    "latest_revision": None,
    "metadata": {},
    "next_payment_attempt": None,
    "number": None,
    "on_behalf_of": None,
    "payment_settings": {"default_mandate": None, "payment_method_options": None, "payment_method_types": None},
    "post_payment_credit_notes_amount": 0,
    "pre_payment_credit_notes_amount": 0,
    "receipt_number": None,
    "rendering": None,
    "shipping_cost": None,
    "shipping_details": None,
    "statement_descriptor": None,
    "status": "draft",
    "status_transitions": {
        "finalized_at": None,
        "marked_uncollectible_at": None,
        "paid_at": None,
        "voided_at": None,
    },
    "test_clock": None,
    "total_discount_amounts": [],
    "total_pretax_credit_amounts": [],
}
"""What a draft says before anything is known of it."""


def shaped(world: World, customer: Obj, given: Mapping[str, Any], *, ref: str) -> Obj:
    """Return a draft invoice without lines. ``given`` are fields that differ, with ``default_tax_rates`` as ids."""
    given = dict(given)
    rates = [world.find("tax_rate", rate, "default_tax_rates") for rate in given.pop("default_tax_rates", None) or ()]
    subscription = given.pop("subscription", None)
    days = given.pop("days_until_due", None)
    method = given.get("collection_method") or AUTOMATIC
    if method == AUTOMATIC and (days is not None or given.get("due_date")):
        raise invalid("You may only specify `days_until_due` or `due_date` with `send_invoice`.", "days_until_due")
    if method == SENT and days is None and not given.get("due_date"):
        raise invalid("You must pass either `days_until_due` or `due_date` with `send_invoice`.", "days_until_due")
    details = {"metadata": {}, "subscription": subscription, "subscription_proration_date": None}
    invoice: Obj = {
        **copy.deepcopy(_BLANK),
        "id": ref,
        "collection_method": method,
        "created": world.now,
        "currency": customer["currency"] or "usd",
        "customer": customer["id"],
        "customer_address": customer["address"],
        "customer_email": customer["email"],
        "customer_name": customer["name"],
        "customer_phone": customer["phone"],
        "customer_tax_exempt": customer["tax_exempt"],
        "default_tax_rates": rates,
        "due_date": world.now + days * DAY if days is not None else None,
        "livemode": world.live,
        "parent": {"quote_details": None, "subscription_details": details, "type": "subscription_details"}
        if subscription
        else None,
        "period_end": world.now,
        "period_start": world.now,
        "starting_balance": customer["balance"],
        "webhooks_delivered_at": world.now,
        **{name: value for name, value in given.items() if value is not None},
    }
    summed(invoice, ())
    return invoice


def with_lines(world: World, invoice: Obj, drafts: Sequence[Draft], ids: Sequence[str]) -> Obj:
    """Return the invoice with lines and sums. Raises ApiError for a line in another currency."""
    for draft in drafts:
        if draft.currency != invoice["currency"]:
            raise invalid(
                f"Invoice items are in {draft.currency} and the invoice in {invoice['currency']}.", "currency"
            )
    summed(invoice, [line(world, invoice, draft, ref) for draft, ref in zip(drafts, ids, strict=True)])
    return invoice


def subscription_of(invoice: Obj) -> str | None:
    """Return the subscription that an invoice is for."""
    parent = invoice["parent"]
    return parent["subscription_details"]["subscription"] if parent else None
