"""Reads a customer's records from Stripe; what is somebody else's does not exist.

Every list has a bound. Whose each record is that was told goes into the house's index, which answers before a call
has a key.
"""

from dataclasses import replace
from datetime import datetime
from functools import cached_property

from billing_agent import models
from billing_agent.connectors import reading as house
from billing_agent.connectors.effect import nobody
from billing_agent.connectors.records import (
    OPEN_DISPUTES,
    Charge,
    Credit,
    Customer,
    Dispute,
    Invoice,
    Plan,
    Subscription,
)
from billing_agent.connectors.stripe.amounts import minor
from billing_agent.connectors.stripe.charges import charge_of, dispute_of
from billing_agent.connectors.stripe.credits import Balance, balance_of, credit_of_note
from billing_agent.connectors.stripe.customers import TAX_RATE, customer_of
from billing_agent.connectors.stripe.door import Account
from billing_agent.connectors.stripe.invoices import invoice_of
from billing_agent.connectors.stripe.objects import Obj, metadata_of, path_of, ref_of
from billing_agent.connectors.stripe.owners import Owners
from billing_agent.connectors.stripe.subscriptions import is_plan, items_of, next_price, plan_of, subscription_of

MOST_METHODS = 100
MOST_ENTRIES = 1_000
MOST_LINES = 250
MOST_ATTEMPTS = 100
MOST_INVOICES = 300
MOST_CHARGES = 1_000
MOST_PRICES = 500


