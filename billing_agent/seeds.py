"""The demo tenant's billing desk: plans, customers, a history that the rules themselves wrote, and cases that wait.

Everything is invented and stands in ``seed_data/``. Days count back from the moment of seeding: from the first of them
on, the calendar's run is carried out for each day and then what happened on it, so that invoices, attempts to charge
and the books are those of a desk that was at work all the time.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F

from agentops.kernel.clock import utcnow
from agentops.kernel.money import Money
from agentops.registry.tool import CallContext
from agentops.tenancy.models import Tenant
from billing_agent.connectors import billing
from billing_agent.connectors.dispute_rules import Told
from billing_agent.connectors.disputing import open_dispute
from billing_agent.connectors.origins import BY_SEEDS
from billing_agent.connectors.port import (
    ApplyCredit,
    ChangePlan,
    CloseCase,
    GenerateInvoice,
    Item,
    RefundCharge,
    RetryCharge,
    Write,
)
from billing_agent.connectors.records import DisputeStatus
from billing_agent.connectors.renewing import run_due
from billing_agent.intake import customer_ids
from billing_agent.models import (
    Case,
    Charge,
    Customer,
    Invoice,
    MailTemplate,
    PaymentMethod,
    Plan,
    Subscription,
)

SLUG, NAME, TIMEZONE = "larkspur", "Larkspur Goods", "America/Chicago"
TRIAL = timedelta(days=14)
_DATA = Path(__file__).parent / "seed_data"
_USUAL_CUSTOMER = {"currency": "USD", "country": "US", "tax_bp": 800, "tax_exempt": False}
_MOST_DUE = 1_000
_NO_SESSION = UUID(int=0)

Record = Mapping[str, Any]


@transaction.atomic
def seed_demo() -> Tenant:
    """Make the demo tenant and its billing desk, unless they are there, and return it. Changes nothing that is there.

    The tenant is the one of the demo's other roles: they work for one company.
    """
    Tenant.objects.get_or_create(slug=SLUG, defaults={"name": NAME, "timezone": TIMEZONE})
    tenant = Tenant.objects.select_for_update().get(slug=SLUG)
    if not Plan.objects.filter(tenant=tenant).exists():
        now = utcnow()
        seed_shelf(tenant.pk)
        for record in _read("customers"):
            _seed_customer(tenant, record, now)
        _live_through(tenant, _read("history"), now)
        _seed_cases(tenant, now)
    return tenant


def seed_shelf(tenant_id: UUID) -> None:
    """Make the plans that are sold and the templates of mails, in a tenant that has none."""
    now = utcnow()
    Plan.objects.bulk_create(Plan(tenant_id=tenant_id, **record) for record in _read("plans"))
    MailTemplate.objects.bulk_create(_template(tenant_id, record, now) for record in _read("templates"))


def _read(name: str) -> list[Record]:
    found: list[Record] = json.loads((_DATA / f"{name}.json").read_text(encoding="utf-8"))
    return found


def _template(tenant_id: UUID, record: Record, now: datetime) -> MailTemplate:
    fields = {name: record[name] for name in ("ref", "name", "subject", "body")}
    reviewed = (
        {"reviewed_by": "second", "reviewed_at": now - timedelta(days=120)} if record.get("reviewed", True) else {}
    )
    return MailTemplate(tenant_id=tenant_id, changed_by="approver", **fields, **reviewed)


def _seed_customer(tenant: Tenant, record: Record, now: datetime) -> None:
    given = _USUAL_CUSTOMER | {name: record[name] for name in record if name not in ("cards", "subscription")}
    customer = Customer.objects.create(tenant=tenant, created_at=now - timedelta(days=120), **given)
    for number, card in enumerate(record["cards"]):
        _add_card(customer, {**card, "is_default": number == 0}, now)
    if "subscription" in record:
        _subscribe(customer, record["subscription"], now)


def _add_card(customer: Customer, card: Record, now: datetime) -> None:
    dated = _expiry(30, now) if card.get("kind", "card") == "card" else {}
    PaymentMethod.objects.create(tenant=customer.tenant, customer=customer, **dated, **card)


def _expiry(months: int, now: datetime) -> dict[str, int]:
    """Return the columns of a card whose last month lies so many months after this one, before it when negative."""
    year, month = divmod(now.year * 12 + now.month - 1 + months, 12)
    return {"expires_year": year, "expires_month": month + 1}


def _subscribe(customer: Customer, record: Record, now: datetime) -> None:
    """Begin a subscription with a free trial; the first period that is billed begins when that is over."""
    billed = now - timedelta(days=record["billed_days_ago"])
    Subscription.objects.create(
        tenant=customer.tenant,
        customer=customer,
        plan=Plan.objects.get(tenant=customer.tenant, ref=record["plan"]),
        ref=customer.ref.replace("cus_", "sub_", 1),
        quantity=record.get("quantity", 1),
        anchor_day=billed.day,
        period_start=billed - TRIAL,
        period_end=billed,
        started_at=billed - TRIAL,
    )


@dataclass(frozen=True)
class _Event:
    """Something that happened to a customer. ``key`` is its own; ``record`` is its row of ``history.json``."""

    customer: Customer
    record: Record
    key: str
    now: datetime

    def invoice(self) -> Invoice:
        """Return the invoice that is meant."""
        return _invoice(self.customer, self.record["invoice"])

    def charge(self) -> Charge:
        """Return the charge that paid the invoice that is meant."""
        return self.invoice().charges.get(status=Charge.Status.SUCCEEDED)

    def money(self) -> Money:
        """Return the amount that is meant."""
        return Money(self.record["minor"], self.customer.currency)

    def write(self, write: Write, *, subject: str = "") -> None:
        """Carry a write out as a call does: previewed, and then with the versions of the preview."""
        context = CallContext(self.customer.tenant_id, _NO_SESSION, subject, self.customer.ref, self.now, self.key)
        shown = billing().preview(context, write)
        billing().write(replace(context, expected_versions=shown.versions), write)


def _invoice(customer: Customer, place: int) -> Invoice:
    """Return the customer's invoice number ``place``, from 1 for the first; a negative one counts from the last."""
    found = list(customer.invoices.order_by("number"))
    return found[place - 1 if place > 0 else place]


