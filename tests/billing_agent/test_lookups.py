"""What lookups return fits what they declare, also for records with everything and with nothing in them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from agentops.kernel.money import Money
from agentops.policy.leaves import declared, leaves_of
from agentops.registry import schemas
from agentops.registry.flow import UNDECLARED_FIELD
from agentops.registry.tool import CallContext, Result
from billing_agent.connectors.records import (
    Account360,
    Charge,
    ChargeStatus,
    Credit,
    Customer,
    Dispute,
    DisputeStatus,
    Invoice,
    InvoiceStatus,
    Line,
    Method,
    Plan,
    Subscription,
    SubscriptionStatus,
    Template,
)
from billing_agent.role import ROLE
from billing_agent.tools import lookups
from billing_agent.tools.shapes import MOST_OPEN, MOST_PLANS

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
CONTEXT = CallContext(UUID(int=1), UUID(int=2), "C-1", "dana", NOW)
CARD = Method("pm_1", "card", "Visa", "4242", (2027, 4), "insufficient_funds", is_default=True, version=1)
BANK = Method("pm_2", "bank", "", "", None, "", is_default=False, version=1)
DANA = Customer("dana", "Dana Ruiz", "dana@b.example", "USD", "US", 1900, False, (CARD, BANK), NOW, None, 1)
TEAM = Plan("team", "Team monthly", "month", Money(4900, "USD"), active=True, version=1)
SUBSCRIPTION = Subscription(
    ref="sub_1",
    customer_ref="dana",
    plan=TEAM,
    next_plan=replace(TEAM, ref="solo"),
    quantity=3,
    status=SubscriptionStatus.PAUSED,
    anchor_day=1,
    period_start=NOW,
    period_end=NOW + timedelta(days=30),
    cancel_at=NOW,
    paused_at=NOW,
    resumes_at=NOW,
    version=1,
)
INVOICE = Invoice(
    ref="in_1",
    number="INV-000042",
    customer_ref="dana",
    subscription_ref="sub_1",
    status=InvoiceStatus.OPEN,
    currency="USD",
    memo="As agreed.",
    lines=(
        Line("Rest of the period", 1, 1000, 1000, 190, proration=True, period=(NOW, NOW)),
        Line("Seat", 2, 5, 10, 2),
    ),
    subtotal_minor=1010,
    tax_minor=192,
    total_minor=1202,
    paid_minor=2,
    credited_minor=200,
    created_at=NOW,
    issued_at=NOW,
    due_at=NOW,
    closed_at=None,
    attempts=1,
    next_attempt_at=NOW,
    version=1,
)
DRAFT = replace(
    INVOICE,
    number="",
    status=InvoiceStatus.DRAFT,
    memo="",
    subscription_ref="",
    lines=(),
    issued_at=None,
    due_at=None,
    next_attempt_at=None,
)
DISPUTE = Dispute("dp_1", "ch_1", Money(900, "USD"), "fraudulent", DisputeStatus.UNDER_REVIEW, NOW, None)
CHARGE = Charge("ch_1", "in_1", "pm_1", Money(1000, "USD"), ChargeStatus.SUCCEEDED, "", 300, NOW)
DECLINED = Charge("ch_2", "in_1", "pm_1", Money(1000, "USD"), ChargeStatus.FAILED, "insufficient_funds", 0, NOW)
CREDIT = Credit("cr_1", Money(500, "USD"), 200, "An apology", NOW, None, 1)
FULL = Account360(DANA, (SUBSCRIPTION,), (INVOICE,), (DISPUTE,), (CREDIT,), 1000, 200, 5000)
EMPTY = Account360(
    replace(DANA, name="", email="", country="", tax_exempt=True, methods=(), deleted_at=NOW), (), (), (), (), 0, 0, 0
)
TEMPLATE = Template("paid", "Paid", "Thank you, {name}", "We have {amount}.", "alice", 1)


class System:
    """Answers lookups with records."""

    def __init__(self, account: Account360 = FULL, plans: int = 1) -> None:
        self.found, self.count = account, plans
        self.limits: list[int] = []

    def account(self, context: CallContext) -> Account360:
        return self.found

    def invoices(self, context: CallContext, *, limit: int) -> Sequence[Invoice]:
        self.limits.append(limit)
        return [INVOICE, DRAFT]

    def invoice(self, context: CallContext, ref: str) -> tuple[Invoice, Sequence[Charge]]:
        return (DRAFT, []) if ref == "draft" else (INVOICE, [CHARGE, DECLINED])

    def plans(self, context: CallContext) -> Sequence[Plan]:
        return [TEAM] * self.count

    def templates(self, context: CallContext) -> Sequence[Template]:
        return [TEMPLATE]


def look(
    monkeypatch: pytest.MonkeyPatch, name: str, arguments: dict[str, object], system: System | None = None
) -> Result:
    """Return what a lookup tells, which fits its schema and holds nothing that its flow does not declare."""
    answering = system or System()
    monkeypatch.setattr(lookups, "billing", lambda: answering)
    tool = ROLE.tool(name)
    assert tool is not None
    told = tool.run(CONTEXT, arguments)
    assert schemas.violations(tool.checks_output, told) == []
    undeclared = [
        path for path, _ in leaves_of(told) if declared(path, tool.flow.results, UNDECLARED_FIELD) is UNDECLARED_FIELD
    ]
    assert undeclared == []
    return told


def test_the_account_is_told_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    told = look(monkeypatch, "lookup_customer_360", {})
    assert told["payment_methods"] == [
        {"payment_method_id": "pm_1", "words": "Visa ending 4242", "expires": "2027-04", "is_default": True},
        {"payment_method_id": "pm_2", "words": "bank account pm_2", "expires": None, "is_default": False},
    ]
    assert (told["tax_bp"], told["owed_minor"], told["credit_minor"], told["is_cut"]) == (1900, 1000, 200, False)
    assert told["subscriptions"][0]["next_plan_id"] == "solo"
    assert told["open_invoices"][0]["left_minor"] == 1000
    assert told["disputes"][0]["respond_by"] is None


def test_what_an_issuer_will_answer_is_told_to_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "insufficient_funds" not in str(look(monkeypatch, "lookup_customer_360", {}))


def test_an_empty_account_of_a_deleted_customer_fits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    told = look(monkeypatch, "lookup_customer_360", {}, System(EMPTY))
    assert (told["is_deleted"], told["tax_bp"], told["payment_methods"]) == (True, 0, [])


def test_long_lists_are_cut_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    told = look(
        monkeypatch, "lookup_customer_360", {}, System(replace(FULL, open_invoices=(INVOICE,) * (MOST_OPEN + 1)))
    )
    assert (len(told["open_invoices"]), told["is_cut"]) == (MOST_OPEN, True)
    plans = look(monkeypatch, "list_plans", {}, System(plans=MOST_PLANS + 1))
    assert (len(plans["plans"]), plans["more"]) == (MOST_PLANS, True)


def test_an_invoice_is_explained_with_its_lines_and_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    told = look(monkeypatch, "explain_invoice", {"invoice_id": "INV-000042"})
    assert (told["invoice_id"], told["number"], told["left_minor"]) == ("in_1", "INV-000042", 1000)
    assert [line["proration"] for line in told["lines"]] == [True, False]
    assert told["lines"][1]["from"] is None
    assert [(c["charge_id"], c["refundable_minor"], c["decline_code"]) for c in told["charges"]] == [
        ("ch_1", 700, ""),
        ("ch_2", 0, "insufficient_funds"),
    ]


def test_a_draft_fits_too(monkeypatch: pytest.MonkeyPatch) -> None:
    told = look(monkeypatch, "explain_invoice", {"invoice_id": "draft"})
    assert (told["status"], told["left_minor"], told["charges"], told["lines"]) == ("draft", 0, [], [])


@pytest.mark.parametrize(("arguments", "limit"), [({}, 12), ({"limit": 3}, 3)])
def test_invoices_are_listed_as_many_as_asked_for(
    monkeypatch: pytest.MonkeyPatch, arguments: dict[str, object], limit: int
) -> None:
    system = System()
    told = look(monkeypatch, "list_invoices", arguments, system)
    assert [invoice["number"] for invoice in told["invoices"]] == ["INV-000042", ""]
    assert system.limits == [limit]


def test_plans_and_templates_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(monkeypatch, "list_plans", {}) == {
        "plans": [
            {
                "plan_id": "team",
                "name": "Team monthly",
                "interval": "month",
                "price_minor": 4900,
                "currency": "USD",
            }
        ],
        "more": False,
    }
    assert [each["template_id"] for each in look(monkeypatch, "list_mail_templates", {})["templates"]] == ["paid"]
