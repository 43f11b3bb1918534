"""The state charts hold for everything that the playbook does, and bar what they are there to bar."""

import json
from pathlib import Path
from typing import Any

import pytest

from agentops.registry.planner import Observation, ObservationStatus
from agentops.registry.process import Inadmissible, ProcessFacts, ProcessSpec, Step, next_step
from agentops.registry.tool import Tier
from agentops.tenancy.models import Tenant
from benchmarks.tau_script import proposals_of
from support_agent.intake import load_subject, waiting_subjects
from support_agent.playbook import Playbook
from support_agent.processes import ORDER_CHANGE, REFUND, RETURN
from support_agent.seeds import seed_demo
from support_agent.tools import TOOLS
from support_agent.tools.taking_back import TAKING_BACK
from tests.factories.desk_runner import Verdict, allow_all, hard_writes_end_as, reads_fail, work
from tests.support_agent.charts import GOVERNING, replay
from tests.support_agent.test_playbook_shop import SHOP

OK, UNKNOWN = ObservationStatus.OK, ObservationStatus.UNKNOWN


def seen(tool: str, arguments: Any = None, result: Any = None, status: ObservationStatus = OK) -> Observation:
    return Observation(1, tool, arguments or {}, status, result or {})


def order(order_id: str = "#W1", **changes: Any) -> Observation:
    told = {"order_id": order_id, "status": "pending", "currency": "USD", "refundable_minor": 4500, **changes}
    return seen("lookup_order", {"order_id": order_id}, told)


def step(process: ProcessSpec, state: str, tool: str, arguments: dict[str, Any], *history: Observation) -> str:
    """Return the state that a call leads to, or why it is no step."""
    found = next_step(process, state, tool, ProcessFacts(arguments, history))
    return f"→ {found.edge.target}" if isinstance(found, Step) else found.words


REFUND_CALL = {"order_id": "#W1", "amount_minor": 1200, "currency": "USD", "payment_method_id": "card-1"}
CREDIT_CALL = {"amount_minor": 500, "currency": "USD", "payment_method_id": "gift-1"}
CUSTOMER = seen(
    "lookup_customer",
    {},
    {
        "payment_methods": [
            {"payment_method_id": "gift-1", "kind": "gift_card"},
            {"payment_method_id": "card-1", "kind": "credit_card"},
        ]
    },
)


@pytest.mark.django_db
@pytest.mark.parametrize(
    "verdict",
    [allow_all, reads_fail, *(hard_writes_end_as(status) for status in ObservationStatus if status is not OK)],
)
def test_the_playbook_takes_only_steps_of_the_charts(verdict: Verdict) -> None:
    tenant = seed_demo()
    passed = [replay(work(tenant.id, waiting, verdict).history) for waiting in waiting_subjects(tenant.id, 100)]
    assert len(passed) == 36
    if verdict is allow_all:
        ends = {name: {states[name][-1] for states in passed if name in states} for name in ("refund", "return")}
        assert ends == {"refund": {"told"}, "return": {"accepted"}}
        assert sum("refunded" in states.get("refund", ()) for states in passed) == 8
        assert sum("order_change" in states for states in passed) == 5


@pytest.mark.django_db
def test_the_playbook_takes_nothing_back() -> None:
    tenant = seed_demo()
    names = {tool.name for tool in TAKING_BACK}
    for waiting in waiting_subjects(tenant.id, 100):
        assert not names.intersection(one.tool for one in work(tenant.id, waiting).history)


@pytest.mark.skipif(not SHOP.is_dir(), reason="no shop to read (SHOP_DIR)")
def test_the_recorded_calls_of_the_retail_benchmark_are_steps_in_their_order() -> None:
    tasks = [json.loads(line) for line in Path(SHOP, "tasks.jsonl").read_text(encoding="utf-8").splitlines()]
    steps = 0
    for task in tasks:
        calls = proposals_of(task["actions"])
        history = []
        for call in calls:
            assert isinstance(call.arguments, dict)
            told = {"order_id": call.arguments["order_id"]} if call.tool in GOVERNING else {}
            failed = call.tool.startswith("lookup")
            history.append(seen(call.tool, call.arguments, told, ObservationStatus.FAILED if failed else OK))
        replay([*history, seen("send_reply", {"body": "Done."})])
        steps += sum(call.tool in GOVERNING for call in calls)
    assert steps > 300


def test_every_hard_write_of_an_order_and_every_reply_is_a_step() -> None:
    hard = {tool.name for tool in TOOLS if tool.tier is Tier.WRITE_HARD}
    assert set(GOVERNING) == {*hard, "send_reply"} - {"change_customer_address", "stop_payout"}


@pytest.mark.parametrize(
    ("history", "changes", "answer"),
    [
        ((order(),), {}, "→ refunded"),
        ((order(),), {"amount_minor": 4500}, "→ refunded"),
        ((), {}, "Order #W1 was not looked up in this session; look it up before money goes back."),
        ((order("#W2"),), {}, "Order #W1 was not looked up in this session; look it up before money goes back."),
        (
            (seen("lookup_order", {"order_id": "#W1"}, {"code": "NOT_FOUND"}, ObservationStatus.FAILED),),
            {},
            "Order #W1 was not looked up in this session; look it up before money goes back.",
        ),
        ((order(currency="EUR"),), {}, "Order #W1 was paid in EUR."),
        (
            (order(), order(refundable_minor=1199)),
            {},
            "The look-up of order #W1 does not show so much that can still be refunded; look it up again.",
        ),
        ((order(refundable_minor=1199), order()), {}, "→ refunded"),
        ((seen("lookup_order", {}, {"order_id": "#W1"}),), {}, "The guard of 'refund' failed: KeyError."),
    ],
)
def test_a_refund_needs_an_order_that_was_looked_up_and_shows_that_much(
    history: tuple[Observation, ...], changes: dict[str, Any], answer: str
) -> None:
    assert step(REFUND, "asked", "issue_refund", {**REFUND_CALL, **changes}, *history) == answer


