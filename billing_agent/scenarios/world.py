"""How the books of a scenario stand before: one customer and what happened to them, in order, by the rules themselves.

``before(bill(4500), charge())`` makes a customer in USD without tax, with a card that pays, who was billed $45.00 and
paid it. Invoices are INV-000001 and so on. Moments count back from the beginning of this UTC day, so that what a change
of plan comes to is the same whenever it is run.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from agentops.kernel.clock import utcnow
from agentops.kernel.money import Money
from agentops.registry.tool import CallContext
from billing_agent import models
from billing_agent.connectors import billing
from billing_agent.connectors.dispute_rules import Told
from billing_agent.connectors.disputing import open_dispute
from billing_agent.connectors.port import ApplyCredit, GenerateInvoice, Item, RefundCharge, RetryCharge, Write
from billing_agent.connectors.records import DisputeStatus
from billing_agent.connectors.renewing import run_due
from billing_agent.seeds import seed_shelf

ANN, ANN_MAIL = "cus_ann", "ann.berg@example.com"
BO, BO_MAIL = "cus_bo", "bo.lund@example.com"
CARD, OTHER_CARD = "pm_card", "pm_other"
SUBSCRIPTION = "sub_ann"
INSUFFICIENT, LOST = "insufficient_funds", "lost_or_stolen"
LONG_AGO = timedelta(days=400)
DUE_DAYS = 14


@dataclass
class Books:
    """A customer's books while they are made. ``today`` is the beginning of this UTC day."""

    customer: models.Customer
    today: datetime
    writes: int = 0

    def write(self, write: Write, *, at: datetime | None = None) -> None:
        """Carry a write out as a call does: previewed, and then with the versions of the preview."""
        self.writes += 1
        key = f"before:{self.customer.tenant_id}:{self.customer.ref}:{self.writes}"
        context = CallContext(self.customer.tenant_id, UUID(int=0), "", self.customer.ref, at or utcnow(), key)
        shown = billing().preview(context, write)
        billing().write(replace(context, expected_versions=shown.versions), write)

    def invoice(self) -> models.Invoice:
        """Return the latest invoice."""
        return self.customer.invoices.order_by("number").last() or models.Invoice()

    def money(self, minor: int) -> Money:
        """Return an amount in the customer's currency."""
        return Money(minor, self.customer.currency)


Step = Callable[[Books], None]


def before(*steps: Step, **customer: Any) -> Callable[[UUID], None]:
    """Return what makes the books: plans, templates, Ann and what happened to her. ``customer`` are her columns."""

    def make(tenant_id: UUID) -> None:
        seed_shelf(tenant_id)
        books = Books(_customer(tenant_id, ANN, "Ann Berg", ANN_MAIL, customer), _today())
        _card(books, CARD, is_default=True)
        for step in steps:
            step(books)

    return make


def later(*steps: Step) -> Callable[[UUID], None]:
    """Return what happens to Ann's books while a call waits."""

    def make(tenant_id: UUID) -> None:
        books = Books(models.Customer.objects.get(tenant_id=tenant_id, ref=ANN), _today(), writes=1_000)
        for step in steps:
            step(books)

    return make


def bill(
    minor: int,
    words: str = "Window display workshop",
    *,
    quantity: int = 1,
    twice: tuple[str, int] = ("", 0),
    days_ago: int = 0,
) -> Step:
    """Bill so much, before tax, for each; and something that stands on the invoice ``twice``, with its amount."""

    def step(books: Books) -> None:
        items = (Item(words, quantity, minor), *((Item(twice[0], 1, twice[1]),) * 2 if twice[0] else ()))
        at = utcnow() - timedelta(days=days_ago)
        books.write(GenerateInvoice(items, books.customer.currency, words, DUE_DAYS), at=at)

    return step


def charge() -> Step:
    """Charge what is left of the latest invoice to the default card; whether it pays is the card's matter."""

    def step(books: Books) -> None:
        invoice = books.invoice()
        left = invoice.total_minor - invoice.paid_minor - invoice.credited_minor
        books.write(RetryCharge(invoice.ref, books.customer.methods.get(is_default=True).ref, books.money(left)))

    return step


def refund(minor: int, reason: str = "It arrived dented") -> Step:
    """Refund part of the charge of the latest invoice."""

    def step(books: Books) -> None:
        paid = books.invoice().charges.get(status=models.Charge.Status.SUCCEEDED)
        books.write(RefundCharge(paid.ref, books.money(minor), reason))

    return step


