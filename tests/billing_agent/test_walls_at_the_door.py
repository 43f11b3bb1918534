"""Walls of billing through the door that workers and approvers use: rules, closed books, two people, own benefit."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import events_of
from agentops.llm.scripted import ScriptedPlanner
from agentops.policy.models import RuleSet
from agentops.registry import roles
from agentops.registry.planner import FinalAnswer, Planner, ToolCall
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import MoneyWindow, Session
from agentops.runtime.operations import employ_agent, start_session
from agentops.runtime.windows import Place
from approvals.models import ApprovalRequest, Decision, Verdict
from approvals.operations import decide_request, dispatch_due
from billing_agent import models
from billing_agent.books import balances, imbalances
from billing_agent.models import Account
from billing_agent.role import ROLE
from tests.approvals.conftest import client_of, decide
from tests.factories.billing import Desk, make_desk
from tests.factories.people import Cast, make_approver, make_cast

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
    """Works a new case of Dana's with the billing role and a script in the place of its playbook."""
    script: list[Planner] = []
    role = replace(ROLE, playbook=lambda: script[-1])
    monkeypatch.setattr(roles, "all_roles", lambda: (role,))
    agent = employ_agent(tenant_id=cast.tenant.pk, role=role, name="Billing", actor="user:bob")
    models.Case.objects.update(taken_at=desk.case.received_at)

    def run(wish: str, *steps: object, actor: str = "user:bob") -> Session:
        number = models.Case.objects.count() + 1
        case = models.Case.objects.get(ref="case-1")
        case.pk, case.ref, case.source_key, case.body = None, f"case-{number}", f"test:{number}", wish
        case.save(force_insert=True)
        script.append(ScriptedPlanner([*steps, DONE]))
        session = start_session(agent=agent, subject_id=case.ref, actor=actor)
        work_until_quiet()
        session.refresh_from_db()
        return session

    return run


def credit(minor: int, currency: str = "USD", reason: str = "The outage.") -> ToolCall:
    arguments = {"amount_minor": minor, "currency": currency, "reason": reason}
    return ToolCall("apply_credit", arguments, "The customer asks for it.")


def give(work: Work, minor: int, currency: str = "USD", **more: Any) -> Session:
    return work(f"Please give us a credit of {minor / 100:.2f} {currency}.", LOOK, credit(minor, currency), **more)


def why() -> list[str]:
    """Return why the only request that waits is asked about."""
    return [words for _, effect, words in ApprovalRequest.objects.get(state="pending").reasons if effect == "ask"]


def refusals() -> list[str]:
    return [str(event.facts["code"]) for event in LedgerEvent.objects.filter(type="call.refused").order_by("at")]


def test_an_agent_that_is_employed_brings_rules_that_people_can_edit(work: Work, cast: Cast) -> None:
    active = RuleSet.objects.get(tenant=cast.tenant, active=True)
    assert active.document == {"rules": [dict(rule) for rule in ROLE.rules]}


def test_small_credits_add_up_over_thirty_days(work: Work, desk: Desk) -> None:
    for expected in ("finished", "finished", "finished", "waiting_approval"):
        assert give(work, 5000).status == expected
        a_day_passes()
    assert why() == ["With this, more than 150.00 USD is given to one customer in 30 days."]
    assert desk.dana.credits.count() == 3


def a_day_passes() -> None:
    """Let what moved have moved a day earlier."""
    for row in MoneyWindow.objects.order_by("day"):
        place = Place(row.tenant_id, row.family, row.currency, row.day - timedelta(days=1))
        MoneyWindow.objects.filter(pk=row.pk).update(id=place.row_of(row.target), day=place.day)


def test_a_currency_that_no_rule_names_is_refused_in_words(work: Work, desk: Desk) -> None:
    models.Customer.objects.filter(ref="dana").update(currency="CHF")
    hand_over = ToolCall("escalate_case", {"reason": "Refused.", "summary": "CHF."})
    session = work("Please give us a credit of 10.00 CHF.", LOOK, credit(1000, "CHF"), hand_over)
    assert (session.outcome, refusals(), desk.dana.credits.count()) == ("escalated", ["POLICY"], 0)
    [event] = LedgerEvent.objects.filter(type="call.refused")
    assert not ApprovalRequest.objects.exists()
    assert "The rules compare money in EUR, GBP, JPY, USD only." in str(_payload(event))


def _payload(event: LedgerEvent) -> Any:
    return next(each.body for each in events_of(event.stream) if each.position == event.position)


@pytest.mark.parametrize("currency", ["EUR", "GBP", "JPY"])
def test_a_currency_without_a_limit_of_the_grant_asks(work: Work, desk: Desk, currency: str) -> None:
    models.Customer.objects.filter(ref="dana").update(currency=currency)
    session = give(work, 100, currency)
    assert (session.status, "No limit is set that covers this call." in why()) == ("waiting_approval", True)


