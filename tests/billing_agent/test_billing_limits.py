"""Money of the real role, through the door that workers use: small sums run, larger ones ask, the unseen is refused."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agentops.kernel.clock import utcnow
from agentops.ledger.models import LedgerEvent
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry import roles
from agentops.registry.planner import FinalAnswer, Planner, ToolCall
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Session
from agentops.runtime.operations import employ_agent, start_session
from approvals.models import ApprovalRequest
from billing_agent import models
from billing_agent.role import ROLE
from tests.factories.billing import Desk, make_desk
from tests.factories.people import Cast, make_cast

pytestmark = pytest.mark.django_db

Work = Callable[..., Session]
LOOK = ToolCall("lookup_customer_360", {}, "Look first.")
DONE = FinalAnswer("All done.")


@pytest.fixture
def cast() -> Cast:
    return make_cast(queue="billing-money")


@pytest.fixture
def desk(cast: Cast) -> Desk:
    return make_desk(cast.tenant)


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch, cast: Cast, desk: Desk) -> Work:
    """Works Dana's case with the billing role and a script in the place of its playbook."""
    script: list[Planner] = []
    role = replace(ROLE, playbook=lambda: script[-1])
    monkeypatch.setattr(roles, "all_roles", lambda: (role,))
    agent = employ_agent(tenant_id=cast.tenant.pk, role=role, name="Billing", actor="user:bob")

    def run(wish: str, *steps: object) -> Session:
        models.Case.objects.update(body=wish, taken_at=desk.case.received_at)
        script.append(ScriptedPlanner([*steps, DONE]))
        session = start_session(agent=agent, subject_id="case-1", actor="user:bob")
        work_until_quiet()
        session.refresh_from_db()
        return session

    return run


def credit(minor: int, **more: Any) -> ToolCall:
    arguments = {"amount_minor": minor, "currency": "USD", "reason": "The outage.", **more}
    return ToolCall("apply_credit", arguments, "The customer asks for it.")


def asked() -> list[tuple[str, list[str]]]:
    """Return each question to a person, as tool and the words of the rules that ask."""
    rows = ApprovalRequest.objects.order_by("id")
    return [(row.tool, [words for _, effect, words in row.reasons if effect == "ask"]) for row in rows]


DAY = "Credits and refunds of more than $50.00 for one customer in one day need a person."
FIRST = "More than 50.00 USD is given to this customer for the first time."
LARGE = "Credits that come to more than $100.00 for one customer in one day always need a person."


def test_a_credit_of_fifty_dollars_runs_without_a_person(work: Work, desk: Desk) -> None:
    session = work("Please give us a credit of $50.00.", LOOK, credit(5000))
    assert (session.status, session.outcome, asked()) == ("finished", "refunded", [])
    assert desk.dana.credits.get().left_minor == 5000


@pytest.mark.parametrize(("minor", "words"), [(5001, [DAY, FIRST]), (10_001, [DAY, LARGE, FIRST])])
def test_more_asks(work: Work, desk: Desk, minor: int, words: list[str]) -> None:
    session = work(f"Please give us a credit of ${minor / 100:.2f}.", LOOK, credit(minor))
    assert (session.status, asked()) == ("waiting_approval", [("apply_credit", words)])
    assert not desk.dana.credits.exists()


def test_a_refund_asks_however_small_and_only_after_its_invoice_was_seen(work: Work, desk: Desk) -> None:
    refund = ToolCall(
        "refund_charge",
        {"charge_id": desk.charge().ref, "amount_minor": 100, "currency": "USD", "reason": "Charged twice."},
    )
    see = ToolCall("explain_invoice", {"invoice_id": "INV-000002"})
    session = work("Please refund $1.00 of INV-000002.", LOOK, refund, see, refund)
    assert session.status == "waiting_approval"
    assert LedgerEvent.objects.filter(type="call.refused").count() == 1
    assert "This cannot be undone." in asked()[0][1]


