"""The records that a fault drill works on: for each case a customer of its own, with books that balance."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID

from agentops.kernel.clock import utcnow
from agentops.registry.drill import Piece
from agentops.registry.once import Call
from billing_agent import models
from billing_agent.connectors.applying import post
from billing_agent.connectors.posting import Account, EntryKind, posted
from billing_agent.drill.scripts import LARGE_MINOR, OPEN_MINOR, PAID_MINOR, SCRIPTS

TAX_BP = 1_000
_PERIOD = timedelta(days=30)


def prepare(tenant_id: UUID) -> None:
    """Make the plans and the template."""
    for ref, minor in (("team", 2_000), ("business", 5_000)):
        models.Plan.objects.create(
            tenant_id=tenant_id, ref=ref, name=ref.title(), interval="month", amount_minor=minor, currency="USD"
        )
    models.MailTemplate.objects.create(
        tenant_id=tenant_id,
        ref="thanks",
        name="Thanks",
        subject="About your bill",
        body="Thank you. Your case is {case}.",
        reviewed_by="drill",
        reviewed_at=utcnow(),
    )


def feed(pieces: Sequence[Piece]) -> None:
    """Make a case for each piece of work, and the customer whom it is about."""
    for piece in pieces:
        _open(piece)


def _open(piece: Piece) -> None:
    case, owner = piece.ref, {"tenant_id": piece.tenant_id}
    now = utcnow()
    customer = models.Customer.objects.create(
        ref=f"cu_{case}",
        name=f"Customer {case}",
        email=f"{case}@drill.example",
        currency="USD",
        tax_bp=TAX_BP,
        created_at=now,
        **owner,
    )
    models.PaymentMethod.objects.bulk_create(
        [
            models.PaymentMethod(ref=f"pm_{case}_pays", customer=customer, brand="Visa", is_default=True, **owner),
            models.PaymentMethod(
                ref=f"pm_{case}_declines",
                customer=customer,
                brand="Visa",
                declines_with=models.DeclineCode.INSUFFICIENT_FUNDS,
                **owner,
            ),
        ]
    )
    began = now - _PERIOD / 3
    models.Subscription.objects.create(
        ref=f"sub_{case}",
        customer=customer,
        plan=models.Plan.objects.get(ref="team", **owner),
        anchor_day=began.day,
        period_start=began,
        period_end=began + _PERIOD,
        started_at=began,
        **owner,
    )
    for name, total in (("open", OPEN_MINOR), ("large", LARGE_MINOR), ("paid", PAID_MINOR)):
        _bill(customer, f"in_{case}_{name}", total, **({"paid_minor": total} if name == "paid" else {}))
    _pay(customer, case)
    models.Case.objects.create(
        ref=case,
        customer=customer,
        sender=customer.email,
        subject=piece.script,
        body=SCRIPTS[piece.script].request(case),
        source=models.Case.Source.FORM,
        source_key=f"drill:{case}",
        received_at=now,
        taken_at=now if piece.by_hand else None,
        **owner,
    )


def _bill(customer: models.Customer, ref: str, total: int, **paid: Any) -> None:
    """Make an invoice of one line: as a draft, which alone takes lines, and then issued."""
    now = utcnow()
    subtotal = total * 10_000 // (10_000 + TAX_BP)
    tax = total - subtotal
    invoice = models.Invoice.objects.create(
        tenant_id=customer.tenant_id,
        ref=ref,
        customer=customer,
        currency="USD",
        subtotal_minor=subtotal,
        tax_minor=tax,
        total_minor=total,
        created_at=now,
    )
    models.InvoiceLine.objects.create(
        tenant_id=customer.tenant_id,
        invoice=invoice,
        number=1,
        description="Consulting",
        unit_minor=subtotal,
        amount_minor=subtotal,
        tax_minor=tax,
    )
    settled = {"status": "paid", "closed_at": now, **paid} if paid else {"status": "open"}
    models.Invoice.objects.filter(pk=invoice.pk).update(
        number=ref.removeprefix("in_").upper(), issued_at=now, due_at=now, **settled
    )
    lines = {Account.RECEIVABLE: total, Account.REVENUE: -subtotal, Account.TAX: -tax}
    _book(customer, EntryKind.INVOICE, ref, lines)


def _pay(customer: models.Customer, case: str) -> None:
    models.Charge.objects.create(
        tenant_id=customer.tenant_id,
        ref=f"ch_{case}",
        customer=customer,
        invoice=models.Invoice.objects.get(tenant_id=customer.tenant_id, ref=f"in_{case}_paid"),
        method_ref=f"pm_{case}_pays",
        amount_minor=PAID_MINOR,
        currency="USD",
        status=models.Charge.Status.SUCCEEDED,
        at=utcnow(),
    )
    _book(customer, EntryKind.CHARGE, f"ch_{case}", {Account.CASH: PAID_MINOR, Account.RECEIVABLE: -PAID_MINOR})


def _book(customer: models.Customer, kind: EntryKind, ref: str, lines: dict[Account, int]) -> None:
    post(Call(customer.tenant_id, "", utcnow()), customer.ref, posted(kind, "USD", ref, lines))
