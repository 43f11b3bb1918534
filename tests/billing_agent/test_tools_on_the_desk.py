"""Every tool on the embedded billing system: what it returns fits its declaration, and its undo takes it back."""

from dataclasses import replace
from typing import Any

import pytest

from agentops.gateway.prepare import Prepared, Refusal, prepare
from agentops.registry import schemas
from agentops.registry.planner import ToolCall
from agentops.registry.tool import Result, ToolFailure
from billing_agent.models import Case, Mail, Operation
from billing_agent.role import ROLE
from billing_agent.tools import TOOLS
from tests.factories.billing import Desk, make_customer, make_desk

pytestmark = pytest.mark.django_db

NAMES = frozenset(tool.name for tool in TOOLS)


@pytest.fixture
def desk() -> Desk:
    return make_desk()


def prepared(desk: Desk, name: str, arguments: dict[str, Any]) -> Prepared | Refusal:
    return prepare(call=ToolCall(name, arguments), role=ROLE, granted=NAMES, context=desk.context())


def call(desk: Desk, name: str, **arguments: Any) -> Result:
    """Make a call as the gateway does: checked, in scope, previewed, carried out; its result fits the declaration."""
    found = prepared(desk, name, arguments)
    assert isinstance(found, Prepared), found
    key = f"tool-{Operation.objects.count() + 1}"
    context = desk.context(key) if found.preview else desk.context()
    versions = found.preview.versions if found.preview else {}
    result = found.tool.run(replace(context, expected_versions=versions), found.arguments)
    assert schemas.violations(found.tool.checks_output, result) == []
    if found.tool.reconcile is not None:
        assert found.tool.reconcile(context) == result
    return result


def undone(desk: Desk, name: str, **arguments: Any) -> Result:
    """Make a call and then the one that undoes it, and return what the latter came to."""
    tool = ROLE.tool(name)
    assert tool is not None
    assert tool.undo_call is not None
    undo = tool.undo_call(arguments, call(desk, name, **arguments))
    assert undo is not None
    return call(desk, undo[0], **undo[1])


def open_invoice(desk: Desk) -> str:
    return desk.invoice("INV-000001").ref


USD = {"currency": "USD", "reason": "A reason."}
MAIL = {"template_id": "thanks", "fields": [{"name": "name", "value": "Dana"}]}


def test_lookups_tell_what_is_there(desk: Desk) -> None:
    account = call(desk, "lookup_customer_360")
    assert (account["customer_id"], account["owed_minor"], account["paid_minor"]) == ("dana", 2200, 5500)
    assert [each["number"] for each in account["open_invoices"]] == ["INV-000001"]
    assert len(call(desk, "list_invoices")["invoices"]) == 2
    explained = call(desk, "explain_invoice", invoice_id="INV-000002")
    assert [(each["refundable_minor"], each["status"]) for each in explained["charges"]] == [(5500, "succeeded")]
    assert [plan["plan_id"] for plan in call(desk, "list_plans")["plans"]] == ["team", "business"]
    assert [each["template_id"] for each in call(desk, "list_mail_templates")["templates"]] == ["thanks"]


def test_credit_is_given_and_taken_back(desk: Desk) -> None:
    assert undone(desk, "apply_credit", amount_minor=500, **USD)["amount_minor"] == 500
    given = call(desk, "apply_credit", amount_minor=2500, invoice_id=open_invoice(desk), **USD)
    assert (given["used_minor"], given["left_minor"], given["invoice_status"]) == (2200, 300, "paid")
    again = undone(desk, "reverse_credit", credit_id=given["credit_id"], reason="A reason.")
    assert again["left_minor"] == 300


@pytest.mark.parametrize(("method", "status"), [("card-1", "succeeded"), ("card-2", "failed")])
def test_an_invoice_is_charged_or_declined(desk: Desk, method: str, status: str) -> None:
    arguments = {"invoice_id": open_invoice(desk), "payment_method_id": method}
    result = call(desk, "retry_charge", amount_minor=2200, currency="USD", **arguments)
    assert result["status"] == status


def test_a_charge_can_be_refunded(desk: Desk) -> None:
    arguments = {"invoice_id": open_invoice(desk), "payment_method_id": "card-1"}
    back = undone(desk, "retry_charge", amount_minor=2200, currency="USD", **arguments)
    assert (back["refunded_minor"], back["refundable_minor"]) == (2200, 0)


def test_an_invoice_is_made_and_voided(desk: Desk) -> None:
    items = [{"description": "Workshop", "quantity": 2, "unit_minor": 1000}]
    voided = undone(desk, "generate_invoice", items=items, currency="USD", memo="", due_days=14)
    assert (voided["status"], voided["total_minor"]) == ("void", 2200)


