"""Ledger, books and vendor compared on real calls; each thing that can go wrong is done on purpose and found."""

import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.utils import timezone

from agentops.registry.call_record import call_record
from agentops.registry.made import Stand
from agentops.registry.once import Call
from agentops.registry.planner import FinalAnswer, ToolCall
from agentops.registry.reconcile import Gap, Reconciliation
from agentops.runtime.models import Invocation, Session
from agentops.tenancy.models import Tenant
from billing_agent.connectors.applying import post
from billing_agent.connectors.effect import Posted
from billing_agent.connectors.embedded_log import EmbeddedLog
from billing_agent.connectors.port import CancelSubscription, ChangePlan, RefundCharge, RetryCharge, VoidInvoice
from billing_agent.connectors.renewing import run_due
from billing_agent.models import Entry, Operation
from billing_agent.reconciling import reconcile
from billing_agent.seeds import seed_demo
from tests.billing_agent.pages import make_call, work
from tests.factories.billing import ONE_OF_EACH, Desk, make_case, make_desk, usd
from tests.factories.reading import read, reader_of

pytestmark = pytest.mark.django_db

OLD = datetime(2020, 1, 1, tzinfo=UTC)
CREDIT = ToolCall("apply_credit", {"amount_minor": 9000, "currency": "USD", "reason": "Late for weeks"})
LOOK, CLOSE = ToolCall("lookup_customer_360", {}), ToolCall("close_case", {"note": "Gave credit."})
HAND_OVER = ToolCall("escalate_case", {"reason": "Nobody knows.", "summary": "Erin asks for the moon."})
DONE = FinalAnswer("Gave credit.", verified=("The credit is on the account.",))


def unguarded(sql: str, *params: Any) -> None:
    """Write to the tables past their triggers, as somebody with the database's password can."""
    with connection.cursor() as cursor:
        # What was posted until now is checked first, since the walls look at a row when its transaction ends.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute(sql, params)
        cursor.execute("SET LOCAL session_replication_role = origin")


def make_old() -> None:
    """Let what happened until now have happened long before what is compared."""
    Operation.objects.update(at=OLD)
    unguarded("UPDATE billing_agent_entry SET at = %s", OLD)


@pytest.fixture
def desk() -> Desk:
    """The desk, whose own first writes were made for no call, long ago."""
    desk = make_desk()
    make_old()
    return desk


