"""The embedded system under the contract suite."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import OperationalError, connection, transaction
from django.db.models import F, Sum

from billing_agent import models
from billing_agent.connectors.embedded import EmbeddedBilling
from tests.billing_agent.contract.harness import Books, System
from tests.factories.billing import (
    NOW,
    every_row,
    make_card,
    make_case,
    make_customer,
    make_dispute,
    make_plan,
    make_subscription,
)
from tests.factories.support import make_tenant

_TABLES = {
    "customer": models.Customer,
    "invoice": models.Invoice,
    "charge": models.Charge,
    "subscription": models.Subscription,
    "plan": models.Plan,
}


class Embedded(System):
    """Rows of this program's own tables."""

    def __init__(self) -> None:
        self.billing = EmbeddedBilling()
        self.tenant = make_tenant()
        make_case(self.tenant, "case-1")

    def customer(self, name: str, *, currency: str = "USD", tax_bp: int = 1000) -> str:
        """Make a customer."""
        return make_customer(self.tenant, name.lower(), name, currency=currency, tax_bp=tax_bp).ref

    def card(self, customer: str, *, declines: str = "", default: bool = False) -> str:
        """Save a card."""
        row = self._customer(customer)
        ref = f"card-{customer}-{row.methods.count() + 1}"
        return make_card(row, ref, declines_with=declines, is_default=default).ref

    def plan(self, name: str, minor: int, *, currency: str = "USD", interval: str = "month", sold: bool = True) -> str:
        """Make a plan."""
        given = {"currency": currency, "interval": interval, "active": sold}
        return make_plan(self.tenant, name.lower(), name, minor, **given).ref

    def subscription(self, customer: str, plan: str) -> str:
        """Sell a plan."""
        sold = models.Plan.objects.get(tenant=self.tenant, ref=plan)
        return make_subscription(self._customer(customer), sold, f"sub-{customer}").ref

    def dispute(self, charge: str) -> None:
        """Take a charge back."""
        row = models.Charge.objects.get(tenant=self.tenant, ref=charge)
        with transaction.atomic():
            make_dispute(row, row.amount_minor)

    def delete(self, customer: str) -> None:
        """Delete a customer."""
        models.Customer.objects.filter(tenant=self.tenant, ref=customer).update(deleted_at=NOW)

    def touch(self, kind: str, ref: str) -> None:
        """Change a record, as any write does: its version moves."""
        assert _TABLES[kind].objects.filter(tenant=self.tenant, ref=ref).update(version=F("version") + 1) == 1

    def books(self, customer: str) -> Books:
        """Read the rows."""
        row = self._customer(customer)
        paid = row.charges.filter(status=models.Charge.Status.SUCCEEDED)
        refunds = models.Refund.objects.filter(charge__customer=row)
        issued = row.invoices.exclude(status="draft")
        owing = issued.filter(status="open")
        sums = owing.aggregate(sum=Sum(F("total_minor") - F("paid_minor") - F("credited_minor")))
        sold = row.subscriptions.order_by("ref").values_list("plan__ref", "quantity", "status")
        return Books(
            charges=row.charges.count(),
            charged=paid.aggregate(sum=Sum("amount_minor"))["sum"] or 0,
            refunds=refunds.count(),
            refunded=refunds.aggregate(sum=Sum("amount_minor"))["sum"] or 0,
            credit=row.credits.aggregate(sum=Sum("left_minor"))["sum"] or 0,
            invoices=issued.count(),
            owed=sums["sum"] or 0,
            plans=tuple(sold),
        )

    def everything(self) -> object:
        """Return all rows."""
        return every_row()

    @contextmanager
    def losing_request(self) -> Iterator[None]:
        """Let the commit not arrive."""
        with _committing(_lose):
            yield

    @contextmanager
    def losing_answer(self) -> Iterator[None]:
        """Let the commit arrive, and nobody confirm it."""
        commit = connection.commit

        def commit_and_lose() -> None:
            commit()
            _lose()

        with _committing(commit_and_lose):
            yield

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Let the database be away."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("billing_agent.connectors.reading.customer_row", lambda *_, **__: _lose())
            yield

    def _customer(self, ref: str) -> models.Customer:
        return models.Customer.objects.get(tenant=self.tenant, ref=ref)


def _lose() -> None:
    raise OperationalError("server closed the connection unexpectedly")


@contextmanager
def _committing(commit: Callable[[], None]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(connection, "commit", commit)
        yield
