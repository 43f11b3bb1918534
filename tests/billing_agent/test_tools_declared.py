"""What every tool of the role declares about itself, and that each call reaches the billing system as it was meant."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import billing_agent
from agentops.kernel.money import Money
from agentops.registry import schemas
from agentops.registry.checks import problems_of_contracts, problems_of_role
from agentops.registry.contracts import FILE, entry_of, read_contracts
from agentops.registry.tool import CallContext, Preview, Result, Tier, ToolFailure, ToolSpec
from agentops.runtime.answers import HANDED_OVER
from billing_agent import connectors
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
from billing_agent.policy import QUEUES
from billing_agent.role import ROLE
from billing_agent.tools import TOOLS

CONTRACTS = Path(billing_agent.__path__[0], FILE)
WRITES = [tool for tool in TOOLS if tool.is_write]
HARD = [tool for tool in TOOLS if tool.tier is Tier.WRITE_HARD]
CONTEXT = CallContext(UUID(int=1), UUID(int=2), "C-1", "dana", datetime(2026, 11, 30, tzinfo=UTC))
TWENTY = Money(2000, "USD")


def _name(tool: ToolSpec) -> str:
    return tool.name


def tool(name: str) -> ToolSpec:
    found = ROLE.tool(name)
    assert found is not None
    return found


class Recording:
    """Takes the place of the billing system and keeps what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, Write]] = []

    def preview(self, context: CallContext, write: Write) -> Preview:
        self.asked.append(("preview", write))
        return Preview("Does it", "customer:dana")

    def write(self, context: CallContext, write: Write) -> Result:
        self.asked.append(("write", write))
        return {}

    def outcome(self, context: CallContext) -> Result | None:
        return {"key": context.idempotency_key}


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Recording:
    recording = Recording()
    monkeypatch.setattr(connectors, "_EMBEDDED", recording)
    return recording


def test_tools_are_these() -> None:
    assert [tool.name for tool in TOOLS] == [
        "lookup_customer_360",
        "list_invoices",
        "explain_invoice",
        "list_plans",
        "list_mail_templates",
        "apply_credit",
        "reverse_credit",
        "retry_charge",
        "refund_charge",
        "generate_invoice",
        "void_invoice",
        "write_off_invoice",
        "change_plan",
        "drop_plan_change",
        "pause_subscription",
        "resume_subscription",
        "cancel_subscription",
        "end_subscription_now",
        "keep_subscription",
        "draft_email",
        "send_email",
        "recall_email",
        "discard_email_draft",
        "close_case",
        "reopen_case",
        "escalate_case",
    ]


def test_the_role_passes_every_check_of_roles() -> None:
    assert [problem.msg for problem in problems_of_role(ROLE)] == []


def test_contracts_on_file_are_those_of_the_tools() -> None:
    assert list(problems_of_contracts(ROLE, CONTRACTS)) == []
    assert read_contracts(CONTRACTS) == {tool.name: entry_of(tool) for tool in TOOLS}


@pytest.mark.parametrize("tool", TOOLS, ids=_name)
def test_schemas_are_closed_and_bounded(tool: ToolSpec) -> None:
    assert schemas.problems_of(tool.input_schema) == []
    assert schemas.problems_of(tool.output_schema, "output") == []


@pytest.mark.parametrize("tool", TOOLS, ids=_name)
def test_examples_fit_the_schema_and_nothing_else_does(tool: ToolSpec) -> None:
    checker = schemas.validator(tool.input_schema)
    assert tool.examples
    assert [schemas.violations(checker, dict(example)) for example in tool.examples] == [[]] * len(tool.examples)
    assert schemas.violations(checker, {**tool.examples[0], "tenant_id": "x"})


@pytest.mark.parametrize("tool", TOOLS, ids=_name)
def test_a_planner_and_a_person_are_told_what_it_is(tool: ToolSpec) -> None:
    assert (tool.owner, tool.version >= 1) == ("billing", True)
    assert len(tool.description) > 80
    assert tool.auth_scope.startswith("billing:")
    assert tool.worst
    assert tool.stopped_by


@pytest.mark.parametrize("tool", WRITES, ids=_name)
def test_a_write_can_be_previewed_reconciled_and_taken_back_or_says_that_it_cannot(tool: ToolSpec) -> None:
    assert tool.preview is not None
    assert tool.reconcile is not None
    assert tool.reconcile_is_final
    assert tool.irreversible != bool(tool.undo)
    assert tool.queue in {queue.slug for queue in QUEUES}


def test_what_a_session_achieved_by_them_has_a_word_that_is_shown() -> None:
    assert {tool.outcome for tool in TOOLS} == {"", HANDED_OVER, "refunded", "changed", "answered"}
    assert {tool.name for tool in WRITES if not tool.outcome} == {
        "reverse_credit",
        "draft_email",
        "recall_email",
        "discard_email_draft",
        "close_case",
        "reopen_case",
    }


def test_what_cannot_be_undone_and_what_destroys() -> None:
    assert {tool.name for tool in TOOLS if tool.irreversible} == {
        "refund_charge",
        "void_invoice",
        "write_off_invoice",
        "end_subscription_now",
    }
    assert {tool.name for tool in TOOLS if tool.destructive} == {
        "void_invoice",
        "write_off_invoice",
        "end_subscription_now",
    }