@pytest.fixture
def session(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Session:
    return work(monkeypatch, desk.tenant, "case-1", LOOK, CREDIT, CLOSE, DONE)


def look(desk: Desk) -> Reconciliation:
    now = timezone.now()
    return reconcile(desk.tenant.pk, now - timedelta(days=1), now + timedelta(days=1))


def gaps(desk: Desk) -> list[Gap]:
    return [each.gap for each in look(desk).differences]


def the_call(session: Session) -> Invocation:
    return Invocation.objects.get(session_id=session.pk, tool="apply_credit")


def give_more(session: Session) -> None:
    """Let the record of the session's credit say $99.00 instead of $90.00."""
    sql = "UPDATE billing_agent_credit SET amount_minor = 9900 WHERE operation_key = %s"
    unguarded(sql, the_call(session).idempotency_key)


def test_what_an_agent_did_agrees(desk: Desk, session: Session) -> None:
    found = look(desk)
    assert found.differences == ()
    assert (found.calls, found.effects, found.entries) == (2, 2, 1)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_every_write_of_the_desk_agrees_with_its_call(desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    make_case(desk.tenant, "case-2", desk.erin)
    session = work(monkeypatch, desk.tenant, "case-2", LOOK, HAND_OVER, FinalAnswer("A person has it."))
    write = ONE_OF_EACH[name](desk)
    make_old()
    money = desk.show(write).money
    desk.act(write, "k" * 64)
    make_call(session, "k" * 64, type(write).__name__, None if money is None else (money.minor, money.currency))
    assert [each for each in look(desk).differences if each.key == "k" * 64] == []


def test_what_is_done_by_the_calendar_needs_no_call(desk: Desk) -> None:
    run = run_due(desk.tenant.pk, datetime(2026, 12, 2, tzinfo=UTC), 10)
    assert run.done
    found = reconcile(desk.tenant.pk, datetime(2026, 12, 1, tzinfo=UTC), datetime(2026, 12, 3, tzinfo=UTC))
    assert found.effects >= 2
    assert found.differences == ()


def test_the_history_of_the_demo_agrees() -> None:
    tenant, now = seed_demo(), timezone.now()
    found = reconcile(tenant.pk, now - timedelta(days=400), now + timedelta(days=1))
    assert found.effects > 50
    assert found.differences == ()


def test_an_outcome_that_nobody_knows_is_found(desk: Desk, session: Session) -> None:
    Invocation.objects.filter(pk=the_call(session).pk).update(state="unknown", unknown_since=timezone.now())
    (found,) = look(desk).differences
    assert found.gap is Gap.UNKNOWN_OUTCOME
    assert found.words == (
        "Nobody knows yet whether apply_credit of $90.00 took effect."
        " The billing system has this: ApplyCredit, credit $90.00."
    )
    assert (found.key, found.url) == (the_call(session).idempotency_key, "/billing/customers/dana/")


def test_a_call_without_effect_is_found(desk: Desk, session: Session) -> None:
    make_call(session, "f" * 64, "refund_charge", (1200, "USD"))
    assert gaps(desk) == [Gap.CALL_WITHOUT_EFFECT]


def test_an_effect_without_a_call_is_found(desk: Desk, session: Session) -> None:
    desk.act(RefundCharge(desk.charge().ref, usd(700), "By hand"), "by-hand")
    Operation.objects.filter(key="by-hand").update(at=timezone.now())
    assert gaps(desk) == [Gap.EFFECT_WITHOUT_CALL]


def test_a_changed_amount_is_found(desk: Desk, session: Session) -> None:
    give_more(session)
    found = look(desk).differences
    assert [each.words for each in found] == [
        "The ledger says apply_credit of $90.00; the billing system moved credit $99.00.",
        "The billing system moved credit $99.00; the books say credit $90.00.",
    ]


def test_changed_books_are_found_twice(desk: Desk, session: Session) -> None:
    entry = Entry.objects.get(operation_key=the_call(session).idempotency_key)
    sql = "UPDATE billing_agent_posting SET minor = minor + 100 WHERE entry_id = %s AND account = 'customer_credit'"
    unguarded(sql, entry.pk)
    found = look(desk).differences
    assert [each.gap for each in found] == [Gap.AMOUNTS_DIFFER, Gap.UNBALANCED, Gap.UNBALANCED]
    assert found[0].words == "The billing system moved credit $90.00; the books say credit $89.00."
    assert [each.url for each in found[1:]] == ["/billing/customers/dana/", ""]


def test_an_effect_that_is_not_in_the_books_is_found(desk: Desk, session: Session) -> None:
    entry = Entry.objects.get(operation_key=the_call(session).idempotency_key)
    unguarded("DELETE FROM billing_agent_posting WHERE entry_id = %s", entry.pk)
    unguarded("DELETE FROM billing_agent_entry WHERE id = %s", entry.pk)
    assert gaps(desk) == [Gap.EFFECT_WITHOUT_ENTRY, Gap.UNBALANCED]


def test_an_entry_without_an_operation_is_found(desk: Desk, session: Session) -> None:
    entry = Posted("credit", "USD", "cr-x", {"goodwill": 500, "customer_credit": -500}, "Invented")
    post(Call(desk.tenant.pk, "invented", timezone.now()), "dana", [entry])
    assert gaps(desk) == [Gap.ENTRY_WITHOUT_OPERATION, Gap.UNBALANCED]


def test_a_lost_operation_is_found(desk: Desk, session: Session) -> None:
    Operation.objects.filter(key=the_call(session).idempotency_key).delete()
    assert gaps(desk) == [Gap.CALL_WITHOUT_EFFECT, Gap.ENTRY_WITHOUT_OPERATION]


def test_what_lies_on_two_sides_of_the_edge_agrees(desk: Desk, session: Session) -> None:
    call = the_call(session)
    effect = Operation.objects.get(key=call.idempotency_key).at
    Invocation.objects.filter(pk=call.pk).update(intended_at=effect - timedelta(seconds=30))
    edge = effect - timedelta(seconds=15)
    for since, until in ((edge - timedelta(days=1), edge), (edge, edge + timedelta(days=1))):
        assert reconcile(desk.tenant.pk, since, until).differences == ()


def test_other_tenants_and_other_times_are_left_alone(desk: Desk, session: Session) -> None:
    make_call(session, "f" * 64, "refund_charge", (1200, "USD"), intended_at=timezone.now() - timedelta(days=9))
    other = Tenant.objects.create(slug="south", name="South")
    make_call(session, "e" * 64, "refund_charge", (1200, "USD"), tenant_id=other.pk)
    assert gaps(desk) == []


def test_the_log_says_what_each_write_moved(desk: Desk) -> None:
    desk.act(VoidInvoice(desk.invoice("INV-000001").ref, "Billed twice"), "void")
    desk.act(ChangePlan("sub-1", "business", 1, now=True), "plan")
    desk.act(CancelSubscription("sub-1", now=True, reason="Too dear"), "end")
    number = desk.dana.invoices.latest("pk").number or ""
    desk.act(RetryCharge(desk.invoice(number).ref, "card-2", usd(desk.dana.invoices.latest("pk").total_minor)), "no")
    keys = {"void", "plan", "end", "no"}
    found = {each.key: each for each in EmbeddedLog().took_effect(desk.tenant.pk, OLD, OLD, keys)}
    total = usd(desk.dana.invoices.latest("pk").total_minor)
    assert {key: [(move.kind, move.amount) for move in each.moves] for key, each in found.items()} == {
        "void": [("void", usd(2200))],
        "plan": [("invoice", total)],
        "end": [],
        "no": [],
    }
    assert [key for key, each in found.items() if each.declined] == ["no"]


def test_the_record_tells_calls_that_hold_a_key(desk: Desk, session: Session) -> None:
    make_call(session, "u" * 64, "refund_charge", (1200, "USD"), state="unknown", unknown_since=timezone.now())
    make_call(session, "c" * 64, "refund_charge", (1300, "JPY"), state="compensated")
    make_call(session, "i" * 64, "close_case", None, state="intended")
    keys = ["u" * 64, "c" * 64, "i" * 64, "nobody", ""]
    found = call_record().by_key(desk.tenant.pk, keys)
    assert {key[0]: (call.stand, str(call.money)) for key, call in found.items()} == {
        "u": (Stand.UNKNOWN, "$12.00"),
        "c": (Stand.DONE, "¥1,300"),
        "i": (Stand.UNDER_WAY, "None"),
    }
    assert call_record().approvals(desk.tenant.pk, keys) == {}
    assert call_record().by_key(Tenant.objects.create(slug="south", name="South").pk, keys) == {}


PAGE = "/operations/reconciliation/"


def test_the_page_says_that_all_agrees(desk: Desk, session: Session) -> None:
    text = read(reader_of(desk.tenant), PAGE)
    assert "Calls in the ledger 2 Effects at the vendor 2 Entries in the books 1 Differences 0" in text
    assert "They agree." in text


def test_the_page_leads_to_the_call_and_to_the_records(desk: Desk, session: Session) -> None:
    key = the_call(session).idempotency_key or ""
    give_more(session)
    client = reader_of(desk.tenant)
    response = client.get(PAGE)
    page = response.content.decode()
    assert "Amounts differ" in page
    assert f'<a href="/calls/{key}/">Step of its session</a>' in page
    assert '<a href="/billing/customers/dana/">Records</a>' in page


def test_a_page_holds_only_so_many(desk: Desk, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentops.console.operations.reconciliation.MOST_SHOWN", 2)
    for number in range(5):
        make_call(session, f"{number}" * 64, "refund_charge", (1200, "USD"))
    text = read(reader_of(desk.tenant), PAGE)
    assert "Differences 5" in text
    assert "3 more are not shown." in text


def test_a_system_that_is_silent_is_said_to_be(desk: Desk, session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(*args: Any) -> None:
        raise OperationalError("gone")

    monkeypatch.setattr("billing_agent.connectors.embedded_log._moves", silent)
    response = reader_of(desk.tenant).get(PAGE)
    assert response.status_code == 503
    assert "Nothing could be compared." in response.content.decode()
    with pytest.raises(CommandError, match="Nothing could be compared"):
        run_command(desk)


def test_a_role_that_cannot_be_compared_has_no_page(desk: Desk) -> None:
    assert reader_of(desk.tenant).get(PAGE, {"by": "support"}).status_code == 404


def run_command(desk: Desk, *arguments: str) -> str:
    told = io.StringIO()
    call_command("billing_reconcile", "--tenant", desk.tenant.slug, *arguments, stdout=told)
    return told.getvalue()


def test_the_command_says_the_same(desk: Desk, session: Session) -> None:
    assert run_command(desk) == "Compared: calls 2, effects 2, entries 1.\n"
    give_more(session)
    told = io.StringIO()
    with pytest.raises(CommandError, match="They differ in 2 places"):
        call_command("billing_reconcile", "--tenant", desk.tenant.slug, "--json", stdout=told)
    found = json.loads(told.getvalue())
    assert [each["gap"] for each in found["differences"]] == ["amounts_differ", "amounts_differ"]
    assert (found["calls"], found["effects"], found["entries"]) == (2, 2, 1)