class Reader:
    """One customer's records during one call. What was read is kept for as long as the call takes."""

    def __init__(self, account: Account, row: models.Customer, now: datetime) -> None:
        self.account = account
        self.row = row
        self.now = now
        self.owners = Owners(row.tenant_id, row.ref)
        self._products: dict[str, Obj | None] = {}

    # -- The customer and their credit --

    @cached_property
    def raw_customer(self) -> Obj:
        """The customer as Stripe tells of them. Raises ToolFailure NOT_FOUND."""
        found = self.account.one(path_of("customers", self.row.ref))
        if found is None:
            raise nobody()
        return found

    @cached_property
    def customer(self) -> Customer:
        """The customer with their methods. One who was deleted is told as the house last knew them."""
        if self.raw_customer.get("deleted"):
            if self.row.deleted_at is None:
                models.Customer.objects.filter(pk=self.row.pk, deleted_at=None).update(deleted_at=self.now)
                self.row.refresh_from_db(fields=["deleted_at"])
            return replace(house.customer_record(self.row), methods=())
        methods = self.account.listed(path_of("customers", self.row.ref, "payment_methods"), MOST_METHODS)
        self.owners.saw("method", [each["id"] for each in methods])
        found = customer_of(self.raw_customer, methods, self._tax_rate())
        return replace(found, currency=found.currency or self.row.currency)

    def _tax_rate(self) -> Obj | None:
        named = metadata_of(self.raw_customer).get(TAX_RATE, "")
        return self.account.one(path_of("tax_rates", named)) if named else None

    @cached_property
    def balance(self) -> Balance:
        """The customer's credits, read back to where nothing is left of them."""
        if self.raw_customer.get("deleted"):
            return Balance(())
        entries = self.account.listed(path_of("customers", self.row.ref, "balance_transactions"), MOST_ENTRIES)
        found = balance_of(self.raw_customer.get("balance") or 0, self.customer.currency, entries)
        self.owners.saw("credit", [credit.ref for credit in found.credits])
        return found

    def credit(self, ref: str) -> Credit | None:
        """Return a credit, used up or not."""
        if not ref.startswith("cn_"):
            return self.balance.credit(ref)
        note = self._own(self.account.one(path_of("credit_notes", ref)))
        return None if note is None else credit_of_note(note)

    # -- Plans and subscriptions --

    def plan(self, ref: str) -> Plan | None:
        """Return a plan, sold or not."""
        price = self.account.one(path_of("prices", ref), expand=["product"])
        return None if price is None else self._plan_of(price)

    def plans(self, currency: str) -> list[Plan]:
        """Return the plans that are sold in a currency, the cheapest first."""
        asked = {"active": True, "type": "recurring", "currency": currency.lower(), "expand": ["data.product"]}
        found = [
            self._plan_of(each)
            for each in self.account.listed(path_of("prices"), MOST_PRICES, **asked)
            if is_plan(each)
        ]
        return sorted((plan for plan in found if plan.active), key=lambda plan: (plan.price.minor, plan.ref))

    def _plan_of(self, price: Obj) -> Plan:
        product = price.get("product")
        if isinstance(product, str):
            if product not in self._products:
                self._products[product] = self.account.one(path_of("products", product))
            product = self._products[product]
        return plan_of(price, product)

    def raw_subscription(self, ref: str) -> Obj | None:
        """Return a subscription of the customer as Stripe tells of it, with its schedule."""
        return self._own(self.account.one(path_of("subscriptions", ref), expand=["schedule"]))

    def subscription(self, ref: str) -> Subscription | None:
        """Return a subscription of the customer."""
        found = self.raw_subscription(ref)
        return None if found is None else self.subscription_of(found)

    def subscriptions(self, most: int) -> list[Subscription]:
        """Return the customer's subscriptions, the oldest first."""
        asked = {"customer": self.row.ref, "status": "all", "expand": ["data.schedule"]}
        found = self.account.listed(path_of("subscriptions"), most, **asked)
        return [self.subscription_of(each) for each in reversed(found)]

    def subscription_of(self, obj: Obj) -> Subscription:
        """Return what Stripe tells as a record with its plans."""
        self.owners.saw("subscription", [obj["id"]])
        coming = next_price(obj)
        return subscription_of(obj, self._plan_of(items_of(obj)[0]["price"]), self.plan(coming) if coming else None)

    # -- Invoices and charges --

    def raw_invoice(self, ref: str) -> Obj | None:
        """Return an invoice of the customer by id, or by number among the latest ones."""
        found = self._own(self.account.one(path_of("invoices", ref))) if ref.startswith("in_") else None
        if found is not None:
            return found
        listed = self.account.listed(path_of("invoices"), MOST_INVOICES, customer=self.row.ref)
        return next((each for each in listed if each.get("number") == ref), None)

    def invoice(self, ref: str) -> Invoice | None:
        """Return an invoice of the customer by id or number, with all of its lines."""
        found = self.raw_invoice(ref)
        return None if found is None else self.invoice_of(found)

    def invoices(self, most: int, **asked: str) -> list[Invoice]:
        """Return the customer's latest invoices, the newest first."""
        found = self.account.listed(path_of("invoices"), most, customer=self.row.ref, **asked)
        return [self.invoice_of(each) for each in found]

    def invoice_of(self, obj: Obj) -> Invoice:
        """Return what Stripe tells as a record with its lines."""
        self.owners.saw("invoice", [obj["id"], obj.get("number") or ""])
        lines = obj["lines"]["data"]
        if obj["lines"].get("has_more"):
            lines = self.account.listed(path_of("invoices", obj["id"], "lines"), MOST_LINES)
        return invoice_of(obj, lines)

    def intents(self, invoice_ref: str) -> list[str]:
        """Return the payment intents by which an invoice was or is to be paid, the oldest first."""
        found = self.account.listed(path_of("invoice_payments"), MOST_ATTEMPTS, invoice=invoice_ref)
        refs = [ref_of((each.get("payment") or {}).get("payment_intent")) for each in reversed(found)]
        return [ref for ref in refs if ref]

    def attempts(self, invoice_ref: str) -> list[Charge]:
        """Return the attempts to charge an invoice, the first one first."""
        found = [
            each
            for intent in self.intents(invoice_ref)
            for each in self.account.listed(path_of("charges"), MOST_ATTEMPTS, payment_intent=intent)
        ]
        return [
            self.charge_of(each, invoice_ref) for each in sorted(found, key=lambda each: (each["created"], each["id"]))
        ]

    def charge(self, ref: str) -> Charge | None:
        """Return a charge of the customer, with the invoice that it was for."""
        found = self._own(self.account.one(path_of("charges", ref)))
        return None if found is None else self.charge_of(found, self._invoice_ref(found))

    def charge_of(self, obj: Obj, invoice_ref: str) -> Charge:
        """Return what Stripe tells as a record with refunds and disputes."""
        self.owners.saw("charge", [obj["id"]])
        refunds = self._of_charge("refunds", obj) if obj["amount_refunded"] else ()
        return charge_of(obj, invoice_ref, refunds, self._of_charge("disputes", obj) if obj["disputed"] else ())

    def _of_charge(self, kind: str, charge: Obj) -> list[Obj]:
        return self.account.listed(path_of(kind), MOST_ATTEMPTS, charge=charge["id"])

    def _invoice_ref(self, charge: Obj) -> str:
        intent = ref_of(charge.get("payment_intent"))
        if not intent:
            return ""
        asked = {"payment": {"type": "payment_intent", "payment_intent": intent}}
        found = self.account.listed(path_of("invoice_payments"), 1, **asked)
        return ref_of(found[0]["invoice"]) if found else ""

    def taken(self) -> tuple[int, list[Dispute]]:
        """Return what charges took less what went back, in the customer's currency, and the disputes that are open."""
        found = self.account.listed(path_of("charges"), MOST_CHARGES, customer=self.row.ref)
        self.owners.saw("charge", [each["id"] for each in found])
        currency = self.customer.currency
        paid = sum(
            minor(each["amount"] - each["amount_refunded"], currency)
            for each in found
            if each["status"] == "succeeded" and each["currency"].upper() == currency
        )
        disputes = [
            dispute_of(dispute)
            for each in reversed(found)
            if each["disputed"]
            for dispute in reversed(self._of_charge("disputes", each))
        ]
        return paid, [dispute for dispute in disputes if dispute.status in OPEN_DISPUTES]

    def _own(self, obj: Obj | None) -> Obj | None:
        """Return an object that is the customer's, None for one of somebody else."""
        return obj if obj is not None and ref_of(obj.get("customer")) == self.row.ref else None