@pytest.mark.parametrize("tool", TOOLS, ids=_name)
def test_every_record_of_a_customer_that_a_call_names_is_scoped(tool: ToolSpec) -> None:
    kinds = {
        "invoice_id": "invoice",
        "charge_id": "charge",
        "subscription_id": "subscription",
        "credit_id": "credit",
        "payment_method_id": "method",
        "mail_id": "mail",
    }
    assert tool.scoped == {name: kind for name, kind in kinds.items() if name in tool.input_schema["properties"]}


@pytest.mark.parametrize("amount", [0, -1, 12.5, float("nan"), "12", True, None, 10**12])
@pytest.mark.parametrize("name", ["apply_credit", "retry_charge", "refund_charge"])
def test_an_amount_that_is_none_is_refused(name: str, amount: object) -> None:
    found = tool(name)
    assert schemas.violations(found.checks_input, {**found.examples[0], "amount_minor": amount})


MEANT: Mapping[str, Write] = {
    "apply_credit": ApplyCredit(Money(1500, "USD"), "Two hours without service on 12 November."),
    "reverse_credit": ReverseCredit("cr_8b21f0", "It was given to the wrong account."),
    "retry_charge": RetryCharge("in_31d0c2", "pm_4242", Money(4900, "USD")),
    "refund_charge": RefundCharge("ch_77a410", Money(2900, "USD"), "The month was charged twice."),
    "generate_invoice": GenerateInvoice(
        (Item("Onboarding workshop, 2 hours", 2, 12000),), "USD", "As agreed on 12 November.", 14
    ),
    "void_invoice": VoidInvoice("in_31d0c2", "It bills the same workshop a second time."),
    "write_off_invoice": WriteOffInvoice("in_31d0c2", "The company was dissolved in October."),
    "change_plan": ChangePlan("sub_5c10", "team-monthly", 3, now=True),
    "drop_plan_change": DropPlanChange("sub_5c10"),
    "pause_subscription": PauseSubscription("sub_5c10", date(2027, 1, 15)),
    "resume_subscription": ResumeSubscription("sub_5c10"),
    "cancel_subscription": CancelSubscription("sub_5c10", now=False, reason="They move to another product."),
    "end_subscription_now": CancelSubscription("sub_5c10", now=True, reason="The company closes today."),
    "keep_subscription": KeepSubscription("sub_5c10"),
    "draft_email": WriteMail("refund-made", (("amount", "$29.00"), ("invoice", "INV-000042")), send=False),
    "send_email": WriteMail("refund-made", (("amount", "$29.00"), ("invoice", "INV-000042")), send=True),
    "recall_email": RecallMail("ml_90aa17"),
    "discard_email_draft": DiscardMail("ml_90aa17"),
    "close_case": CloseCase("Invoice INV-000042 was explained to the customer by mail; nothing is left to do."),
    "reopen_case": ReopenCase(),
    "escalate_case": EscalateCase(
        "The customer disputes the charge with their bank.",
        "Dana Ruiz asks for $29.00 back. The charge is disputed, so nothing was refunded.",
    ),
}


@pytest.mark.parametrize("tool", WRITES, ids=_name)
def test_what_is_previewed_is_what_is_written(tool: ToolSpec, system: Recording) -> None:
    assert tool.preview is not None
    assert tool.reconcile is not None
    tool.preview(CONTEXT, tool.examples[0])
    tool.run(CONTEXT, tool.examples[0])
    assert system.asked == [("preview", MEANT[tool.name]), ("write", MEANT[tool.name])]
    assert tool.reconcile(CONTEXT) == {"key": ""}


def test_what_is_left_out_has_its_meaning(system: Recording) -> None:
    tool("pause_subscription").run(CONTEXT, {"subscription_id": "sub_1"})
    tool("apply_credit").run(CONTEXT, {**tool("apply_credit").examples[0], "invoice_id": "in_1"})
    tool("change_plan").run(CONTEXT, tool("change_plan").examples[1])
    assert [write for _, write in system.asked] == [
        PauseSubscription("sub_1", None),
        ApplyCredit(Money(1500, "USD"), "Two hours without service on 12 November.", "in_1"),
        ChangePlan("sub_5c10", "solo-monthly", 1, now=False),
    ]


@pytest.mark.parametrize(
    ("name", "changes", "field"),
    [
        ("apply_credit", {"currency": "XXY"}, "currency"),
        ("refund_charge", {"currency": "usd"}, "currency"),
        ("pause_subscription", {"until": "2027-02-30"}, "until"),
    ],
)
def test_a_value_that_does_not_exist_is_refused_before_the_system_is_asked(
    name: str, changes: dict[str, str], field: str, system: Recording
) -> None:
    found = tool(name)
    arguments = {**found.examples[0], **changes}
    assert schemas.violations(found.checks_input, arguments) == []
    with pytest.raises(ToolFailure) as failure:
        found.run(CONTEXT, arguments)
    assert (failure.value.kind, failure.value.field, system.asked) == ("VALIDATION", field, [])


