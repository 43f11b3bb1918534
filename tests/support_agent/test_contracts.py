"""What every tool of the role declares about itself."""

import pytest

from agentops.registry import schemas
from agentops.registry.tool import Dial, Tier, ToolSpec
from support_agent import models
from support_agent.connectors.records import OrderState, TicketState
from support_agent.policy import GRANTS, QUEUES
from support_agent.role import ROLE
from support_agent.tools import TOOLS

WRITES = [tool for tool in TOOLS if tool.is_write]
HARD = [tool for tool in TOOLS if tool.tier is Tier.WRITE_HARD]


def _name(tool: ToolSpec) -> str:
    return tool.name


def test_tools_are_these() -> None:
    assert [tool.name for tool in TOOLS] == [
        "lookup_customer",
        "lookup_order",
        "lookup_product",
        "list_products",
        "search_knowledge_base",
        "draft_reply",
        "send_reply",
        "update_ticket",
        "escalate_ticket",
        "issue_refund",
        "issue_credit",
        "cancel_pending_order",
        "change_order_items",
        "change_order_address",
        "change_order_payment",
        "change_customer_address",
        "return_delivered_items",
        "exchange_delivered_items",
        "recall_reply",
        "discard_draft",
        "restore_ticket_status",
        "stop_payout",
    ]


@pytest.mark.parametrize("tool", TOOLS, ids=_name)
def test_schemas_are_closed_and_bounded(tool: ToolSpec) -> None:
    assert schemas.problems_of(tool.input_schema) == []
    assert schemas.problems_of(tool.output_schema) == []


@pytest.mark.parametrize("tool", TOOLS, ids=_name)
def test_examples_fit_the_schema(tool: ToolSpec) -> None:
    checker = schemas.validator(tool.input_schema)
    assert tool.examples
    assert [schemas.violations(checker, dict(example)) for example in tool.examples] == [[]] * len(tool.examples)


@pytest.mark.parametrize("tool", TOOLS, ids=_name)
def test_an_extra_argument_is_refused(tool: ToolSpec) -> None:
    checker = schemas.validator(tool.input_schema)
    assert schemas.violations(checker, {**tool.examples[0], "tenant_id": "x"})


@pytest.mark.parametrize("tool", WRITES, ids=_name)
def test_a_write_can_be_previewed_reconciled_and_asked_about(tool: ToolSpec) -> None:
    assert tool.preview is not None
    assert tool.reconcile is not None
    assert tool.irreversible != bool(tool.undo)
    assert tool.queue in {queue.slug for queue in QUEUES}


@pytest.mark.parametrize("tool", HARD, ids=_name)
def test_every_record_that_a_hard_write_names_is_scoped(tool: ToolSpec) -> None:
    named = {"order_id": "order", "payment_method_id": "payment_method", "payout_id": "payout"}
    assert tool.scoped == {name: kind for name, kind in named.items() if name in tool.input_schema["properties"]}


@pytest.mark.parametrize("amount", [0, -1, 12.5, float("nan"), "12", True, None, 10**12])
@pytest.mark.parametrize("name", ["issue_refund", "issue_credit"])
def test_an_amount_that_is_none_is_refused(name: str, amount: object) -> None:
    tool = ROLE.tool(name)
    assert tool is not None
    checker = schemas.validator(tool.input_schema)
    assert schemas.violations(checker, {**tool.examples[0], "amount_minor": amount})


def test_fresh_agents_move_money_within_a_limit_and_ask_before_orders_change() -> None:
    dials = {grant.tool: grant.dial for grant in GRANTS}
    assert set(dials) == {tool.name for tool in TOOLS}
    assert {name for name, dial in dials.items() if dial is Dial.BOUNDED} == {"issue_refund", "issue_credit"}
    assert {name for name, dial in dials.items() if dial is Dial.ASK} == {
        *(tool.name for tool in HARD if not tool.money_family),
        "restore_ticket_status",
    }
    limits = [(t.fact, t.op, t.value, t.currency, t.effect) for grant in GRANTS for t in grant.thresholds]
    assert limits == [("money.customer_day_minor", ">", 2500, "USD", "ask")] * 2
    assert {tool.name: tool.money_family for tool in TOOLS if tool.money_family} == {
        "issue_refund": "refund",
        "issue_credit": "refund",
    }


@pytest.mark.parametrize(
    ("code", "reason"), [("BUDGET_STEPS", "The session reached its limit of steps."), ("x" * 900, "x" * 300)]
)
def test_a_stopped_session_is_handed_over(code: str, reason: str) -> None:
    name, arguments = ROLE.fallback(code)
    tool = ROLE.tool(name)
    assert tool is not None
    assert name == "escalate_ticket"
    assert arguments["reason"] == reason
    assert schemas.violations(schemas.validator(tool.input_schema), dict(arguments)) == []


def test_records_and_tables_name_the_same_states() -> None:
    assert [state.value for state in OrderState] == models.OrderStatus.values
    assert [state.value for state in TicketState] == models.TicketStatus.values
