"""A small billing desk: Dana is billed, Erin is billed too and is nobody whom Dana's cases may touch."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.apps import apps

from agentops.kernel.money import Money
from agentops.registry.tool import CallContext, Preview, Result
from agentops.tenancy.models import Tenant
from billing_agent import models
from billing_agent.connectors import billing
from billing_agent.connectors.dispute_rules import Told
from billing_agent.connectors.disputing import open_dispute
from billing_agent.connectors.port import (
    ApplyCredit,
    CancelSubscription,
    ChangePlan,
    CloseCase,
    DiscardMail,
    DropPlanChange,
    EscalateCase,
    GenerateInvoice,
    Item,
    KeepSubscription,
    PauseSubscription,
    RecallMail,
    RefundCharge,
    ReopenCase,
    ResumeSubscription,
    RetryCharge,
    ReverseCredit,
    VoidInvoice,
    Write,
    WriteMail,
    WriteOffInvoice,
)
from billing_agent.connectors.records import DisputeStatus
from tests.factories.support import make_tenant

NOW = datetime(2026, 11, 11, 9, 0, tzinfo=UTC)
SESSION = UUID("01890000-0000-7000-8000-000000000002")


def make_customer(tenant: Tenant, ref: str, name: str, **fields: Any) -> models.Customer:
    """Make a customer in USD with 10 % tax and without methods."""
    given: dict[str, Any] = {
        "email": f"{ref}@example.com",
        "currency": "USD",
        "country": "US",
        "tax_bp": 1000,
        "created_at": NOW - timedelta(days=400),
    }
    return models.Customer.objects.create(tenant=tenant, ref=ref, name=name, **(given | fields))


def make_card(customer: models.Customer, ref: str, **fields: Any) -> models.PaymentMethod:
    """Make a card that pays, unless ``declines_with`` or its date says otherwise."""
    given: dict[str, Any] = {"brand": "Visa", "last_four": "4242", "expires_year": 2030, "expires_month": 6}
    return models.PaymentMethod.objects.create(tenant=customer.tenant, customer=customer, ref=ref, **(given | fields))


def make_plan(tenant: Tenant, ref: str, name: str, amount_minor: int, **fields: Any) -> models.Plan:
    """Make a monthly plan in USD that is sold."""
    given: dict[str, Any] = {"interval": "month", "currency": "USD"}
    return models.Plan.objects.create(tenant=tenant, ref=ref, name=name, amount_minor=amount_minor, **(given | fields))


def make_subscription(customer: models.Customer, plan: models.Plan, ref: str, **fields: Any) -> models.Subscription:
    """Make an active subscription for the month around NOW."""
    given: dict[str, Any] = {
        "anchor_day": 1,
        "period_start": datetime(2026, 11, 1, tzinfo=UTC),
        "period_end": datetime(2026, 12, 1, tzinfo=UTC),
        "started_at": datetime(2026, 6, 1, tzinfo=UTC),
    }
    return models.Subscription.objects.create(
        tenant=customer.tenant, customer=customer, plan=plan, ref=ref, **(given | fields)
    )


def make_template(tenant: Tenant, ref: str, **fields: Any) -> models.MailTemplate:
    """Make a reviewed template with one gap."""
    given: dict[str, Any] = {
        "name": ref.title(),
        "subject": "About your bill",
        "body": "Hello {name}, thank you.",
        "reviewed_by": "alice",
        "reviewed_at": NOW - timedelta(days=30),
    }
    return models.MailTemplate.objects.create(tenant=tenant, ref=ref, **(given | fields))


def make_case(tenant: Tenant, ref: str, customer: models.Customer | None = None, **fields: Any) -> models.Case:
    """Make an open case."""
    given: dict[str, Any] = {
        "sender": customer.email if customer else "somebody@example.com",
        "subject": "About my bill",
        "body": "Please help.",
        "source": models.Case.Source.FORM,
        "source_key": f"test:{ref}",
        "received_at": NOW,
    }
    return models.Case.objects.create(tenant=tenant, ref=ref, customer=customer, **(given | fields))


def make_dispute(charge: models.Charge, amount_minor: int, ref: str = "dp-1") -> models.Dispute:
    """Make an open dispute with its entry, as the processor's word would."""
    open_dispute(charge.tenant_id, told(charge, amount_minor, ref), NOW)
    return models.Dispute.objects.get(tenant=charge.tenant, ref=ref)