SUBSCRIPTION = {"subscription_id": "sub_5c10"}
CHARGED = {"charge_id": "ch_1", "status": "succeeded"}
CHANGED = {"former_plan_id": "solo-monthly", "former_quantity": 2}
UNDONE: list[tuple[str, int, dict[str, Any], tuple[str, dict[str, Any]] | None]] = [
    (
        "apply_credit",
        0,
        {"credit_id": "cr_1", "left_minor": 900},
        ("reverse_credit", {"credit_id": "cr_1", "reason": "The credit was given by mistake."}),
    ),
    ("apply_credit", 1, {"credit_id": "cr_1", "left_minor": 0}, None),
    (
        "reverse_credit",
        0,
        {"amount_minor": 900, "currency": "USD"},
        (
            "apply_credit",
            {"amount_minor": 900, "currency": "USD", "reason": "The credit was taken back by mistake."},
        ),
    ),
    (
        "retry_charge",
        0,
        CHARGED,
        (
            "refund_charge",
            {
                "charge_id": "ch_1",
                "amount_minor": 4900,
                "currency": "USD",
                "reason": "The charge was made by mistake.",
            },
        ),
    ),
    ("retry_charge", 0, {**CHARGED, "status": "failed"}, None),
    (
        "generate_invoice",
        0,
        {"invoice_id": "in_1"},
        ("void_invoice", {"invoice_id": "in_1", "reason": "The invoice was made by mistake."}),
    ),
    (
        "change_plan",
        0,
        CHANGED,
        ("change_plan", {**SUBSCRIPTION, "plan_id": "solo-monthly", "quantity": 2, "when": "now"}),
    ),
    ("change_plan", 0, {}, None),
    ("change_plan", 1, {"next_plan_id": "solo-monthly"}, ("drop_plan_change", SUBSCRIPTION)),
    (
        "drop_plan_change",
        0,
        {"former_next_plan_id": "solo-monthly", "quantity": 1},
        ("change_plan", {**SUBSCRIPTION, "plan_id": "solo-monthly", "quantity": 1, "when": "next_period"}),
    ),
    ("pause_subscription", 0, SUBSCRIPTION, ("resume_subscription", SUBSCRIPTION)),
    ("resume_subscription", 0, SUBSCRIPTION, ("pause_subscription", SUBSCRIPTION)),
    ("cancel_subscription", 0, SUBSCRIPTION, ("keep_subscription", SUBSCRIPTION)),
    (
        "keep_subscription",
        0,
        SUBSCRIPTION,
        ("cancel_subscription", {**SUBSCRIPTION, "reason": "Keeping it was a mistake."}),
    ),
    ("draft_email", 0, {"mail_id": "ml_1"}, ("discard_email_draft", {"mail_id": "ml_1"})),
    ("send_email", 0, {"mail_id": "ml_1"}, ("recall_email", {"mail_id": "ml_1"})),
    ("send_email", 0, {}, None),
    ("close_case", 0, {}, ("reopen_case", {})),
    ("reopen_case", 0, {}, ("close_case", {"note": "It was done; opening it again was a mistake."})),
]


@pytest.mark.parametrize(("name", "example", "result", "undo"), UNDONE)
def test_a_write_is_taken_back_by_this_call(
    name: str, example: int, result: dict[str, Any], undo: tuple[str, dict[str, Any]] | None
) -> None:
    found = tool(name)
    assert found.undo_call is not None
    assert found.undo_call(found.examples[example], result) == undo
    if undo is not None:
        assert schemas.violations(tool(undo[0]).checks_input, undo[1]) == []


def test_every_undo_that_is_a_call_is_tried_above() -> None:
    assert {name for name, *_ in UNDONE} == {tool.name for tool in TOOLS if tool.undo_call is not None}
    assert {tool.name for tool in WRITES if not tool.irreversible and tool.undo_call is None} == {
        "recall_email",
        "discard_email_draft",
        "escalate_case",
    }


@pytest.mark.parametrize(
    ("code", "reason"), [("BUDGET_STEPS", "The session reached its limit of steps."), ("x" * 900, "x" * 300)]
)
def test_a_stopped_session_is_handed_over(code: str, reason: str) -> None:
    name, arguments = ROLE.fallback(code)
    assert name == "escalate_case"
    assert arguments["reason"] == reason
    assert schemas.violations(tool(name).checks_input, dict(arguments)) == []


@pytest.mark.parametrize("tool", TOOLS, ids=_name)
def test_it_is_said_of_every_value_that_comes_back_who_wrote_it(tool: ToolSpec) -> None:
    undeclared = [
        name
        for name in tool.output_schema["properties"]
        if name not in tool.flow.results and not any(path.startswith(f"{name}[]") for path in tool.flow.results)
    ]
    assert undeclared == []


def test_no_argument_of_a_write_names_another_address() -> None:
    """A mail goes to the customer's own address: there is no way to say another one."""
    for each in WRITES:
        assert not {"to", "email", "address", "recipient"} & set(each.input_schema["properties"])
