"""Invoices that subscriptions make: https://docs.stripe.com/billing/invoices/subscription."""

from collections.abc import Sequence

from tests.factories.fake_stripe import collecting
from tests.factories.fake_stripe.errors import ApiError
from tests.factories.fake_stripe.invoice_items import pending
from tests.factories.fake_stripe.invoice_shape import AUTOMATIC, shaped
from tests.factories.fake_stripe.invoices import take
from tests.factories.fake_stripe.lines import Draft
from tests.factories.fake_stripe.world import Obj, World


def wait(world: World, subscription: Obj, drafts: Sequence[Draft]) -> None:
    """Keep prorations as items for the next invoice."""
    for draft in drafts:
        kept = world.add(
            {
                "id": world.new_id("ii"),
                "object": "invoiceitem",
                "amount": draft.amount,
                "currency": draft.currency,
                "customer": subscription["customer"],
                "date": world.now,
                "description": draft.description,
                "discountable": False,
                "discounts": [],
                "invoice": None,
                "livemode": world.live,
                "metadata": {},
                "net_amount": draft.amount,
                "parent": {
                    "subscription_details": {
                        "subscription": subscription["id"],
                        "subscription_item": draft.subscription_item,
                    },
                    "type": "subscription_details",
                },
                "period": {"start": draft.start, "end": draft.end},
                "pricing": None,
                "proration": draft.proration,
                "proration_details": None,
                "quantity": draft.quantity,
                "quantity_decimal": str(draft.quantity),
                "tax_rates": [world.find("tax_rate", rate) for rate in draft.rates],
                "test_clock": None,
                "_price": draft.price,
                "_subscription": subscription["id"],
                "_subscription_item": draft.subscription_item,
            }
        )
        world.effect("invoiceitem.created", kept)


def drafted(world: World, subscription: Obj, reason: str, billed: Sequence[Draft]) -> Obj:
    """Make the draft of a subscription's invoice, with what waits for it."""
    customer = world.find("customer", subscription["customer"])
    given = {
        "billing_reason": reason,
        "auto_advance": True,
        "collection_method": subscription["collection_method"],
        "currency": subscription["currency"],
        "days_until_due": subscription["days_until_due"],
        "default_payment_method": subscription["default_payment_method"],
        "default_tax_rates": [rate["id"] for rate in subscription["default_tax_rates"]],
        "subscription": subscription["id"],
        "metadata": {},
    }
    invoice = world.add(shaped(world, customer, given, ref=world.new_id("in")))
    invoice["parent"]["subscription_details"]["metadata"] = dict(subscription["metadata"])
    items = pending(world, customer["id"], invoice["currency"], subscription["id"])
    take(world, invoice, items, billed)
    world.effect("invoice.created", invoice)
    return invoice


def bill(
    world: World, subscription: Obj, reason: str, billed: Sequence[Draft], *, collect: bool = True
) -> ApiError | None:
    """Make a subscription's invoice, make it final and try to collect it. Returns the issuer's refusal."""
    invoice = drafted(world, subscription, reason, billed)
    before, subscription["latest_invoice"] = subscription["latest_invoice"], invoice["id"]
    collecting.finalize(world, invoice)
    world.effect("customer.subscription.updated", subscription, {"latest_invoice": before})
    if not collect or invoice["status"] != "open" or invoice["collection_method"] != AUTOMATIC:
        return None
    try:
        method = collecting.method_of(world, invoice)
    except ApiError as error:
        return error
    return collecting.collect(world, invoice, method)


def paused(world: World, subscription: Obj, billed: Sequence[Draft]) -> None:
    """Make the invoice of a period in which collecting is paused, as the behaviour says."""
    invoice = drafted(world, subscription, "subscription_cycle", billed)
    subscription["latest_invoice"] = invoice["id"]
    invoice["auto_advance"] = False
    behavior = subscription["pause_collection"]["behavior"]
    if behavior == "keep_as_draft":
        return
    collecting.finalize(world, invoice, auto_advance=False)
    if invoice["status"] != "open":
        return
    if behavior == "void":
        collecting.void(world, invoice)
    else:
        collecting.give_up(world, invoice)