def credit(minor: int, reason: str = "A late reply", *, on_invoice: bool = False) -> Step:
    """Give credit, on the latest invoice when it says so."""
    return lambda books: books.write(ApplyCredit(books.money(minor), reason, books.invoice().ref if on_invoice else ""))


def card(**fields: Any) -> Step:
    """Change the columns of the card."""
    return lambda books: _set(books.customer.methods.get(ref=CARD), fields)


def expired() -> Step:
    """Let the card have expired two months ago."""
    return card(expires_year=2020, expires_month=1)


def other_card(**fields: Any) -> Step:
    """Add a second card, which becomes the default."""

    def step(books: Books) -> None:
        _set(books.customer.methods.get(ref=CARD), {"is_default": False})
        _card(books, OTHER_CARD, last_four="9152", is_default=True, **fields)

    return step


def subscribed(plan: str, *, quantity: int = 1, days: tuple[int, int] = (15, 15), **fields: Any) -> Step:
    """Subscribe to a plan of the shelf, in a period with so many days before and after the beginning of this day."""

    def step(books: Books) -> None:
        start, end = books.today - timedelta(days=days[0]), books.today + timedelta(days=days[1])
        models.Subscription.objects.create(
            tenant_id=books.customer.tenant_id,
            customer=books.customer,
            plan=models.Plan.objects.get(tenant_id=books.customer.tenant_id, ref=plan),
            ref=SUBSCRIPTION,
            quantity=quantity,
            anchor_day=start.day,
            period_start=start,
            period_end=end,
            started_at=start,
            **fields,
        )

    return step


def disputed(reason: str = "product_not_received") -> Step:
    """Let the customer's bank take the charge of the latest invoice back."""

    def step(books: Books) -> None:
        paid = books.invoice().charges.get(status=models.Charge.Status.SUCCEEDED)
        now = utcnow()
        told = Told(
            ref="dp_ann",
            charge_ref=paid.ref,
            amount=books.money(paid.amount_minor),
            reason=reason,
            status=DisputeStatus.NEEDS_RESPONSE,
            opened_at=now,
            told_at=now,
            respond_by=now + timedelta(days=7),
        )
        open_dispute(books.customer.tenant_id, told, now)

    return step


def calendar() -> Step:
    """Let the calendar's run do what is due, such as opening a case about what is not charged by itself any more."""

    def step(books: Books) -> None:
        run_due(books.customer.tenant_id, utcnow(), 100)

    return step


def latest_case(tenant_id: UUID) -> str:
    """Return the id of the case that was opened last."""
    return models.Case.objects.filter(tenant_id=tenant_id).order_by("id").values_list("ref", flat=True)[0]


def deleted() -> Step:
    """Delete the customer; what was billed stays."""
    return lambda books: _set(books.customer, {"deleted_at": utcnow()})


def neighbour(*steps: Step) -> Step:
    """Let something have happened to Bo, whom Ann's cases may not touch."""

    def step(books: Books) -> None:
        other = Books(_customer(books.customer.tenant_id, BO, "Bo Lund", BO_MAIL, {}), books.today)
        _card(other, f"{CARD}_bo", is_default=True)
        for each in steps:
            each(other)

    return step


def crowd(count: int) -> Step:
    """Let there be so many customers besides, with the addresses of ``crowd_mail``; nothing happened to them."""

    def step(books: Books) -> None:
        for number in range(count):
            fields = {"email": crowd_mail(number)}
            _customer(books.customer.tenant_id, f"cus_{number}", f"Customer {number}", "", fields)

    return step


def crowd_mail(number: int) -> str:
    """Return the address of one of the crowd."""
    return f"customer.{number}@example.com"


def _today() -> datetime:
    now = utcnow()
    return datetime(now.year, now.month, now.day, tzinfo=UTC)


def _customer(tenant_id: UUID, ref: str, name: str, email: str, fields: dict[str, Any]) -> models.Customer:
    given = {"email": email, "currency": "USD", "country": "US", "tax_bp": 0, "created_at": utcnow() - LONG_AGO}
    return models.Customer.objects.create(tenant_id=tenant_id, ref=ref, name=name, **(given | fields))


def _card(books: Books, ref: str, **fields: Any) -> None:
    given = {"brand": "Visa", "last_four": "4242", "expires_year": books.today.year + 3, "expires_month": 6}
    models.PaymentMethod.objects.create(
        tenant_id=books.customer.tenant_id, customer=books.customer, ref=ref, **(given | fields)
    )


def _set(row: models.Customer | models.PaymentMethod, fields: dict[str, Any]) -> None:
    for name, value in fields.items():
        setattr(row, name, value)
    row.version += 1
    row.save()
