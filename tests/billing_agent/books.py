"""A billing system in memory: carries an effect out on records and on a running book, and knows what must hold."""

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from typing import Any

from agentops.kernel.money import Money
from billing_agent.connectors.charge_rules import plan_refund, plan_retry
from billing_agent.connectors.credit_rules import plan_credit, plan_reversal
from billing_agent.connectors.dispute_rules import Told, plan_told
from billing_agent.connectors.effect import Effect, NewCharge, NewCredit, NewInvoice, NewRefund, Posted, Snapshot
from billing_agent.connectors.invoice_rules import plan_invoice, plan_void, plan_write_off
from billing_agent.connectors.port import (
    ApplyCredit,
    GenerateInvoice,
    MoneyWrite,
    RefundCharge,
    RetryCharge,
    ReverseCredit,
    VoidInvoice,
    WriteOffInvoice,
)
from billing_agent.connectors.records import (
    OPEN_DISPUTES,
    Charge,
    ChargeStatus,
    Credit,
    Customer,
    Dispute,
    DisputeStatus,
    Invoice,
    InvoiceStatus,
    Refund,
)
from tests.billing_agent.examples import ADA, NOW

PLANS: dict[type, Callable[[Snapshot, Any], Effect]] = {
    ApplyCredit: plan_credit,
    ReverseCredit: plan_reversal,
    RetryCharge: plan_retry,
    RefundCharge: plan_refund,
    GenerateInvoice: plan_invoice,
    VoidInvoice: plan_void,
    WriteOffInvoice: plan_write_off,
}
CLOSED = frozenset({InvoiceStatus.PAID, InvoiceStatus.VOID, InvoiceStatus.UNCOLLECTIBLE})
HELD = OPEN_DISPUTES | {DisputeStatus.LOST}