def test_a_void_in_closed_books_is_refused_before_anybody_is_asked(work: Work, desk: Desk) -> None:
    models.ClosedPeriod.objects.create(
        tenant=desk.tenant, through=desk.case.received_at.date(), closed_by="alice", closed_at=timezone.now()
    )
    void = ToolCall("void_invoice", {"invoice_id": "INV-000001", "reason": "Wrong."}, "Asked for.")
    hand_over = ToolCall("escalate_case", {"reason": "Refused.", "summary": "The books are closed."})
    session = work("Please void INV-000001.", LOOK, void, hand_over)
    assert (session.outcome, refusals(), ApprovalRequest.objects.count()) == ("escalated", ["CONFLICT"], 0)
    assert desk.invoice("INV-000001").status == "open"


def test_nothing_is_booked_on_a_day_that_is_closed(work: Work, desk: Desk) -> None:
    today = timezone.now()
    models.ClosedPeriod.objects.create(tenant=desk.tenant, through=today.date(), closed_by="alice", closed_at=today)
    hand_over = ToolCall("escalate_case", {"reason": "Refused.", "summary": "The books are closed."})
    session = work("Please give us a credit of $60.00.", LOOK, credit(6000), hand_over)
    assert (session.outcome, refusals(), ApprovalRequest.objects.count()) == ("escalated", ["CONFLICT"], 0)


def test_a_large_credit_takes_two_people_who_are_two(work: Work, desk: Desk, cast: Cast) -> None:
    session = give(work, 100_001)
    request = ApprovalRequest.objects.get()
    assert (session.status, request.people, request.queue.slug) == ("waiting_approval", 2, "billing-money")
    assert "More than 1000.00 USD at once needs two people." in why()
    twin, dave = make_approver("twin", cast.queue), make_approver("dave", cast.queue)
    User.objects.filter(pk=twin.pk).update(email="Alice+second@example.com")
    assert decide(client_of(cast.alice), request).status_code == 302
    work_until_quiet()
    assert not desk.dana.credits.exists()
    assert decide(client_of(twin), request).status_code == 403
    work_until_quiet()
    assert (Decision.objects.count(), desk.dana.credits.exists()) == (1, False)
    assert decide(client_of(dave), request).status_code == 302
    work_until_quiet()
    assert desk.dana.credits.get().amount_minor == 100_001
    assert imbalances(desk.tenant.id) == []


def test_who_types_in_their_own_case_asks_for_every_cent(work: Work, desk: Desk, cast: Cast) -> None:
    User.objects.filter(pk=cast.bob.pk).update(email="Dana+work@example.com")
    session = give(work, 100)
    assert session.status == "waiting_approval"
    assert why() == ["Whoever asked for this has the customer's own mailbox, so it takes somebody else."]
    assert decide(client_of(cast.bob), ApprovalRequest.objects.get()).status_code in (403, 404)
    assert decide(client_of(cast.alice), ApprovalRequest.objects.get()).status_code == 302
    work_until_quiet()
    assert desk.dana.credits.get().amount_minor == 100


def test_an_approver_who_is_the_customer_decides_nothing_also_when_a_processor_wrote(
    work: Work, desk: Desk, cast: Cast
) -> None:
    models.Case.objects.update(sender="events@processor.example")
    User.objects.filter(pk=cast.alice.pk).update(email="dana@example.com")
    give(work, 6000)
    assert decide(client_of(cast.alice), ApprovalRequest.objects.get()).status_code == 403
    assert not Decision.objects.exists()


def test_an_invoice_is_written_off_by_two_people(work: Work, desk: Desk, cast: Cast) -> None:
    models.Invoice.objects.filter(number="INV-000001").update(due_at=desk.case.received_at - timedelta(days=30))
    write_off = ToolCall("write_off_invoice", {"invoice_id": "INV-000001", "reason": "Dissolved."}, "Insolvent.")
    session = work("The company is insolvent, please write off INV-000001.", LOOK, write_off)
    request = ApprovalRequest.objects.get()
    assert (session.status, request.people, request.irreversible) == ("waiting_approval", 2, True)
    assert (request.money_minor, request.effect) == (2200, "Write off $22.00 of invoice INV-000001 of Dana Ruiz")
    for person in (cast.alice, make_approver("dave", cast.queue)):
        decide_request(
            request_id=request.pk,
            person=person,
            verdict=Verdict.APPROVE,
            digest=request.digest,
            now=timezone.now(),
            checked="I called them.",
            acknowledged="22.00 USD",
            stepped_up="totp",
        )
    dispatch_due(now=timezone.now() + timedelta(minutes=1), limit=10)
    work_until_quiet()
    assert (desk.invoice("INV-000001").status, imbalances(desk.tenant.id)) == ("uncollectible", [])
    assert balances(desk.tenant.id, currency="USD")[Account.WRITTEN_OFF] == 2200
