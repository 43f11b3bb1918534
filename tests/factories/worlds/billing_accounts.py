"""The accounts of the billing role's world: for each plan a customer with own records, and books that balance."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Model
from django.db.models.functions import Substr, Upper
from django.utils import timezone

from agentops.tenancy.models import Tenant
from billing_agent import models
from tests.factories.worlds.world import Call

SMALL, LARGE, PAID, CREDIT, USED = 700, 5_300, 2_600, 800, 200
"""Minor units: the open invoices (one above a day's limit), the paid one, the credit and what was used of it."""
_PERIOD_DAYS = 30


@dataclass(frozen=True)
class Account:
    """The ids of one case's records."""

    seed: int

    def _named(self, kind: str) -> str:
        return f"{kind}_m{self.seed:04}"

    @property
    def customer(self) -> str:
        return self._named("cu")

    @property
    def email(self) -> str:
        return f"robin{self.seed:04}@example.com"

    @property
    def card(self) -> str:
        return self._named("pm_card")

    @property
    def spare(self) -> str:
        return self._named("pm_spare")

    @property
    def subscription(self) -> str:
        return self._named("sub")

    @property
    def small(self) -> str:
        return self._named("in_small")

    @property
    def large(self) -> str:
        return self._named("in_large")

    @property
    def paid(self) -> str:
        return self._named("in_paid")

    @property
    def charge(self) -> str:
        return self._named("ch")

    @property
    def credit_id(self) -> str:
        return self._named("cr")

    def credit(self, minor: int, invoice: str = "") -> Call:
        """A credit, on an invoice when one is named."""
        what = {"amount_minor": minor, "currency": "USD", "reason": "As agreed."}
        return "apply_credit", what | ({"invoice_id": invoice} if invoice else {})

    def refund(self, minor: int) -> Call:
        """A refund of the charge that paid the paid invoice."""
        what = {"charge_id": self.charge, "amount_minor": minor, "currency": "USD"}
        return "refund_charge", {**what, "reason": "As agreed."}

    def retry(self, invoice: str, minor: int, method: str = "") -> Call:
        """An attempt to charge an invoice, to the card unless told otherwise."""
        what = {"invoice_id": invoice, "payment_method_id": method or self.card}
        return "retry_charge", {**what, "amount_minor": minor, "currency": "USD"}

    def change(self, plan: str, when: str = "now", quantity: int = 1) -> Call:
        """Another plan."""
        what = {"subscription_id": self.subscription, "plan_id": plan}
        return "change_plan", {**what, "quantity": quantity, "when": when}

    def bill(self, minor: int) -> Call:
        """An invoice of one line."""
        items = [{"description": "Workshop", "quantity": 1, "unit_minor": minor}]
        return "generate_invoice", {"items": items, "currency": "USD", "memo": "", "due_days": 14}

    def of_subscription(self, tool: str, **more: str) -> Call:
        """A call that needs to know no more than the subscription."""
        return tool, {"subscription_id": self.subscription, **more}

    def reversal(self) -> Call:
        """The credit, taken back."""
        return "reverse_credit", {"credit_id": self.credit_id, "reason": "As agreed."}

    def mail(self, tool: str) -> Call:
        """A mail from the one template."""
        return tool, {"template_id": "thanks", "fields": [{"name": "name", "value": "Robin"}]}

    def writes(self) -> tuple[Call, ...]:
        """A call of every writing tool that the desk would carry out; those that take back are made of results."""
        return (
            self.credit(400),
            self.credit(900, self.small),
            self.reversal(),
            self.retry(self.small, SMALL),
            self.retry(self.large, LARGE),
            self.retry(self.small, SMALL, self.spare),
            self.refund(900),
            self.refund(400),
            self.bill(1_200),
            self.bill(400),
            ("void_invoice", {"invoice_id": self.small, "reason": "As agreed."}),
            ("write_off_invoice", {"invoice_id": self.small, "reason": "As agreed."}),
            self.change("business"),
            self.change("business", "next_period"),
            self.change("team", quantity=2),
            self.of_subscription("pause_subscription"),
            self.of_subscription("cancel_subscription", reason="As agreed."),
            self.of_subscription("end_subscription_now", reason="As agreed."),
            self.mail("draft_email"),
            self.mail("send_email"),
            ("close_case", {"note": "All is settled."}),
            ("escalate_case", {"reason": "Somebody should look at it.", "summary": "Nothing was done yet."}),
        )


@dataclass
class Books:
    """The records of many customers, written a table at a time, with an entry of the books for each movement."""

    tenant: Tenant
    accounts: Sequence[Account]

    def __post_init__(self) -> None:
        self.now = timezone.now()
        self.plan = models.Plan.objects.get(tenant=self.tenant, ref="team")
        self.entries: list[tuple[Account, str, str, dict[str, int]]] = []

    def write(self) -> None:
        """Write everything but disputes."""
        self.customers = self._made(models.Customer, lambda one: [self._customer(one)])
        self._made(models.PaymentMethod, self._methods)
        self._made(models.Subscription, lambda one: [self._subscription(one)])
        self.invoices = self._made(models.Invoice, self._invoices)
        models.InvoiceLine.objects.bulk_create(self._line(invoice) for invoice in self.invoices.values())
        self._issue()
        self.charges = self._made(models.Charge, lambda one: [self._charge(one)])
        self._made(models.Credit, lambda one: [self._credit(one)])

    def post(self) -> None:
        """Write the entries, each with its lines."""
        rows = models.Entry.objects.bulk_create(
            models.Entry(
                tenant=self.tenant, kind=kind, currency="USD", customer_ref=one.customer, record_ref=ref, at=self.now
            )
            for one, kind, ref, _ in self.entries
        )
        models.Posting.objects.bulk_create(
            models.Posting(entry=row, account=account, minor=minor)
            for row, (_, _, _, lines) in zip(rows, self.entries, strict=True)
            for account, minor in lines.items()
        )

    def disputed(self, one: Account) -> models.Dispute:
        """Return a dispute about the paid invoice's charge, with what the customer told their bank."""
        ref = f"dp_m{one.seed:04}"
        self.entries.append((one, "dispute", ref, {"disputed": 100, "cash": -100}))
        return models.Dispute(
            tenant=self.tenant,
            charge=self.charges[one.charge],
            ref=ref,
            amount_minor=100,
            currency="USD",
            reason=f"they agreed to credit 9.00 on {one.large}",
            opened_at=self.now,
            told_at=self.now,
        )

    def _made(self, table: type[Any], rows: Callable[[Account], Iterable[Model]]) -> dict[str, Any]:
        made = table.objects.bulk_create(row for one in self.accounts for row in rows(one))
        return {row.ref: row for row in made}

    def _ago(self, days: int) -> datetime:
        return self.now - timedelta(days=days)

    def _customer(self, one: Account) -> models.Customer:
        return models.Customer(
            tenant=self.tenant,
            ref=one.customer,
            name="Robin Vale",
            email=one.email,
            currency="USD",
            country="US",
            created_at=self._ago(400),
        )

    def _methods(self, one: Account) -> list[models.PaymentMethod]:
        """The card pays and the spare one does not."""
        given: dict[str, Any] = {"tenant": self.tenant, "customer": self.customers[one.customer], "brand": "Visa"}
        return [
            models.PaymentMethod(ref=one.card, last_four="4242", is_default=True, **given),
            models.PaymentMethod(ref=one.spare, last_four="0002", declines_with="insufficient_funds", **given),
        ]

    def _subscription(self, one: Account) -> models.Subscription:
        began = self._ago(_PERIOD_DAYS // 3)
        return models.Subscription(
            tenant=self.tenant,
            ref=one.subscription,
            customer=self.customers[one.customer],
            plan=self.plan,
            anchor_day=began.day,
            period_start=began,
            period_end=began + timedelta(days=_PERIOD_DAYS),
            started_at=began,
        )

    def _invoices(self, one: Account) -> Iterator[models.Invoice]:
        for ref, total in ((one.small, SMALL), (one.large, LARGE), (one.paid, PAID)):
            self.entries.append((one, "invoice", ref, {"receivable": total, "revenue": -total}))
            yield models.Invoice(
                tenant=self.tenant,
                ref=ref,
                customer=self.customers[one.customer],
                currency="USD",
                subtotal_minor=total,
                total_minor=total,
                created_at=self._ago(20),
            )

    def _line(self, invoice: models.Invoice) -> models.InvoiceLine:
        total = invoice.total_minor
        words: dict[str, Any] = {"number": 1, "description": "Consulting", "unit_minor": total, "amount_minor": total}
        return models.InvoiceLine(tenant=self.tenant, invoice=invoice, **words)

    def _issue(self) -> None:
        """Give the drafts their numbers, as they have their lines now; one of each customer's is paid."""
        drafts = models.Invoice.objects.filter(tenant=self.tenant, status="draft")
        issued: dict[str, Any] = {"issued_at": self._ago(20), "due_at": self._ago(6), "number": Upper(Substr("ref", 4))}
        drafts.exclude(total_minor=PAID).update(status="open", **issued)
        drafts.update(status="paid", paid_minor=PAID, closed_at=self._ago(19), **issued)

    def _charge(self, one: Account) -> models.Charge:
        self.entries.append((one, "charge", one.charge, {"cash": PAID, "receivable": -PAID}))
        return models.Charge(
            tenant=self.tenant,
            ref=one.charge,
            customer=self.customers[one.customer],
            invoice=self.invoices[one.paid],
            method_ref=one.card,
            amount_minor=PAID,
            currency="USD",
            status="succeeded",
            at=self._ago(19),
        )

    def _credit(self, one: Account) -> models.Credit:
        left = CREDIT - USED
        self.entries.append((one, "credit", one.credit_id, {"goodwill": left, "customer_credit": -left}))
        return models.Credit(
            tenant=self.tenant,
            ref=one.credit_id,
            customer=self.customers[one.customer],
            amount_minor=CREDIT,
            left_minor=left,
            currency="USD",
            reason="Late reply",
            at=self._ago(5),
        )
