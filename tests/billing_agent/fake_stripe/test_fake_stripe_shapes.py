"""Every object of the fake has the fields that the SDK's version of the API has, and no others."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import stripe

from tests.billing_agent.fake_stripe.conftest import Shop
from tests.factories.fake_stripe import API_VERSION
from tests.factories.fake_stripe.world import KINDS

CLASSES = {
    kind: getattr(stripe, name)
    for kind, name in {
        "customer": "Customer",
        "payment_method": "PaymentMethod",
        "product": "Product",
        "price": "Price",
        "tax_rate": "TaxRate",
        "subscription": "Subscription",
        "subscription_item": "SubscriptionItem",
        "subscription_schedule": "SubscriptionSchedule",
        "invoice": "Invoice",
        "invoiceitem": "InvoiceItem",
        "line_item": "InvoiceLineItem",
        "invoice_payment": "InvoicePayment",
        "payment_intent": "PaymentIntent",
        "charge": "Charge",
        "refund": "Refund",
        "dispute": "Dispute",
        "credit_note": "CreditNote",
        "customer_balance_transaction": "CustomerBalanceTransaction",
        "balance_transaction": "BalanceTransaction",
        "event": "Event",
        "account": "Account",
    }.items()
}
LEFT_OUT = {"SubscriptionItem": {"plan"}, "SubscriptionSchedule.phases.items": {"plan"}}
"""Fields that the API always has and the fake does not: the older name of a price."""


def wrong_fields(obj: Any, kind: type, at: str) -> Iterator[str]:
    """Yield what an object lacks or has too much, also in what is nested in it."""
    told = {name: repr(how) for name, how in kind.__annotations__.items() if name != "OBJECT_NAME"}
    for name in obj.keys() - told.keys() - {"deleted"}:
        yield f"{at}.{name} is not in the API"
    needed = {name for name, how in told.items() if not re.search("Optional|NoneType", how)}
    for name in needed - obj.keys() - LEFT_OUT.get(at, set()):
        yield f"{at}.{name} is missing"
    for name in obj.keys() & told.keys():
        yield from _nested(obj[name], kind, told[name], f"{at}.{name}")


def _nested(value: Any, kind: type, how: str, at: str) -> Iterator[str]:
    if isinstance(value, list):
        for each in value:
            yield from _nested(each, kind, how, at)
    elif isinstance(value, dict):
        if value.get("object") == "list":
            yield from _nested(value["data"], kind, how, at)
            return
        said = value.get("object")
        known = CLASSES.get(said) if isinstance(said, str) else None
        inner = next((getattr(kind, name) for name in re.findall(r"\w+", how) if hasattr(kind, name)), None)
        if known is not None:
            yield from wrong_fields(value, known, known.__name__)
        elif inner is not None and isinstance(inner, type):
            yield from wrong_fields(value, inner, at)


def fill(shop: Shop) -> list[Any]:
    """Make one object of each kind, and return those that are only answers."""
    made = shop.subscribe(shop.team, default_tax_rates=[shop.tax])
    schedule = shop.api.subscription_schedules.create({"from_subscription": made.id})
    shop.api.subscription_schedules.release(schedule.id)
    item = {"id": made["items"].data[0].id, "quantity": 2}
    details = {"items": [item], "proration_behavior": "always_invoice"}
    preview = shop.api.invoices.create_preview({"subscription": made.id, "subscription_details": details})
    shop.api.subscriptions.update(made.id, details)
    charge = shop.charge()
    shop.api.refunds.create({"charge": charge.id, "amount": 100})
    shop.fake.dispute(charge.id)
    opened = shop.invoice(2000)
    shop.api.credit_notes.create({"invoice": opened.id, "amount": 5})
    shop.api.customers.balance_transactions.create(shop.dana, {"amount": -5, "currency": "usd"})
    shop.fake.issuer(shop.card, "lost_card")
    with pytest.raises(stripe.CardError):
        shop.api.invoices.pay(opened.id)
    return [preview.to_dict(), shop.api.accounts.retrieve_current().to_dict()]


def test_the_fake_speaks_the_version_of_the_sdk() -> None:
    assert stripe.api_version == API_VERSION


def test_every_object_has_the_fields_of_the_api_and_no_others(shop: Shop) -> None:
    answers = fill(shop)
    for kind in KINDS:
        objects = shop.fake.objects(kind)
        assert objects or kind == "subscription_item", kind
        answers += objects
    wrong = {
        words for obj in answers for words in wrong_fields(obj, CLASSES[obj["object"]], CLASSES[obj["object"]].__name__)
    }
    assert not wrong, "\n".join(sorted(wrong))
