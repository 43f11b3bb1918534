"""What the contract suite asks of a system of record: to make the people and things of a case, and to be looked at."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from agentops.kernel.money import Money
from agentops.registry.tool import CallContext, Preview, Result
from agentops.tenancy.models import Tenant
from billing_agent.connectors.port import Billing, GenerateInvoice, Item, RetryCharge, Write
from tests.factories.billing import NOW, SESSION


@dataclass(frozen=True)
class Books:
    """What the system itself has of one customer, in minor units. ``invoices`` and ``charges`` count, ``owed`` is what
    open invoices ask for, ``plans`` are plan, quantity and status of the subscriptions."""

    charges: int
    charged: int
    refunds: int
    refunded: int
    credit: int
    invoices: int
    owed: int
    plans: tuple[tuple[str, int, str], ...]

    def since(self, before: "Books") -> dict[str, int]:
        """Return what was added to the sums, without those that stayed."""
        names = ("charges", "charged", "refunds", "refunded", "credit", "invoices", "owed")
        moved = {name: getattr(self, name) - getattr(before, name) for name in names}
        return {name: change for name, change in moved.items() if change}


class System(ABC):
    """One system of record behind the port, with a tenant of its own. Amounts are minor units."""

    billing: Billing
    tenant: Tenant
    calls: int = 0

    # -- How the port is called --

    def context(self, customer: str | None, key: str = "", **more: Any) -> CallContext:
        """Return the context of a session for that customer."""
        given = {"tenant_id": self.tenant.id, "subject_id": "case-1", "now": NOW, **more}
        return CallContext(session_id=SESSION, customer_id=customer, idempotency_key=key, **given)

    def show(self, customer: str, write: Write) -> Preview:
        """Return what a write would do."""
        return self.billing.preview(self.context(customer), write)

    def act(self, customer: str, write: Write, key: str = "") -> Result:
        """Preview a write and carry out what was previewed, as the gateway does; by a key of its own unless given."""
        self.calls += 1
        shown = self.show(customer, write)
        context = self.context(customer, key or f"key-{self.calls}")
        return self.billing.write(replace(context, expected_versions=shown.versions), write)

    def bill(self, customer: str, minor: int, currency: str = "USD", *, due_days: int = 14) -> str:
        """Make an open invoice over an amount before tax, and return its id."""
        made = self.act(customer, GenerateInvoice((Item("Set-up", 1, minor),), currency, "Set-up", due_days))
        return str(made["invoice_id"])

    def pay(self, customer: str, invoice: str, method: str) -> str:
        """Pay what is left of an invoice, and return the charge."""
        found, _ = self.billing.invoice(self.context(customer), invoice)
        return str(self.act(customer, RetryCharge(invoice, method, found.left))["charge_id"])

    def left_of(self, customer: str, invoice: str) -> Money:
        """Return what is left to pay of an invoice."""
        return self.billing.invoice(self.context(customer), invoice)[0].left

    # -- What a test is about --

    @abstractmethod
    def customer(self, name: str, *, currency: str = "USD", tax_bp: int = 1000) -> str:
        """Make a customer without cards and return their id."""

    @abstractmethod
    def card(self, customer: str, *, declines: str = "", default: bool = False) -> str:
        """Save a card that pays, or whose issuer answers ``insufficient_funds`` or ``lost_or_stolen``."""

    @abstractmethod
    def plan(self, name: str, minor: int, *, currency: str = "USD", interval: str = "month", sold: bool = True) -> str:
        """Make a plan and return its id."""

    @abstractmethod
    def subscription(self, customer: str, plan: str) -> str:
        """Sell a plan for the calendar month around NOW, which is paid. The customer has a card that pays."""

    @abstractmethod
    def dispute(self, charge: str) -> None:
        """Let the customer's bank take a charge back."""

    @abstractmethod
    def delete(self, customer: str) -> None:
        """Delete a customer."""

    @abstractmethod
    def touch(self, kind: str, ref: str) -> None:
        """Let somebody else change a ``customer``, ``invoice``, ``charge``, ``subscription`` or ``plan``."""

    # -- How it is looked at, and what goes wrong with it --

    @abstractmethod
    def books(self, customer: str) -> Books:
        """Return what the system has of a customer, read past the port."""

    @abstractmethod
    def everything(self) -> object:
        """Return all that the system holds, to compare."""

    @abstractmethod
    def losing_request(self) -> AbstractContextManager[None]:
        """Let the next write not arrive, so that nobody knows whether it did."""

    @abstractmethod
    def losing_answer(self) -> AbstractContextManager[None]:
        """Let the next write have its effect, and its answer be lost."""

    @abstractmethod
    def silent(self) -> AbstractContextManager[None]:
        """Let the system not answer at all."""
