"""Refunds and credits of the real role, through the door that workers use: small ones run, larger sums ask."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.utils import timezone

from agentops.agents.models import Agent
from agentops.ledger.models import LedgerEvent
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry import roles
from agentops.registry.planner import FinalAnswer, Planner, ToolCall
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import employ_agent, start_session
from approvals.models import ApprovalRequest, Verdict
from approvals.operations import decide_request
from support_agent import models
from support_agent.connectors.stopping import Stop, stop_payout
from support_agent.role import ROLE
from tests.factories.people import Cast, make_cast
from tests.factories.sums import sums_of_targets
from tests.factories.support import Shop, make_shop, make_ticket

pytestmark = pytest.mark.django_db

DONE = FinalAnswer("All done.")
LIMIT = "Refunds and credits of more than $25.00 for one customer in one day need a person."
AGAIN = "The same action was already done in this session."
Work = Callable[..., Session]


@pytest.fixture
def cast() -> Cast:
    return make_cast(queue="refunds")


@pytest.fixture
def shop(cast: Cast) -> Shop:
    return make_shop(cast.tenant)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch, cast: Cast, shop: Shop) -> Work:
    """Works a ticket of the shop with the support role and a script in the place of its playbook."""
    script: list[Planner] = []
    role = replace(ROLE, playbook=lambda: script[-1])
    monkeypatch.setattr(roles, "all_roles", lambda: (role,))
    agent: Agent = employ_agent(tenant_id=cast.tenant.pk, role=role, name="Support", actor="user:bob")
    # Tickets that wait are begun by the test, not by the sweep.
    models.Ticket.objects.update(taken_at=datetime(2026, 11, 1, tzinfo=UTC))

    def run(ticket: str, *steps: object) -> Session:
        # Money is told of before the work ends, in other words each time.
        told = ToolCall("send_reply", {"body": f"This is answer {len(script) + 1}."}, "The customer has to know.")
        models.Ticket.objects.filter(ref=ticket).update(body=wish_for(steps))
        script.append(ScriptedPlanner([*look_ups(steps), *steps, told, DONE]))
        session = start_session(agent=agent, subject_id=ticket, actor="user:bob")
        work_until_quiet()
        session.refresh_from_db()
        return session

    return run


def wish_for(steps: Sequence[object]) -> str:
    """Return what the customer writes: that they want exactly this money."""
    sums = {"issue_refund": "a refund", "issue_credit": "a goodwill credit"}
    return "\n".join(
        f"Please give me {sums[step.tool]} of ${step.arguments['amount_minor'] / 100:.2f}."
        for step in steps
        if isinstance(step, ToolCall) and step.tool in sums and isinstance(step.arguments, dict)
    )


def look_ups(steps: Sequence[object]) -> list[ToolCall]:
    """Return what has to be known before money goes back: the customer, and each order that is named."""
    arguments = [step.arguments for step in steps if isinstance(step, ToolCall) and isinstance(step.arguments, dict)]
    orders = sorted({str(given["order_id"]) for given in arguments if "order_id" in given})
    return [ToolCall("lookup_customer", {}), *(ToolCall("lookup_order", {"order_id": order}) for order in orders)]


def refund(minor: int, order: str = "#W1", method: str = "card-1") -> ToolCall:
    arguments = {"order_id": order, "amount_minor": minor, "currency": "USD", "payment_method_id": method}
    return ToolCall("issue_refund", {**arguments, "reason": "It arrived broken."}, "The customer asked for it.")


def credit(minor: int) -> ToolCall:
    arguments = {"amount_minor": minor, "currency": "USD", "payment_method_id": "gift-1", "reason": "A late parcel."}
    return ToolCall("issue_credit", arguments, "The parcel was late.")


def given() -> list[tuple[str, int]]:
    """Return what took effect in the desk, as action and amount."""
    rows = models.DeskOperation.objects.filter(settles_at__isnull=False).order_by("id")
    return [(action, result["amount_minor"]) for action, result in rows.values_list("action", "result")]


def asked() -> list[tuple[str, list[str]]]:
    """Return each question to a person, as tool and the words of the rules that ask."""
    rows = ApprovalRequest.objects.order_by("id")
    return [(row.tool, [words for _, effect, words in row.reasons if effect == "ask"]) for row in rows]


def moved() -> list[tuple[str, int]]:
    return list(sums_of_targets().values_list("target", "total_minor"))


def second_ticket(shop: Shop) -> str:
    return make_ticket(shop.tenant, "T-2", shop.dana, taken_at=timezone.now()).ref


def test_a_refund_of_twenty_dollars_runs_without_a_person(work: Work, shop: Shop) -> None:
    session = work("T-1", refund(2000))
    assert (session.status, session.outcome, session.gates) == ("finished", "refunded", 0)
    assert shop.history("#W1") == [("payment", 4500, "card-1"), ("refund", 2000, "card-1")]
    assert (asked(), moved()) == ([], [("customer:dana", 2000)])
    operation = models.DeskOperation.objects.get(action="RefundOrder")
    assert operation.ticket_ref == "T-1"
    assert stop_payout(operation_id=operation.pk, by="alice", now=timezone.now()) is Stop.STOPPED
    assert shop.history("#W1")[2:] == [("payment", 2000, "card-1")]


@pytest.mark.parametrize("call", [refund(2500), credit(2500)])
def test_exactly_the_limit_runs(work: Work, call: ToolCall) -> None:
    session = work("T-1", call)
    assert (session.status, session.outcome) == ("finished", "refunded")
    assert (len(given()), asked()) == (1, [])


@pytest.mark.parametrize("call", [refund(2600), credit(2600), refund(2501), credit(2501)])
def test_more_than_the_limit_asks(work: Work, call: ToolCall) -> None:
    session = work("T-1", call)
    assert session.status == "waiting_approval"
    assert (given(), asked()) == ([], [(call.tool, [LIMIT])])
    request = ApprovalRequest.objects.get()
    assert (request.irreversible, request.reversibility) == (
        False,
        "can be stopped for 24 hours, before it is paid out",
    )


def same_order_again(first: ToolCall, second: ToolCall, tickets: Sequence[str]) -> bool:
    """Return whether one session gives money twice for the same thing, which asks whatever the amount is."""
    given = [call.arguments for call in (first, second) if isinstance(call.arguments, dict)]
    same = len({(call.get("order_id"), call["payment_method_id"]) for call in given}) == 1
    return same and first.tool == second.tool and len(tickets) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (refund(2000), refund(1000)),
        (refund(2000), refund(1000, "#W2", "paypal-1")),
        (refund(2000), credit(1000)),
        (credit(2000), refund(1000)),
        (credit(2000), credit(1000)),
        (refund(2500), credit(1)),
    ],
)
@pytest.mark.parametrize("tickets", [("T-1",), ("T-1", "T-2")])
def test_sums_of_a_day_count_together(
    work: Work, shop: Shop, first: ToolCall, second: ToolCall, tickets: Sequence[str]
) -> None:
    second_ticket(shop)
    if len(tickets) == 1:
        session = work("T-1", first, second)
    else:
        assert work("T-1", first).status == "finished"
        session = work("T-2", second)
    assert session.status == "waiting_approval"
    assert asked() == [(second.tool, [AGAIN, LIMIT] if same_order_again(first, second, tickets) else [LIMIT])]
    assert len(given()) == 1
    assert moved() == [("customer:dana", first.arguments["amount_minor"])]  # type: ignore[index]


def test_sums_that_stay_within_the_limit_run_over_tickets_and_tools(work: Work, shop: Shop) -> None:
    second_ticket(shop)
    assert work("T-1", refund(1000), credit(500)).status == "finished"
    assert work("T-2", credit(400), refund(600)).status == "finished"
    assert given() == [("RefundOrder", 1000), ("CreditCustomer", 500), ("CreditCustomer", 400), ("RefundOrder", 600)]
    assert (asked(), moved()) == ([], [("customer:dana", 2500)])


def test_what_a_person_approved_counts_and_runs_once(work: Work, shop: Shop, cast: Cast) -> None:
    second_ticket(shop)
    work("T-1", refund(2000), refund(1000))
    request = ApprovalRequest.objects.get()
    decide_request(
        request_id=request.pk,
        person=cast.alice,
        verdict=Verdict.APPROVE,
        digest=request.digest,
        reason="",
        now=timezone.now(),
    )
    work_until_quiet()
    assert given() == [("RefundOrder", 2000), ("RefundOrder", 1000)]
    assert moved() == [("customer:dana", 3000)]
    assert work("T-2", credit(1)).status == "waiting_approval"


def test_another_customer_has_a_sum_of_their_own(work: Work, shop: Shop) -> None:
    make_ticket(shop.tenant, "T-9", shop.erin, taken_at=timezone.now())
    work("T-1", refund(2500))
    assert work("T-9", refund(500, "#W9", "card-9")).status == "finished"
    assert sorted(moved()) == [("customer:dana", 2500), ("customer:erin", 500)]


def test_a_stopped_refund_still_counts_and_is_not_made_again_on_its_ticket(work: Work, shop: Shop) -> None:
    second_ticket(shop)
    work("T-1", refund(2000))
    stop_payout(operation_id=models.DeskOperation.objects.get(action="RefundOrder").pk, by="alice", now=timezone.now())
    assert work("T-2", refund(1000)).status == "waiting_approval"
    hand_over = ToolCall("escalate_ticket", {"reason": "It was stopped.", "summary": "A person stopped the refund."})
    assert work("T-1", refund(2000), hand_over).status == "finished"
    assert LedgerEvent.objects.filter(type="call.refused", facts__code="ALREADY_DONE").count() == 1
    assert shop.history("#W1")[1:] == [("refund", 2000, "card-1"), ("payment", 2000, "card-1")]


@pytest.mark.parametrize(
    "call",
    [
        ToolCall("cancel_pending_order", {"order_id": "#W3", "reason": "no longer needed"}),
        ToolCall("return_delivered_items", {"order_id": "#W2", "item_ids": ["M-S"], "payment_method_id": "paypal-1"}),
    ],
)
def test_what_cannot_be_undone_asks_however_small(work: Work, call: ToolCall) -> None:
    assert work("T-1", call).status == "waiting_approval"
    assert Invocation.objects.get().state == "awaiting_approval"
    assert "This cannot be undone." in asked()[0][1]