def _live_through(tenant: Tenant, history: list[Record], now: datetime) -> None:
    starts = Subscription.objects.filter(tenant=tenant).order_by("period_end").values_list("period_end", flat=True)
    first = max((now - start).days for start in starts)
    for days in range(first, -1, -1):
        moment = now - timedelta(days=days)
        run = run_due(tenant.pk, moment, _MOST_DUE)
        if run.refused:
            raise ValueError(f"the demo's history cannot be: {run.refused}")
        for number, record in enumerate(history):
            if record["days_ago"] == days:
                customer = Customer.objects.get(tenant=tenant, ref=record["customer"])
                at = moment + timedelta(minutes=number)
                _HAPPENED[record["do"]](_Event(customer, record, f"{BY_SEEDS}{number}", at))


def _billed(event: _Event) -> None:
    items = tuple(Item(*item) for item in event.record["items"])
    event.write(GenerateInvoice(items, event.customer.currency, event.record["memo"], event.record["due_days"]))


def _charged(event: _Event) -> None:
    invoice, method = event.invoice(), event.customer.methods.get(is_default=True)
    left = invoice.total_minor - invoice.paid_minor - invoice.credited_minor
    event.write(RetryCharge(invoice.ref, method.ref, Money(left, invoice.currency)))


def _refunded(event: _Event) -> None:
    event.write(RefundCharge(event.charge().ref, event.money(), event.record["reason"]))


def _credited(event: _Event) -> None:
    event.write(ApplyCredit(event.money(), event.record["reason"]))


def _changed(event: _Event) -> None:
    subscription = event.customer.subscriptions.get()
    event.write(ChangePlan(subscription.ref, event.record["plan"], event.record["quantity"], now=True))


def _carded(event: _Event) -> None:
    """A card that is there gets what the record says; another one is added, and is the default when it says so."""
    fields = {name: event.record[name] for name in ("brand", "last_four", "declines_with") if name in event.record}
    if "expires_in_months" in event.record:
        fields |= _expiry(event.record["expires_in_months"], event.now)
    own = event.customer.methods
    if own.filter(ref=event.record["ref"]).update(**fields, version=F("version") + 1):
        return
    if event.record.get("is_default"):
        own.update(is_default=False, version=F("version") + 1)
        fields["is_default"] = True
    _add_card(event.customer, {"ref": event.record["ref"], **fields}, event.now)


def _deleted(event: _Event) -> None:
    Customer.objects.filter(pk=event.customer.pk).update(deleted_at=event.now, version=F("version") + 1)


def _disputed(event: _Event) -> None:
    """The customer's bank took a charge back, and the processor has told us."""
    charge = event.charge()
    told = Told(
        ref=event.customer.ref.replace("cus_", "dp_", 1),
        charge_ref=charge.ref,
        amount=Money(charge.amount_minor, charge.currency),
        reason=event.record["reason"],
        status=DisputeStatus.NEEDS_RESPONSE,
        opened_at=event.now,
        told_at=event.now,
        respond_by=event.now + timedelta(days=event.record["respond_days"]),
    )
    open_dispute(event.customer.tenant_id, told, event.now)


def _case_closed(event: _Event) -> None:
    """Somebody of the desk was done with the case that the calendar's run had opened about an unpaid invoice."""
    case = event.customer.cases.get()
    event.write(CloseCase(event.record["note"]), subject=case.ref)


_HAPPENED: Mapping[str, Callable[[_Event], None]] = {
    "invoice": _billed,
    "charge": _charged,
    "refund": _refunded,
    "credit": _credited,
    "change_plan": _changed,
    "card": _carded,
    "delete": _deleted,
    "dispute": _disputed,
    "close_case": _case_closed,
}


_INVOICE_MEANT = re.compile(r"\{invoice (\w+) (-?\d+)\}")
_DAY_MEANT = re.compile(r"\{day (\d+)\}")


def _seed_cases(tenant: Tenant, now: datetime) -> None:
    customers = {customer.ref: customer for customer in Customer.objects.filter(tenant=tenant)}

    def said(text: str) -> str:
        """Put in the numbers and days that only the seeding knows: ``{invoice cus_sato -1}``, ``{day 62}``."""
        numbered = _INVOICE_MEANT.sub(lambda gap: str(_invoice(customers[gap[1]], int(gap[2])).number), text)
        return _DAY_MEANT.sub(lambda gap: _day(now + timedelta(days=int(gap[1]))), numbered)

    records = _read("cases")
    known = customer_ids(tenant.pk, (record["sender"] for record in records))
    Case.objects.bulk_create(
        Case(
            tenant=tenant,
            ref=record["ref"],
            customer_id=known.get(record["sender"]),
            sender=record["sender"],
            subject=said(record["subject"]),
            body=said(record["body"]),
            source=record.get("source", Case.Source.IMPORT),
            source_key=f"seed:{record['ref']}",
            received_at=now - timedelta(minutes=record["minutes_ago"]),
        )
        for record in records
    )


def _day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y}"
