"""The state charts bar what they are there to bar: money that was not looked up, and steps that do not fit."""

from typing import Any

import pytest

from agentops.registry.planner import Observation, ObservationStatus
from agentops.registry.process import Inadmissible, ProcessFacts, ProcessSpec, Step, next_step, problems_of_process
from agentops.registry.tool import Tier
from billing_agent.processes import COLLECTION, PLAN_CHANGE, PROCESSES, REFUND
from billing_agent.tools import TOOLS

OK, FAILED, UNKNOWN = ObservationStatus.OK, ObservationStatus.FAILED, ObservationStatus.UNKNOWN


def seen(tool: str, result: Any = None, status: ObservationStatus = OK) -> Observation:
    return Observation(1, tool, {}, status, result or {})


def account(**changes: Any) -> Observation:
    told = {
        "currency": "USD",
        "payment_methods": [{"payment_method_id": "pm_1"}, {"payment_method_id": "pm_2"}],
        "subscriptions": [
            {"subscription_id": "sub_1", "status": "active"},
            {"subscription_id": "sub_2", "status": "past_due"},
            {"subscription_id": "sub_9", "status": "cancelled"},
        ],
    }
    return seen("lookup_customer_360", {**told, **changes})


def invoice(invoice_id: str = "in_1", *, refundable: int = 2900, **changes: Any) -> Observation:
    charge = {"charge_id": f"ch_{invoice_id}", "currency": "USD", "refundable_minor": refundable}
    told = {"invoice_id": invoice_id, "status": "open", "currency": "USD", "left_minor": 4900, "charges": [charge]}
    return seen("explain_invoice", {**told, **changes})


PLANS = seen("list_plans", {"plans": [{"plan_id": "team"}, {"plan_id": "solo"}]})


def step(process: ProcessSpec, state: str, tool: str, arguments: dict[str, Any], *history: Observation) -> str:
    """Return the state that a call leads to, or why it is no step."""
    found = next_step(process, state, tool, ProcessFacts(arguments, history))
    return f"→ {found.edge.target}" if isinstance(found, Step) else found.words


REFUND_CALL = {"charge_id": "ch_in_1", "amount_minor": 2900, "currency": "USD", "reason": "It was charged twice."}
CREDIT_CALL = {"amount_minor": 900, "currency": "USD", "reason": "An apology."}
CHARGE_CALL = {"invoice_id": "in_1", "payment_method_id": "pm_1", "amount_minor": 4900, "currency": "USD"}
BILL_CALL = {"items": [], "currency": "USD", "memo": "", "due_days": 0}
CHANGE_CALL = {"subscription_id": "sub_1", "plan_id": "team", "quantity": 1, "when": "now"}
LOOK_FIRST = "The customer was not looked up in this session; call lookup_customer_360 first."


@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)
def test_a_chart_holds_together(process: ProcessSpec) -> None:
    assert list(problems_of_process(process)) == []


def test_every_hard_write_that_takes_nothing_back_is_a_step_and_so_is_a_mail() -> None:
    hard = {tool.name for tool in TOOLS if tool.tier is Tier.WRITE_HARD}
    taking_back = {"reverse_credit", "drop_plan_change", "resume_subscription", "keep_subscription"}
    # What was billed is not asked for any more.
    taking_back |= {"void_invoice", "write_off_invoice"}
    assert {tool for process in PROCESSES for tool in process.tools} == {*hard, "send_email"} - taking_back


@pytest.mark.parametrize(
    ("history", "changes", "answer"),
    [
        ((invoice(),), {}, "→ given"),
        ((invoice("in_2"), invoice()), {"amount_minor": 1}, "→ given"),
        ((), {}, "No invoice with charge ch_in_1 was looked up; call explain_invoice before money goes back."),
        (
            (invoice("in_2"),),
            {},
            "No invoice with charge ch_in_1 was looked up; call explain_invoice before money goes back.",
        ),
        (
            (seen("explain_invoice", {"code": "NOT_FOUND"}, FAILED),),
            {},
            "No invoice with charge ch_in_1 was looked up; call explain_invoice before money goes back.",
        ),
        (
            (invoice(),),
            {"amount_minor": 2901},
            "explain_invoice does not show so much of charge ch_in_1 that can still go back; look it up again.",
        ),
        (
            (invoice(), invoice(refundable=2899)),
            {},
            "explain_invoice does not show so much of charge ch_in_1 that can still go back; look it up again.",
        ),
        ((invoice(refundable=0), invoice()), {}, "→ given"),
        ((invoice(),), {"currency": "EUR"}, "Charge ch_in_1 was made in USD."),
        ((seen("explain_invoice", {"invoice_id": "in_1"}),), {}, "The guard of 'refund' failed: KeyError."),
    ],
)
def test_a_refund_needs_a_charge_that_was_looked_up_and_shows_that_much(
    history: tuple[Observation, ...], changes: dict[str, Any], answer: str
) -> None:
    assert step(REFUND, "asked", "refund_charge", {**REFUND_CALL, **changes}, *history) == answer


@pytest.mark.parametrize(
    ("history", "changes", "answer"),
    [
        ((account(),), {}, "→ given"),
        ((account(), invoice()), {"invoice_id": "in_1"}, "→ given"),
        ((), {}, LOOK_FIRST),
        ((account(),), {"currency": "JPY"}, "The customer is billed in USD."),
        (
            (account(), invoice("in_2")),
            {"invoice_id": "in_1"},
            "Invoice in_1 was not looked up; call explain_invoice before it is credited.",
        ),
    ],
)
def test_a_credit_needs_the_customer_and_the_invoice_that_it_names(
    history: tuple[Observation, ...], changes: dict[str, Any], answer: str
) -> None:
    assert step(REFUND, "asked", "apply_credit", {**CREDIT_CALL, **changes}, *history) == answer