@pytest.mark.parametrize(
    ("history", "changes", "answer"),
    [
        ((CUSTOMER,), {}, "→ refunded"),
        ((), {}, "The customer was not looked up in this session; look the customer up before a credit."),
        ((CUSTOMER,), {"payment_method_id": "card-1"}, "The look-up of the customer does not show that gift card."),
    ],
)
def test_a_credit_needs_a_gift_card_that_was_seen(
    history: tuple[Observation, ...], changes: dict[str, Any], answer: str
) -> None:
    assert step(REFUND, "asked", "issue_credit", {**CREDIT_CALL, **changes}, *history) == answer


def test_the_customer_is_told_when_every_outcome_is_known_or_a_person_has_the_ticket() -> None:
    lost = seen("issue_refund", REFUND_CALL, {"code": "UNKNOWN"}, UNKNOWN)
    refused = seen("escalate_ticket", {}, {}, ObservationStatus.REFUSED)
    words = "Nobody knows yet what became of issue_refund; hand the ticket over before the customer is told."
    for state in ("asked", "refunded", "told"):
        assert step(REFUND, state, "send_reply", {"body": "x"}) == "→ told"
        assert step(REFUND, state, "send_reply", {"body": "x"}, lost) == words
        assert step(REFUND, state, "send_reply", {"body": "x"}, lost, refused) == words
        assert step(REFUND, state, "send_reply", {"body": "x"}, lost, seen("escalate_ticket")) == "→ told"


def test_money_after_the_answer_has_to_be_told_again() -> None:
    assert REFUND.final == {"told"}
    assert step(REFUND, "told", "issue_refund", REFUND_CALL, order()) == "→ refunded"
    assert step(REFUND, "told", "issue_credit", CREDIT_CALL, CUSTOMER) == "→ refunded"
    assert REFUND.compensates


SETTLED = {"order_id": "#W1", "status": "x"}
PENDING_TOOLS = ["change_order_address", "change_order_payment", "change_order_items", "cancel_pending_order"]
RETURN_TOOLS = ["return_delivered_items", "exchange_delivered_items"]


@pytest.mark.parametrize("tool", PENDING_TOOLS)
@pytest.mark.parametrize("state", ORDER_CHANGE.states)
def test_a_settled_order_is_not_changed_again_and_another_one_is(state: str, tool: str) -> None:
    target = "settled" if tool in ("change_order_items", "cancel_pending_order") else "details changed"
    settled = seen("change_order_items", {"order_id": "#W1"}, SETTLED)
    assert step(ORDER_CHANGE, state, tool, {"order_id": "#W2"}, settled) == f"→ {target}"
    done = "cancelled" if tool == "cancel_pending_order" else "changed"
    words = f"Order #W1 was settled by change_order_items in this session; nothing more can be {done}."
    assert step(ORDER_CHANGE, state, tool, {"order_id": "#W1"}, settled) == words
    assert step(ORDER_CHANGE, state, tool, {"order_id": "#W1"}, order()) == f"→ {target}"
    not_done = seen("change_order_items", {"order_id": "#W1"}, {"code": "CONFLICT"}, ObservationStatus.FAILED)
    assert step(ORDER_CHANGE, state, tool, {"order_id": "#W1"}, not_done) == f"→ {target}"
    shipped = order(status="processed")
    words = f"Order #W1 is processed; only a pending order can be {done}."
    assert step(ORDER_CHANGE, state, tool, {"order_id": "#W1"}, shipped) == words
    assert step(ORDER_CHANGE, state, tool, {"order_id": "#W1"}, shipped, order()) == f"→ {target}"


@pytest.mark.parametrize("tool", RETURN_TOOLS)
@pytest.mark.parametrize("state", RETURN.states)
def test_items_of_an_order_go_back_once(state: str, tool: str) -> None:
    back = seen("return_delivered_items", {"order_id": "#W1"}, SETTLED)
    there = order(status="delivered")
    assert step(RETURN, state, tool, {"order_id": "#W1"}, there) == "→ accepted"
    assert step(RETURN, state, tool, {"order_id": "#W2"}, there, back) == "→ accepted"
    words = (
        "Order #W1 was settled by return_delivered_items in this session; nothing more can be returned or exchanged."
    )
    assert step(RETURN, state, tool, {"order_id": "#W1"}, there, back) == words
    words = "Order #W1 is pending; only a delivered order can be returned or exchanged."
    assert step(RETURN, state, tool, {"order_id": "#W1"}, order()) == words


def test_what_may_come_instead_is_named() -> None:
    found = next_step(RETURN, "asked", "send_reply", ProcessFacts({}, ()))
    assert found == Inadmissible(
        "Return or exchange stands at 'asked', where send_reply is no step.", tuple(RETURN_TOOLS)
    )


@pytest.mark.django_db
def test_the_playbook_answers_a_ticket_of_somebody_unknown_outside_the_charts() -> None:
    tenant: Tenant = seed_demo()
    subject = load_subject(tenant.id, "T-1033")
    assert subject is not None
    assert replay(work(tenant.id, subject, planner=Playbook()).history) == {}
