"""The Stripe connector under the contract suite, on the fake Stripe."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import stripe
from django.test import override_settings

from agentops.registry.secret import Secret
from agentops.registry.tool import CallContext
from billing_agent import models
from billing_agent.connectors.stripe.billing import StripeBilling
from tests.billing_agent.contract.harness import Books, System
from tests.factories.billing import NOW, make_case
from tests.factories.fake_stripe import (
    AFTER,
    API_VERSION,
    BEFORE,
    CUT,
    SECRET_TEST,
    STATUS,
    FakeStripe,
    fake_stripe,
)
from tests.factories.support import make_tenant

MONTH_BEGAN = datetime(2026, 11, 1, tzinfo=UTC)
ANSWERS = {"lost_or_stolen": "lost_card"}
DECIDING = r"^POST .*/(balance_transactions|credit_notes|refunds|pay|void|finalize|subscriptions/[^/]+)$"
"""The requests by which a write has its effect; others prepare one."""


class AtStripe(System):
    """The objects of a fake account in test mode; what the house keeps of them is the connector's."""

    def __init__(self, fake: FakeStripe) -> None:
        self.begin()
        self.fake = fake
        self.api: Any = stripe.StripeClient(
            SECRET_TEST, stripe_version=API_VERSION, base_addresses={"api": fake.url}, max_network_retries=0
        ).v1

    def begin(self) -> None:
        """Put the connector behind the port, for a tenant of its own."""
        self.billing = StripeBilling()
        self.tenant = make_tenant()
        make_case(self.tenant, "case-1")

    def context(self, customer: str | None, key: str = "", **more: Any) -> CallContext:
        """Return a context with the account's key."""
        return super().context(customer, key, secret=Secret("stripe_api", SECRET_TEST), **more)

    def customer(self, name: str, *, currency: str = "USD", tax_bp: int = 1000) -> str:
        """Make a customer at Stripe, whom the house knows."""
        told = {"currency": currency.lower(), "tax_rate": self.tax_rate(tax_bp)}
        ref = str(
            self.api.customers.create({"name": name, "email": f"{name.lower()}@example.com", "metadata": told}).id
        )
        models.Customer.objects.create(
            tenant=self.tenant,
            ref=ref,
            name=name,
            email=f"{name.lower()}@example.com",
            currency=currency,
            created_at=NOW - timedelta(days=400),
        )
        return ref

    def tax_rate(self, tax_bp: int) -> str:
        """Make a tax rate."""
        asked = {"display_name": "VAT", "inclusive": False, "percentage": tax_bp / 100}
        return str(self.api.tax_rates.create(asked).id)

    def card(self, customer: str, *, declines: str = "", default: bool = False) -> str:
        """Save a card."""
        return self.fake.card(customer, ANSWERS.get(declines, declines), default=default)

    def plan(self, name: str, minor: int, *, currency: str = "USD", interval: str = "month", sold: bool = True) -> str:
        """Make a product with a price."""
        price = self.api.prices.create(
            {
                "currency": currency.lower(),
                "unit_amount": minor,
                "nickname": name,
                "recurring": {"interval": interval},
                "product_data": {"name": name},
                "active": sold,
            }
        )
        return str(price.id)

    def subscription(self, customer: str, plan: str) -> str:
        """Subscribe; the first invoice is paid by the default card."""
        rate = self.api.customers.retrieve(customer).to_dict()["metadata"]["tax_rate"]
        made = self.api.subscriptions.create(
            {
                "customer": customer,
                "items": [{"price": plan}],
                "default_tax_rates": [rate],
                "backdate_start_date": int(MONTH_BEGAN.timestamp()),
            }
        )
        assert made.status == "active"
        return str(made.id)

    def dispute(self, charge: str) -> None:
        """Take a charge back."""
        self.fake.dispute(charge)

    def delete(self, customer: str) -> None:
        """Delete a customer."""
        self.api.customers.delete(customer)

    def touch(self, kind: str, ref: str) -> None:
        """Change a record with the account's own key, as somebody in Stripe's dashboard does."""
        match kind:
            case "customer":
                self.api.customers.update(ref, {"name": "Dana Smith"})
            case "invoice":
                self.api.credit_notes.create({"invoice": ref, "amount": 1})
            case "charge":
                self.api.refunds.create({"charge": ref, "amount": 1})
            case "subscription":
                item = self.fake.objects("subscription")[0]["items"]["data"][0]["id"]
                changed = {"items": [{"id": item, "quantity": 2}], "proration_behavior": "none"}
                self.api.subscriptions.update(ref, changed)
            case "plan":
                self.api.prices.update(ref, {"nickname": "Enterprise"})
            case _:
                raise ValueError(kind)

    def books(self, customer: str) -> Books:
        """Read the fake's objects."""

        def of(kind: str) -> list[dict[str, Any]]:
            return [each for each in self.fake.objects(kind) if each["customer"] == customer]

        charges = of("charge")
        made = {each["id"] for each in charges}
        refunds = [each for each in self.fake.objects("refund") if each["charge"] in made]
        issued = [each for each in of("invoice") if each["status"] != "draft"]
        (person,) = (each for each in self.fake.objects("customer") if each["id"] == customer)
        return Books(
            charges=len(charges),
            charged=sum(each["amount"] for each in charges if each["status"] == "succeeded"),
            refunds=len(refunds),
            refunded=sum(each["amount"] for each in refunds),
            credit=max(-person.get("balance", 0), 0),
            invoices=len(issued),
            owed=sum(each["amount_remaining"] for each in issued if each["status"] == "open"),
            plans=tuple(_sold(each) for each in of("subscription")),
        )

    def everything(self) -> object:
        """Return all objects, and what the house keeps of writes."""
        kinds = self.fake.account.test.records
        objects = {kind: self.fake.objects(kind) for kind in kinds if kind != "event"}
        kept = [list(table.objects.order_by("pk").values()) for table in (models.Operation, models.StripeWrite)]
        return objects, kept

    @contextmanager
    def losing_request(self) -> Iterator[None]:
        """Let the connection end before the request that decides is carried out."""
        with self._struck(BEFORE):
            yield

    @contextmanager
    def losing_answer(self) -> Iterator[None]:
        """Let it end before the answer is sent."""
        with self._struck(AFTER):
            yield

    @contextmanager
    def _struck(self, when: str) -> Iterator[None]:
        fault = self.fake.fault(DECIDING, CUT, when=when)
        yield
        assert fault.times == 0, "no request was struck"

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Let Stripe be down."""
        self.fake.fault(".", STATUS, status=503, times=1_000)
        yield
        self.fake.script.clear()


def _sold(subscription: dict[str, Any]) -> tuple[str, int, str]:
    item = subscription["items"]["data"][0]
    status = {"canceled": "cancelled"}.get(subscription["status"], subscription["status"])
    return item["price"]["id"], item["quantity"], "paused" if subscription["pause_collection"] else status


@contextmanager
def at_stripe() -> Iterator[AtStripe]:
    """Run a fake, and let the connector speak to it."""
    with fake_stripe(NOW) as fake, override_settings(BILLING_SYSTEM="stripe", STRIPE_URL=fake.url):
        yield AtStripe(fake)