def test_a_customer_is_told_once_every_outcome_is_known_or_a_person_has_the_case() -> None:
    lost = seen("refund_charge", status=UNKNOWN)
    words = "Nobody knows yet what became of refund_charge; hand the case over before the customer is told."
    assert step(REFUND, "given", "send_email", {}, seen("refund_charge")) == "→ told"
    assert step(REFUND, "asked", "send_email", {}) == "→ told"
    assert step(REFUND, "given", "send_email", {}, lost) == words
    assert step(REFUND, "given", "send_email", {}, lost, seen("escalate_case", status=FAILED)) == words
    assert step(REFUND, "given", "send_email", {}, lost, seen("escalate_case")) == "→ told"


def tried(status: str, method: str = "pm_1", of: str = "in_1") -> Observation:
    return seen("retry_charge", {"invoice_id": of, "payment_method_id": method, "status": status})


@pytest.mark.parametrize(
    ("history", "changes", "answer"),
    [
        ((account(), invoice()), {}, "→ tried"),
        ((account(), invoice(), tried("failed", "pm_2")), {}, "→ tried"),
        ((account(), invoice(), tried("succeeded", of="in_2")), {}, "→ tried"),
        ((invoice(),), {}, LOOK_FIRST),
        ((account(),), {}, "Invoice in_1 was not looked up; call explain_invoice before it is charged."),
        ((account(), invoice(status="paid")), {}, "Invoice in_1 is paid; only an open one is charged."),
        (
            (account(), invoice()),
            {"amount_minor": 4899},
            "Of invoice in_1 are left 4900 in USD; charge exactly that.",
        ),
        ((account(), invoice()), {"currency": "EUR"}, "Of invoice in_1 are left 4900 in USD; charge exactly that."),
        (
            (account(), invoice()),
            {"payment_method_id": "pm_3"},
            "The look-up of the customer does not show that payment method.",
        ),
        (
            (account(), invoice(), tried("failed")),
            {},
            "Invoice in_1 was tried with pm_1 in this session; the next attempt is due later.",
        ),
        (
            (account(), invoice(), tried("succeeded")),
            {"payment_method_id": "pm_2"},
            "Invoice in_1 was charged in this session.",
        ),
    ],
)
def test_a_charge_needs_an_open_invoice_exactly_what_is_left_and_a_method_not_tried(
    history: tuple[Observation, ...], changes: dict[str, Any], answer: str
) -> None:
    assert step(COLLECTION, "tried", "retry_charge", {**CHARGE_CALL, **changes}, *history) == answer


def test_an_invoice_needs_the_customer_in_their_currency() -> None:
    assert step(COLLECTION, "due", "generate_invoice", BILL_CALL, account()) == "→ billed"
    assert step(COLLECTION, "due", "generate_invoice", BILL_CALL) == LOOK_FIRST
    assert step(COLLECTION, "due", "generate_invoice", BILL_CALL, account(currency="EUR")) == (
        "The customer is billed in EUR."
    )


@pytest.mark.parametrize(
    ("history", "changes", "answer"),
    [
        ((account(), PLANS), {}, "→ changed"),
        ((account(), PLANS), {"subscription_id": "sub_2"}, "→ changed"),
        ((account(),), {}, "The plans were not looked up in this session; call list_plans before a plan is sold."),
        ((account(), PLANS), {"plan_id": "gold"}, "list_plans does not show plan gold."),
        ((PLANS,), {}, LOOK_FIRST),
        (
            (account(), PLANS),
            {"subscription_id": "sub_3"},
            "The look-up of the customer does not show subscription sub_3.",
        ),
        (
            (account(), PLANS),
            {"subscription_id": "sub_9"},
            "Subscription sub_9 is cancelled; nothing about it can be changed.",
        ),
        (
            (account(), PLANS, seen("end_subscription_now", {"subscription_id": "sub_1"})),
            {},
            "Subscription sub_1 was ended in this session.",
        ),
    ],
)
def test_a_plan_is_changed_when_subscription_and_plan_were_looked_up(
    history: tuple[Observation, ...], changes: dict[str, Any], answer: str
) -> None:
    assert step(PLAN_CHANGE, "as sold", "change_plan", {**CHANGE_CALL, **changes}, *history) == answer


@pytest.mark.parametrize(
    ("tool", "state"),
    [("pause_subscription", "changed"), ("cancel_subscription", "ended"), ("end_subscription_now", "ended")],
)
@pytest.mark.parametrize("start", ["as sold", "changed", "ended"])
def test_a_subscription_is_looked_up_before_it_is_paused_or_ended(tool: str, state: str, start: str) -> None:
    call = {"subscription_id": "sub_1"}
    assert step(PLAN_CHANGE, start, tool, call, account()) == f"→ {state}"
    assert step(PLAN_CHANGE, start, tool, call) == LOOK_FIRST
    assert step(PLAN_CHANGE, start, tool, {"subscription_id": "sub_9"}, account()) == (
        "Subscription sub_9 is cancelled; nothing about it can be changed."
    )


def test_a_call_that_is_no_step_names_what_is() -> None:
    found = next_step(COLLECTION, "due", "apply_credit", ProcessFacts(CREDIT_CALL, ()))
    assert found == Inadmissible(
        "Billing and charging stands at 'due', where apply_credit is no step.", ("generate_invoice", "retry_charge")
    )