def test_a_plan_is_changed_and_changed_back(desk: Desk) -> None:
    arguments = {"subscription_id": "sub-1", "plan_id": "business"}
    back = undone(desk, "change_plan", quantity=2, when="now", **arguments)
    assert (back["plan_id"], back["quantity"], back["former_plan_id"]) == ("team", 1, "business")
    dropped = undone(desk, "change_plan", quantity=1, when="next_period", **arguments)
    assert dropped["former_next_plan_id"] == "business"


def test_a_plan_change_that_was_dropped_is_made_again(desk: Desk) -> None:
    call(desk, "change_plan", subscription_id="sub-1", plan_id="business", quantity=1, when="next_period")
    assert undone(desk, "drop_plan_change", subscription_id="sub-1")["next_plan_id"] == "business"


@pytest.mark.parametrize("until", [{}, {"until": "2026-11-20"}])
def test_a_subscription_is_paused_and_resumed(desk: Desk, until: dict[str, str]) -> None:
    assert undone(desk, "pause_subscription", subscription_id="sub-1", **until)["status"] == "active"
    call(desk, "pause_subscription", subscription_id="sub-1")
    assert undone(desk, "resume_subscription", subscription_id="sub-1")["status"] == "paused"


def test_a_subscription_is_cancelled_kept_and_ended(desk: Desk) -> None:
    undone(desk, "cancel_subscription", subscription_id="sub-1", reason="Too dear.")
    assert desk.subscription().cancel_at is None
    call(desk, "cancel_subscription", subscription_id="sub-1", reason="Too dear.")
    assert undone(desk, "keep_subscription", subscription_id="sub-1")["status"] == "active"
    assert call(desk, "end_subscription_now", subscription_id="sub-1", reason="Today.")["status"] == "cancelled"


def test_a_mail_is_recalled_and_a_draft_thrown_away(desk: Desk) -> None:
    assert undone(desk, "send_email", **MAIL)["status"] == "recalled"
    assert undone(desk, "draft_email", **MAIL)["status"] == "discarded"
    assert Mail.objects.filter(recalled_at__isnull=True).count() == 0


def test_a_case_is_closed_reopened_and_handed_over(desk: Desk) -> None:
    assert undone(desk, "close_case", note="Done.")["status"] == "open"
    call(desk, "close_case", note="Done.")
    assert undone(desk, "reopen_case")["status"] == "closed"
    name, arguments = ROLE.fallback("INTERNAL")
    assert call(desk, name, **arguments)["status"] == "escalated"
    assert Case.objects.get().note


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("explain_invoice", {"invoice_id": "INV-000003"}),
        ("apply_credit", {"amount_minor": 1, **USD, "invoice_id": "INV-000003"}),
        ("void_invoice", {"invoice_id": "INV-000003", "reason": "x"}),
        (
            "retry_charge",
            {"invoice_id": "INV-000001", "payment_method_id": "card-9", "amount_minor": 2200, "currency": "USD"},
        ),
        ("cancel_subscription", {"subscription_id": "sub-9", "reason": "x"}),
        ("change_plan", {"subscription_id": "sub-9", "plan_id": "business", "quantity": 1, "when": "now"}),
        ("refund_charge", {"charge_id": "none", "amount_minor": 1, **USD}),
        ("reverse_credit", {"credit_id": "none", "reason": "x"}),
        ("recall_email", {"mail_id": "none"}),
    ],
)
def test_a_record_of_somebody_else_is_not_found(desk: Desk, name: str, arguments: dict[str, Any]) -> None:
    found = prepared(desk, name, arguments)
    assert isinstance(found, Refusal)
    assert found.code == "NOT_FOUND"


def test_a_recall_window_of_the_tool_is_the_systems(desk: Desk) -> None:
    tool = ROLE.tool("send_email")
    assert tool is not None
    sent = call(desk, "send_email", **MAIL)
    mail = Mail.objects.get(ref=sent["mail_id"])
    assert mail.release_at is not None
    assert mail.release_at - mail.at == tool.undo_within


def test_nobody_is_looked_up_when_nobody_is_known(desk: Desk) -> None:
    make_customer(desk.tenant, "fay", "Fay")
    tool = ROLE.tool("lookup_customer_360")
    assert tool is not None
    with pytest.raises(ToolFailure) as failure:
        tool.run(desk.context(customer_id=None), {})
    assert failure.value.kind == "NOT_FOUND"
