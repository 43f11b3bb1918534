"""A shop at the fake Stripe, seen through the official SDK."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
import stripe

from tests.factories.fake_stripe import API_VERSION, SECRET_TEST, FakeStripe, fake_stripe

NOW = datetime(2026, 11, 11, 9, 0, tzinfo=UTC)


@dataclass
class Shop:
    """Dana has a card that pays, Team is $20.00 a month, and tax is 10 %."""

    fake: FakeStripe
    api: Any
    dana: str = ""
    card: str = ""
    tax: str = ""
    team: str = ""

    def client(self, secret: str, version: str = API_VERSION) -> Any:
        """Return the SDK with another key."""
        addresses: Any = {"api": self.fake.url}
        return stripe.StripeClient(secret, stripe_version=version, base_addresses=addresses, max_network_retries=0).v1

    def price(self, minor: int, interval: str = "month", currency: str = "usd") -> str:
        """Make a price of a product of its own."""
        asked = {"currency": currency, "unit_amount": minor, "product_data": {"name": f"Plan {minor}"}}
        return str(self.api.prices.create({**asked, "recurring": {"interval": interval}}).id)

    def subscribe(self, price: str, **more: Any) -> Any:
        """Subscribe from the first of the month on."""
        began = int(datetime(2026, 11, 1, tzinfo=UTC).timestamp())
        asked = {"customer": self.dana, "items": [{"price": price}], "backdate_start_date": began, **more}
        return self.api.subscriptions.create(asked)

    def invoice(self, minor: int, **more: Any) -> Any:
        """Issue an invoice of one line."""
        draft = self.api.invoices.create({"customer": self.dana, "auto_advance": False, **more})
        item = {"customer": self.dana, "invoice": draft.id, "amount": minor, "currency": draft.currency}
        self.api.invoice_items.create({**item, "description": "Set-up"})
        return self.api.invoices.finalize_invoice(draft.id)

    def charge(self, minor: int = 5000) -> Any:
        """Pay an invoice, and return its charge."""
        paid = self.api.invoices.pay(self.invoice(minor).id, {"expand": ["payments.data.payment.payment_intent"]})
        return self.api.charges.retrieve(paid.payments.data[0].payment.payment_intent.latest_charge)


@pytest.fixture
def shop() -> Iterator[Shop]:
    """The shop at the fake."""
    with fake_stripe(NOW) as fake:
        made = Shop(fake, None)
        made.api = made.client(SECRET_TEST)
        made.dana = made.api.customers.create({"name": "Dana", "email": "dana@example.com"}).id
        made.card = fake.card(made.dana, default=True)
        made.tax = made.api.tax_rates.create({"display_name": "VAT", "inclusive": False, "percentage": 10}).id
        made.team = made.price(2000)
        yield made


@pytest.fixture
def refused() -> Callable[..., stripe.StripeError]:
    """Return the error of a call that is refused."""

    def error_of(call: Callable[[], object], kind: type[stripe.StripeError] = stripe.InvalidRequestError) -> Any:
        with pytest.raises(kind) as error:
            call()
        assert type(error.value) is kind
        return error.value

    return error_of
