"""The Stripe connector on localstripe, a fake by others: how far the contract can be run there.

It keeps customers, cards, charges and refunds as Stripe does. It has no prices, drafts, payments of invoices, credit
notes, balance transactions of customers, schedules or disputes, and ignores idempotency keys, so that none of these
are tried on it.
"""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import stripe
from django.test import override_settings

from billing_agent import models
from tests.billing_agent.contract.at_stripe import AtStripe
from tests.billing_agent.contract.cast import Cast
from tests.billing_agent.contract.harness import Books
from tests.factories.fake_stripe import API_VERSION, SECRET_TEST

SECONDS = 30
SERVER = Path(__file__).with_name("localstripe_server.py")


class AtLocalStripe(AtStripe):
    """Objects of localstripe, read through its API."""

    def __init__(self, url: str) -> None:
        self.begin()
        self.api: Any = stripe.StripeClient(
            SECRET_TEST, stripe_version=API_VERSION, base_addresses={"api": url}, max_network_retries=0
        ).v1

    def tax_rate(self, tax_bp: int) -> str:
        """Name no tax rate: nothing is billed here."""
        return ""

    def charged(self, customer: str, minor: int, currency: str = "usd") -> str:
        """Take an amount from a card that pays, and return the charge."""
        card = {
            "type": "card",
            "card": {"number": "4242424242424242", "exp_month": 8, "exp_year": 2034, "cvc": 123},
        }
        method = self.api.payment_methods.create(card)
        self.api.payment_methods.attach(method.id, {"customer": customer})
        asked: Any = {"amount": minor, "currency": currency, "customer": customer}
        paid = self.api.payment_intents.create({**asked, "payment_method": method.id, "confirm": True})
        # Expanded always, where the API has an id.
        return str(paid.to_dict()["latest_charge"]["id"])

    def books(self, customer: str) -> Books:
        """Read charges and refunds; the rest is not kept here."""
        charges = self.api.charges.list({"customer": customer, "limit": 100}).data
        refunds = [each for charge in charges for each in self.api.refunds.list({"charge": charge.id}).data]
        taken = sum(each.amount for each in charges if each.status == "succeeded")
        given = sum(each.amount for each in refunds)
        return Books(len(charges), taken, len(refunds), given, 0, 0, 0, ())

    def everything(self) -> object:
        """Return all charges and refunds, and what the house keeps of writes."""
        found = [self.api.charges.list({"limit": 100}), self.api.refunds.list({"limit": 100})]
        objects = [each.to_dict() for listed in found for each in listed.data]
        kept = [list(table.objects.order_by("pk").values()) for table in (models.Operation, models.StripeWrite)]
        return objects, kept


def make_cast(system: AtLocalStripe) -> Cast:
    """Make Dana with a charge of $55.00, and Erin; what localstripe does not have is nothing that was ever made."""
    dana, erin = system.customer("Dana"), system.customer("Erin")
    charge = system.charged(dana, 5500)
    never = "in_never"
    return Cast(system, dana, erin, never, never, never, never, never, never, never, charge)


@contextmanager
def at_localstripe() -> Iterator[AtLocalStripe]:
    """Run localstripe as a process of its own, and let the connector speak to it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with subprocess.Popen([sys.executable, str(SERVER), str(port)], stderr=subprocess.DEVNULL) as process:
        try:
            _await(port, process)
            with override_settings(BILLING_SYSTEM="stripe", STRIPE_URL=url):
                yield AtLocalStripe(url)
        finally:
            process.kill()


def _await(port: int, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            assert process.poll() is None, "localstripe ended while it was starting"
            assert time.monotonic() < until, f"localstripe did not start within {SECONDS} seconds"
            time.sleep(0.05)
        else:
            return
