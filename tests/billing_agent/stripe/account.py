"""Dana's and Erin's account at the fake Stripe, and how the connector is called about it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import stripe
from django.test import override_settings

from agentops.registry.secret import Secret
from agentops.registry.tool import CallContext, Preview, Result, ToolFailure
from agentops.tenancy.models import Tenant
from billing_agent import models
from billing_agent.connectors import billing
from billing_agent.connectors.port import Write
from billing_agent.connectors.stripe.objects import Obj
from tests.factories.billing import SESSION, make_case, make_template
from tests.factories.fake_stripe import API_VERSION, SECRET_TEST, FakeStripe, fake_stripe
from tests.factories.support import make_tenant

NOW = datetime(2026, 11, 11, 9, 0, tzinfo=UTC)
BEGAN = datetime(2026, 11, 1, tzinfo=UTC)


@dataclass
class Desk:
    """Dana has a card that pays and one that declines, and Team at $20.00 a month with 10 % tax, paid for November.

    Two more invoices: one of $22.00 is open, one of $55.00 was paid. Erin has a card and an open invoice of $7.70.
    """

    stripe: FakeStripe
    api: stripe.StripeClient
    tenant: Tenant
    secret: str = SECRET_TEST
    now: datetime = NOW
    dana: str = ""
    erin: str = ""
    rate: str = ""
    card: str = ""
    bad_card: str = ""
    team: str = ""
    business: str = ""
    yearly: str = ""
    subscription: str = ""
    open: str = ""
    paid: str = ""
    erins: str = ""

    def context(self, key: str = "", customer: str | None = None) -> CallContext:
        return CallContext(
            self.tenant.id,
            SESSION,
            "case-1",
            customer or self.dana,
            self.now,
            idempotency_key=key,
            secret=Secret("stripe_api", self.secret),
        )

    def show(self, write: Write, **context: Any) -> Preview:
        return billing().preview(self.context(**context), write)

    def act(self, write: Write, key: str, **context: Any) -> Result:
        """Preview a write and carry out what was previewed, as the gateway does."""
        shown = self.show(write, **context)
        return self.do(write, key, shown, **context)

    def do(self, write: Write, key: str, shown: Preview | None = None, **context: Any) -> Result:
        versions = {} if shown is None else dict(shown.versions)
        return billing().write(replace(self.context(key, **context), expected_versions=versions), write)

    def outcome(self, key: str) -> Result | None:
        return billing().outcome(self.context(key))

    def refused(self, write: Write) -> ToolFailure:
        with pytest.raises(ToolFailure) as raised:
            self.show(write)
        return raised.value

    def get(self, path: str, **params: Any) -> Obj:
        return self.api.raw_request("get", path, **params).data

    def post(self, path: str, **params: Any) -> Obj:
        return self.api.raw_request("post", path, **params).data

    def balance(self) -> int:
        return int(self.get(f"/v1/customers/{self.dana}")["balance"])

    def effects(self, what: str) -> int:
        return len(self.stripe.effects(what))

    def charge(self) -> str:
        """Return the charge that paid the paid invoice."""
        _, charges = billing().invoice(self.context(), self.paid)
        return charges[-1].ref

    def bill(self, customer: str, minor: int, words: str) -> str:
        """Issue an invoice of one line with the tax rate."""
        draft = self.post(
            "/v1/invoices",
            customer=customer,
            auto_advance=False,
            collection_method="charge_automatically",
            currency="usd",
            pending_invoice_items_behavior="exclude",
            default_tax_rates=[self.rate],
        )
        self.post(
            "/v1/invoiceitems", customer=customer, invoice=draft["id"], amount=minor, currency="usd", description=words
        )
        return str(self.post(f"/v1/invoices/{draft['id']}/finalize", auto_advance=False)["id"])


@contextmanager
def desk_at_stripe() -> Iterator[Desk]:
    """Run a fake with the account, and make Stripe the system of record."""
    with fake_stripe(BEGAN) as fake, override_settings(BILLING_SYSTEM="stripe", STRIPE_URL=fake.url):
        api = stripe.StripeClient(
            SECRET_TEST, stripe_version=API_VERSION, base_addresses={"api": fake.url}, max_network_retries=0
        )
        desk = Desk(fake, api, make_tenant())
        _fill(desk)
        fake.at(NOW)
        yield desk


def _fill(desk: Desk) -> None:
    desk.rate = desk.post("/v1/tax_rates", display_name="VAT", inclusive=False, percentage="10")["id"]
    desk.dana, desk.erin = (
        desk.post("/v1/customers", name=name, email=mail, metadata={"currency": "usd", "tax_rate": desk.rate})["id"]
        for name, mail in (("Dana Ruiz", "dana@example.com"), ("Erin Cole", "erin@example.com"))
    )
    desk.card = desk.stripe.card(desk.dana, default=True)
    desk.bad_card = desk.stripe.card(desk.dana, "insufficient_funds", last4="9995")
    desk.stripe.card(desk.erin, default=True)
    product = desk.post("/v1/products", name="Team")["id"]
    desk.team, desk.business = (
        desk.post(
            "/v1/prices",
            product=product,
            currency="usd",
            unit_amount=amount,
            nickname=name,
            recurring={"interval": "month"},
        )["id"]
        for name, amount in (("Team", 2000), ("Business", 5000))
    )
    desk.yearly = desk.post(
        "/v1/prices", product=product, currency="usd", unit_amount=24000, recurring={"interval": "year"}
    )["id"]
    desk.subscription = desk.post(
        "/v1/subscriptions", customer=desk.dana, items=[{"price": desk.team}], default_tax_rates=[desk.rate]
    )["id"]
    desk.open = desk.bill(desk.dana, 2000, "Set-up")
    desk.paid = desk.bill(desk.dana, 5000, "Training")
    desk.post(f"/v1/invoices/{desk.paid}/pay", payment_method=desk.card)
    desk.erins = desk.bill(desk.erin, 700, "Books")
    for ref, name in ((desk.dana, "Dana Ruiz"), (desk.erin, "Erin Cole")):
        models.Customer.objects.create(
            tenant=desk.tenant,
            ref=ref,
            name=name,
            email=f"{name.split()[0].lower()}@example.com",
            currency="USD",
            created_at=NOW - timedelta(days=400),
        )
    make_case(desk.tenant, "case-1", models.Customer.objects.get(ref=desk.dana))
    make_template(desk.tenant, "thanks")