def test_an_invoice_is_charged_as_asked(work: Work, desk: Desk) -> None:
    see = ToolCall("explain_invoice", {"invoice_id": "INV-000001"})
    pay = ToolCall(
        "retry_charge",
        {
            "invoice_id": desk.invoice("INV-000001").ref,
            "payment_method_id": "card-1",
            "amount_minor": 2200,
            "currency": "USD",
        },
    )
    session = work("Please try again to take $22.00 for INV-000001.", LOOK, see, pay)
    assert (session.status, session.outcome, asked()) == ("finished", "changed", [])
    assert desk.invoice("INV-000001").status == "paid"


def test_an_invoice_is_made_as_asked(work: Work, desk: Desk) -> None:
    item = {"description": "Workshop", "quantity": 2, "unit_minor": 1500}
    bill = ToolCall("generate_invoice", {"items": [item], "currency": "USD", "memo": "", "due_days": 14})
    session = work("Please make us an invoice for 2 workshops at $15.00 each.", LOOK, bill)
    assert (session.status, session.outcome, asked()) == ("finished", "changed", [])
    assert desk.invoice("INV-000004").total_minor == 3300


def test_money_in_two_ways_shares_one_limit(work: Work, desk: Desk) -> None:
    session = work("Please give us credits of $30.00 and $20.01.", LOOK, credit(3000), credit(2001))
    assert session.status == "waiting_approval"
    assert DAY in asked()[0][1]
    assert desk.dana.credits.get().amount_minor == 3000


def test_what_was_not_looked_up_is_not_given(work: Work, desk: Desk) -> None:
    hand_over = ToolCall("escalate_case", {"reason": "It was refused.", "summary": "Nothing was given."})
    session = work("Please give us a credit of $5.00.", credit(500), hand_over)
    assert (session.status, session.outcome, asked()) == ("finished", "escalated", [])
    assert not desk.dana.credits.exists()


def test_a_case_is_not_closed_in_silence(work: Work, desk: Desk) -> None:
    close = ToolCall("close_case", {"note": "Nothing to do."})
    mail = ToolCall("send_email", {"template_id": "thanks", "fields": [{"name": "name", "value": "Dana"}]})
    session = work("Why is it so much?", LOOK, close, DONE, ToolCall("list_mail_templates", {}), mail)
    assert (session.status, session.outcome) == ("finished", "answered")
    assert LedgerEvent.objects.filter(type="call.refused", facts__code="NO_OUTCOME").count() == 1


def test_a_credit_that_nobody_asked_for_goes_to_a_person(work: Work, desk: Desk) -> None:
    session = work("Why is it so much?", LOOK, credit(500))
    assert session.status == "waiting_approval"


def test_a_plan_is_changed_as_asked(work: Work, desk: Desk) -> None:
    change = ToolCall(
        "change_plan", {"subscription_id": "sub-1", "plan_id": "business", "quantity": 1, "when": "next_period"}
    )
    models.Subscription.objects.filter(ref="sub-1").update(period_end=utcnow() + timedelta(days=10))
    session = work("Please upgrade sub-1 to Business.", LOOK, ToolCall("list_plans", {}), change)
    assert (session.status, session.outcome, asked()) == ("finished", "changed", [])


def test_a_mail_goes_to_the_customer(work: Work, desk: Desk) -> None:
    mail = ToolCall("send_email", {"template_id": "thanks", "fields": [{"name": "name", "value": "Dana"}]})
    session = work("Why is it so much?", LOOK, ToolCall("list_mail_templates", {}), mail)
    assert (session.status, session.outcome, asked()) == ("finished", "answered", [])


def test_the_playbook_hands_over_what_it_does_not_understand(
    work: Work, desk: Desk, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roles, "all_roles", lambda: (ROLE,))
    agent = employ_agent(tenant_id=cast.tenant.pk, role=ROLE, name="Offline", actor="user:bob")
    session = start_session(agent=agent, subject_id="case-1", actor="user:bob")
    work_until_quiet()
    session.refresh_from_db()
    assert (session.status, session.outcome, asked()) == ("finished", "escalated", [])
    assert "owes $22.00" in models.Case.objects.get(ref="case-1").note