@dataclass
class Books:
    """The records of one customer, by id in the order in which they were made, and the entries of the book."""

    customer: Customer = ADA
    now: datetime = NOW
    closed_through: date | None = None
    invoices: dict[str, Invoice] = field(default_factory=dict)
    charges: dict[str, Charge] = field(default_factory=dict)
    credits: dict[str, Credit] = field(default_factory=dict)
    entries: list[Posted] = field(default_factory=list)
    operations: int = 0

    def snapshot(self, write: MoneyWrite) -> Snapshot:
        """Return what the write is about, as a system of record reads it."""
        charge = self.charges.get(getattr(write, "charge_ref", ""))
        invoice_ref = getattr(write, "invoice_ref", "") if charge is None else charge.invoice_ref
        return Snapshot(
            now=self.now,
            key=f"operation {self.operations}",
            customer=self.customer,
            invoice=self.invoices.get(invoice_ref),
            charge=charge,
            attempts=tuple(each for each in self.charges.values() if each.invoice_ref == invoice_ref),
            credit=self.credits.get(getattr(write, "credit_ref", "")),
            credits=tuple(credit for credit in self.credits.values() if credit.left_minor),
            closed_through=self.closed_through,
        )

    def plan(self, write: MoneyWrite) -> Effect:
        """Return what the write comes to. Raises ToolFailure when it is refused."""
        return PLANS[type(write)](self.snapshot(write), write)

    def carry_out(self, write: MoneyWrite) -> Effect:
        """Do it, an hour after what was done before. Raises ToolFailure and does nothing when it is refused."""
        snapshot, effect = self.snapshot(write), self.plan(write)
        if effect.invoice:
            assert snapshot.invoice is not None
            assert snapshot.invoice.status not in CLOSED, "a closed invoice never changes"
            changed = dict(effect.invoice)
            if "status" in changed:
                changed["status"] = InvoiceStatus(changed["status"])
            self.invoices[snapshot.invoice.ref] = replace(snapshot.invoice, **changed)
        for ref, left in effect.credits.items():
            self.credits[ref] = replace(self.credits[ref], left_minor=left)
        if effect.reverses_credit:
            assert snapshot.credit is not None
            self.credits[snapshot.credit.ref] = replace(snapshot.credit, left_minor=0, reversed_at=self.now)
        self._make(effect)
        self.entries += effect.entries
        self.operations += 1
        self.now += timedelta(hours=1)
        return effect

    def _make(self, effect: Effect) -> None:
        if effect.new_invoice is not None:
            self.invoices[effect.new_invoice.ref] = self._issued(effect.new_invoice)
        if effect.new_charge is not None:
            self.charges[effect.new_charge.ref] = self._charged(effect.new_charge)
        if effect.new_refund is not None:
            assert effect.refunded_minor is not None
            self._refund(effect.new_refund, effect.refunded_minor)
        if effect.new_credit is not None:
            self.credits[effect.new_credit.ref] = self._credited(effect.new_credit)

    def _issued(self, new: NewInvoice) -> Invoice:
        return Invoice(
            ref=new.ref,
            number=f"INV-{len(self.invoices) + 1:06}",
            customer_ref=self.customer.ref,
            subscription_ref=new.subscription_ref,
            status=new.status,
            currency=new.currency,
            memo=new.memo,
            lines=new.lines,
            subtotal_minor=new.subtotal_minor,
            tax_minor=new.tax_minor,
            total_minor=new.total_minor,
            paid_minor=0,
            credited_minor=new.credited_minor,
            created_at=self.now,
            issued_at=self.now,
            due_at=new.due_at,
            closed_at=self.now if new.status is InvoiceStatus.PAID else None,
            attempts=0,
            next_attempt_at=None,
            version=1,
        )

    def _charged(self, new: NewCharge) -> Charge:
        status = ChargeStatus.FAILED if new.decline_code else ChargeStatus.SUCCEEDED
        amount = Money(new.amount_minor, new.currency)
        return Charge(new.ref, new.invoice_ref, new.method_ref, amount, status, new.decline_code, 0, self.now)

    def _refund(self, new: NewRefund, refunded_minor: int) -> None:
        charge = self.charges[new.charge_ref]
        made = Refund(new.ref, Money(new.amount_minor, new.currency), new.reason, self.now)
        self.charges[charge.ref] = replace(charge, refunded_minor=refunded_minor, refunds=(*charge.refunds, made))

    def _credited(self, new: NewCredit) -> Credit:
        amount = Money(new.amount_minor, new.currency)
        return Credit(new.ref, amount, new.left_minor, new.reason, self.now, None, 1)

    def dispute(self, charge_ref: str) -> None:
        """Let the customer's bank take back what is left of a charge."""
        charge = self.charges[charge_ref]
        if charge.refundable.minor:
            ref = f"dp_{charge_ref}_{len(charge.disputes)}"
            waits = DisputeStatus.NEEDS_RESPONSE
            told = Told(ref, charge_ref, charge.refundable, "fraudulent", waits, self.now, self.now)
            self._hear(told, None)
            made = Dispute(ref, charge_ref, told.amount, told.reason, waits, self.now, None, self.now)
            self.charges[charge_ref] = replace(charge, disputes=(*charge.disputes, made))

    def decide(self, charge_ref: str, status: DisputeStatus) -> None:
        """Let the bank decide the disputes of a charge that are open: WON or LOST. It says so twice."""
        charge = self.charges[charge_ref]
        for dispute in charge.disputes:
            told = Told(dispute.ref, charge_ref, dispute.amount, dispute.reason, status, dispute.opened_at, self.now)
            if dispute.status in OPEN_DISPUTES:
                self._hear(told, dispute)
                assert not plan_told(charge, replace(dispute, status=status), told).fields
        decided = tuple(
            replace(each, status=status) if each.status in OPEN_DISPUTES else each for each in charge.disputes
        )
        self.charges[charge_ref] = replace(charge, disputes=decided)

    def _hear(self, told: Told, known: Dispute | None) -> None:
        self.entries += plan_told(self.charges[told.charge_ref], known, told).entries

    def grow_old(self, invoice_ref: str) -> None:
        """Let the day pass on which an open invoice should have been paid."""
        invoice = self.invoices[invoice_ref]
        if invoice.status is InvoiceStatus.OPEN:
            self.invoices[invoice_ref] = replace(invoice, due_at=self.now)

    @property
    def balances(self) -> dict[str, int]:
        """The sum of each account that is not zero."""
        sums: Counter[str] = Counter()
        for entry in self.entries:
            for account, minor in entry.postings.items():
                sums[account] += minor
        return {account: minor for account, minor in sums.items() if minor}

    def check(self) -> None:
        """Fail when anything does not hold that must hold at any time, in the book or in the tables."""
        for entry in self.entries:
            assert sum(entry.postings.values()) == 0, f"the lines of {entry} sum to zero"
            assert all(entry.postings.values()), f"the lines of {entry} move something"
            assert len(entry.postings) >= 2
            assert entry.currency == self.customer.currency
        assert self.balances.get("receivable", 0) == sum(each.left.minor for each in self.invoices.values())
        assert self.balances.get("customer_credit", 0) == -sum(each.left_minor for each in self.credits.values())
        assert self.balances.get("cash", 0) == sum(map(_kept, self.charges.values()))
        assert sum(self.balances.values()) == 0
        assert self.balances.get("tax", 0) <= 0
        _check_invoices(self.invoices.values())
        for charge in self.charges.values():
            assert 0 <= charge.refunded_minor <= charge.amount.minor
            assert charge.refunded_minor == sum(each.amount.minor for each in charge.refunds)
            assert _kept(charge) >= 0
        for credit in self.credits.values():
            assert 0 <= credit.left_minor <= credit.amount.minor
            assert credit.reversed_at is None or credit.left_minor == 0


def _kept(charge: Charge) -> int:
    """Return what a charge took and neither a refund nor a dispute has taken back."""
    taken = charge.amount.minor if charge.status is ChargeStatus.SUCCEEDED else 0
    return taken - charge.refunded_minor - sum(each.amount.minor for each in charge.disputes if each.status in HELD)


def _check_invoices(invoices: Iterable[Invoice]) -> None:
    for invoice in invoices:
        settled = invoice.paid_minor + invoice.credited_minor
        assert min(invoice.paid_minor, invoice.credited_minor) >= 0
        assert settled <= invoice.total_minor == invoice.subtotal_minor + invoice.tax_minor
        assert (invoice.status is InvoiceStatus.PAID) == (settled == invoice.total_minor)
        assert (invoice.closed_at is not None) == (invoice.status in CLOSED)
        assert invoice.status is InvoiceStatus.OPEN or invoice.next_attempt_at is None