def told(charge: models.Charge, amount_minor: int, ref: str = "dp-1", **fields: Any) -> Told:
    """Return what a processor tells of a dispute, by default that it is open."""
    status = DisputeStatus.NEEDS_RESPONSE
    amount = Money(amount_minor, charge.currency)
    return replace(Told(ref, charge.ref, amount, "fraudulent", status, opened_at=NOW, told_at=NOW), **fields)


def usd(minor: int) -> Money:
    """Return an amount of US cents."""
    return Money(minor, "USD")


@dataclass(frozen=True)
class Desk:
    """The desk and how its parts are called.

    Dana has card-1, which pays and is the default, and card-2, which declines. Their subscription sub-1 is Team at
    $20.00 a month, paid to the end of November; Business is $50.00. INV-000001 is open: $22.00 with tax. INV-000002
    is paid: $55.00 with tax, by card-1. Erin has card-9, sub-9 and the open INV-000003. Nothing is left of any credit.
    """

    tenant: Tenant
    dana: models.Customer
    erin: models.Customer
    case: models.Case

    def context(self, key: str = "", customer_id: str | None = "dana", subject_id: str = "case-1") -> CallContext:
        """Return the context of a session on Dana's case."""
        return CallContext(self.tenant.id, SESSION, subject_id, customer_id, NOW, idempotency_key=key)

    def show(self, write: Write, **context: Any) -> Preview:
        """Return what a write would do."""
        return billing().preview(self.context(**context), write)

    def act(self, write: Write, key: str = "", **context: Any) -> Result:
        """Preview a write and carry out what was previewed, as the gateway does; by a key of its own unless given."""
        key = key or f"key-{models.Operation.objects.count() + 1}"
        shown = self.show(write, **context)
        return billing().write(replace(self.context(key, **context), expected_versions=shown.versions), write)

    def invoice(self, number: str) -> models.Invoice:
        """Return the invoice as it is now."""
        return models.Invoice.objects.get(tenant=self.tenant, number=number)

    def charge(self) -> models.Charge:
        """Return the charge of INV-000002 as it is now."""
        return self.invoice("INV-000002").charges.get()

    def subscription(self) -> models.Subscription:
        """Return Dana's subscription as it is now."""
        return models.Subscription.objects.get(tenant=self.tenant, ref="sub-1")


def bill(unit_minor: int, memo: str, quantity: int = 1, currency: str = "USD") -> GenerateInvoice:
    """Return an invoice of one line, due after two weeks."""
    return GenerateInvoice((Item(memo, quantity, unit_minor),), currency, memo, 14)


def make_desk(tenant: Tenant | None = None) -> Desk:
    """Make the desk, in its own tenant unless one is given. All money moved through the connector."""
    tenant = tenant or make_tenant()
    dana, erin = make_customer(tenant, "dana", "Dana Ruiz"), make_customer(tenant, "erin", "Erin Cole")
    make_card(dana, "card-1", is_default=True)
    make_card(dana, "card-2", last_four="0002", declines_with="insufficient_funds")
    make_card(erin, "card-9", last_four="1111", is_default=True)
    team = make_plan(tenant, "team", "Team", 2000)
    make_plan(tenant, "business", "Business", 5000)
    make_plan(tenant, "old", "Old", 1000, active=False)
    make_subscription(dana, team, "sub-1")
    make_subscription(erin, team, "sub-9")
    make_template(tenant, "thanks")
    make_template(tenant, "rough", reviewed_by="", reviewed_at=None)
    desk = Desk(tenant, dana, erin, make_case(tenant, "case-1", dana))
    desk.act(bill(1000, "Set-up", quantity=2), "made-1")
    desk.act(bill(5000, "Training"), "made-2")
    desk.act(RetryCharge(desk.invoice("INV-000002").ref, "card-1", usd(5500)), "made-3")
    desk.act(bill(700, "Books"), "made-4", customer_id="erin")
    return desk


def _reversal(desk: Desk) -> Write:
    desk.act(ApplyCredit(usd(300), "Late reply"))
    return ReverseCredit(desk.dana.credits.get().ref, "Given twice")


def _dropped_change(desk: Desk) -> Write:
    desk.act(ChangePlan("sub-1", "business", 1, now=False))
    return DropPlanChange("sub-1")


def _resumption(desk: Desk) -> Write:
    desk.act(PauseSubscription("sub-1", None))
    return ResumeSubscription("sub-1")


def _kept(desk: Desk) -> Write:
    desk.act(CancelSubscription("sub-1", now=False, reason="Too dear"))
    return KeepSubscription("sub-1")


def _recall(desk: Desk) -> Write:
    desk.act(WriteMail("thanks", (("name", "Dana"),), send=True))
    return RecallMail(desk.dana.mails.get().ref)


def _discard(desk: Desk) -> Write:
    desk.act(WriteMail("thanks", (("name", "Dana"),), send=False))
    return DiscardMail(desk.dana.mails.get().ref)


def _late(desk: Desk) -> models.Invoice:
    """Return the open invoice as it is when it should have been paid."""
    models.Invoice.objects.filter(number="INV-000001").update(due_at=NOW - timedelta(days=20))
    return desk.invoice("INV-000001")


def _reopening(desk: Desk) -> Write:
    desk.act(CloseCase("Done."))
    return ReopenCase()


ONE_OF_EACH: Mapping[str, Callable[[Desk], Write]] = {
    "credit": lambda desk: ApplyCredit(usd(500), "Late reply"),
    "credit on an invoice": lambda desk: ApplyCredit(usd(500), "Late", desk.invoice("INV-000001").ref),
    "credit taken back": _reversal,
    "charge": lambda desk: RetryCharge(desk.invoice("INV-000001").ref, "card-1", usd(2200)),
    "declined charge": lambda desk: RetryCharge(desk.invoice("INV-000001").ref, "card-2", usd(2200)),
    "refund": lambda desk: RefundCharge(desk.charge().ref, usd(1234), "Half was not held"),
    "plan changed": lambda desk: ChangePlan("sub-1", "business", 2, now=True),
    "plan changed later": lambda desk: ChangePlan("sub-1", "business", 1, now=False),
    "plan change dropped": _dropped_change,
    "invoice": lambda desk: bill(333, "Extra", quantity=3),
    "void": lambda desk: VoidInvoice(desk.invoice("INV-000001").ref, "Billed twice"),
    "written off": lambda desk: WriteOffInvoice(_late(desk).ref, "The company is gone"),
    "paused": lambda desk: PauseSubscription("sub-1", None),
    "resumed": _resumption,
    "cancelled": lambda desk: CancelSubscription("sub-1", now=True, reason="Too dear"),
    "cancelled later": lambda desk: CancelSubscription("sub-1", now=False, reason="Too dear"),
    "kept": _kept,
    "draft": lambda desk: WriteMail("thanks", (("name", "Dana"),), send=False),
    "mail": lambda desk: WriteMail("thanks", (("name", "Dana"),), send=True),
    "recalled": _recall,
    "discarded": _discard,
    "closed": lambda desk: CloseCase("Done."),
    "reopened": _reopening,
    "escalated": lambda desk: EscalateCase("Nobody knows.", "Dana asks for the moon."),
}


def every_row() -> dict[str, list[Any]]:
    """Return all that the billing tables hold."""
    tables = apps.get_app_config("billing_agent").get_models()
    return {table.__name__: list(table._base_manager.order_by("pk").values()) for table in tables}
