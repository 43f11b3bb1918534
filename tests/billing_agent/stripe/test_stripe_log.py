"""The ledger's calls compared with what Stripe lists; each thing that can go wrong is done on purpose and found."""

import io
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from agentops.registry.reconcile import Difference, Gap
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from agentops.runtime.models import Session
from agentops.runtime.operations import employ_agent, start_session
from billing_agent.connectors import effect_log
from billing_agent.connectors.port import (
    ApplyCredit,
    CancelSubscription,
    ChangePlan,
    CloseCase,
    DropPlanChange,
    GenerateInvoice,
    Item,
    KeepSubscription,
    PauseSubscription,
    RefundCharge,
    ResumeSubscription,
    RetryCharge,
    ReverseCredit,
    VoidInvoice,
    Write,
    WriteOffInvoice,
)
from billing_agent.connectors.stripe import log
from billing_agent.models import Operation, StripeWrite
from billing_agent.reconciling import reconcile
from billing_agent.role import ROLE
from tests.billing_agent.pages import make_call
from tests.billing_agent.stripe.account import NOW, Desk
from tests.billing_agent.stripe.test_stripe_sync import allow
from tests.factories.fake_stripe import CUT, STATUS
from tests.factories.reading import read, reader_of

PAGE = "/operations/reconciliation/"
BILL = GenerateInvoice((Item("Hours", 3, 1000),), "USD", "November", 14)


def usd(minor: int) -> Money:
    return Money(minor, "USD")


def give(desk: Desk) -> str:
    return str(desk.act(ApplyCredit(usd(900), "Late"), "given")["credit_id"])


def changed_later(desk: Desk) -> str:
    desk.act(ChangePlan(desk.subscription, desk.business, 1, now=False), "later")
    return desk.subscription


def paused(desk: Desk) -> str:
    desk.act(PauseSubscription(desk.subscription, None), "paused")
    return desk.subscription


def ending(desk: Desk) -> str:
    desk.act(CancelSubscription(desk.subscription, now=False, reason="Closes"), "ending")
    return desk.subscription


WRITES: dict[str, Callable[[Desk], Write]] = {
    "credit": lambda desk: ApplyCredit(usd(500), "Late"),
    "credit in two": lambda desk: ApplyCredit(usd(3000), "Late", desk.open),
    "credit taken back": lambda desk: ReverseCredit(give(desk), "Twice"),
    "refund": lambda desk: RefundCharge(desk.charge(), usd(500), "Twice"),
    "charge": lambda desk: RetryCharge(desk.open, desk.card, usd(2200)),
    "declined": lambda desk: RetryCharge(desk.open, desk.bad_card, usd(2200)),
    "invoice": lambda desk: BILL,
    "void": lambda desk: VoidInvoice(desk.open, "Mistake"),
    "change": lambda desk: ChangePlan(desk.subscription, desk.business, 1, now=True),
    "change later": lambda desk: ChangePlan(desk.subscription, desk.business, 1, now=False),
    "no change": lambda desk: DropPlanChange(changed_later(desk)),
    "pause": lambda desk: PauseSubscription(desk.subscription, None),
    "resumed": lambda desk: ResumeSubscription(paused(desk)),
    "end": lambda desk: CancelSubscription(desk.subscription, now=True, reason="Closes"),
    "end later": lambda desk: CancelSubscription(desk.subscription, now=False, reason="Closes"),
    "kept": lambda desk: KeepSubscription(ending(desk)),
}


@pytest.fixture
def session(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Session:
    """The session whose calls are compared; the tenant's key is lent."""
    allow(desk, monkeypatch)
    agent = employ_agent(tenant_id=desk.tenant.pk, role=ROLE, name="Billing", actor="tests")
    return start_session(agent=agent, subject_id="case-1", actor="user:bob")


def look(desk: Desk) -> list[Difference]:
    """Compare a period that holds Stripe's clock and the house's."""
    moments = (NOW, utcnow())
    day = timedelta(days=1)
    return list(reconcile(desk.tenant.pk, min(moments) - day, max(moments) + day).differences)


def call(desk: Desk, session: Session, write: Write, key: str = "a-call", **fields: Any) -> None:
    """Let an agent's call be done, and be on record in the ledger."""
    money = desk.show(write).money
    desk.act(write, key)
    make_call(session, key, type(write).__name__, None if money is None else (money.minor, money.currency), **fields)


def of(desk: Desk, key: str = "a-call") -> list[Gap]:
    return [each.gap for each in look(desk) if each.key == key]


@pytest.mark.parametrize("name", WRITES)
def test_every_write_at_stripe_agrees_with_its_call(desk: Desk, session: Session, name: str) -> None:
    call(desk, session, WRITES[name](desk))
    assert of(desk) == []
    assert "a-call" in {each.key for each in effect_log().took_effect(desk.tenant.pk, NOW, NOW, ["a-call"])}


def test_invoice_that_is_written_off_agrees_also_once_it_is_paid(desk: Desk, session: Session) -> None:
    desk.stripe.at(NOW + timedelta(days=40))
    desk.now = NOW + timedelta(days=40)
    call(desk, session, WriteOffInvoice(desk.open, "Gone"))
    assert of(desk) == []
    desk.post(f"/v1/invoices/{desk.open}/pay", payment_method=desk.card)
    assert of(desk) == []


def test_what_another_call_changed_since_was_done(desk: Desk, session: Session) -> None:
    call(desk, session, PauseSubscription(desk.subscription, None))
    call(desk, session, ResumeSubscription(desk.subscription), "another")
    call(desk, session, BILL, "billed")
    ref = Operation.objects.get(key="billed").result["invoice_id"]
    call(desk, session, VoidInvoice(ref, "Mistake"), "voided")
    assert look(desk) == []


def test_calls_and_effects_on_two_sides_of_the_edge_are_found(desk: Desk, session: Session) -> None:
    call(desk, session, RefundCharge(desk.charge(), usd(500), "Twice"))
    call(desk, session, ChangePlan(desk.subscription, desk.business, 1, now=True), "change")
    StripeWrite.objects.update(begun_at=NOW - timedelta(days=9))
    later = utcnow() + timedelta(days=30)
    found = effect_log().took_effect(desk.tenant.pk, later, later + timedelta(days=1), ["a-call", "change"])
    assert [(each.key, [move.kind for move in each.moves]) for each in found] == [
        ("a-call", ["refund"]),
        ("change", ["invoice"]),
    ]
    assert effect_log().took_effect(desk.tenant.pk, later, later + timedelta(days=1), []) == []


def test_write_whose_result_was_recorded_in_the_next_period_is_looked_up(desk: Desk, session: Session) -> None:
    call(desk, session, RefundCharge(desk.charge(), usd(500), "Twice"))
    late = utcnow() + timedelta(days=60)
    Operation.objects.filter(key="a-call").update(at=late)
    (found,) = effect_log().took_effect(desk.tenant.pk, late, late + timedelta(seconds=1), [])
    assert [str(move.amount) for move in found.moves] == ["$5.00"]


def test_case_that_is_closed_agrees_without_stripe(desk: Desk, session: Session) -> None:
    call(desk, session, CloseCase("Done."))
    assert look(desk) == []
    Operation.objects.all().delete()
    assert of(desk) == [Gap.CALL_WITHOUT_EFFECT]


@pytest.mark.parametrize("name", ["credit", "credit in two", "refund", "charge", "invoice", "change"])
def test_effect_without_a_call_is_found(desk: Desk, session: Session, name: str) -> None:
    desk.act(WRITES[name](desk), "a-call")
    (found,) = look(desk)
    assert (found.gap, found.key) == (Gap.EFFECT_WITHOUT_CALL, "a-call")
    assert "$" in found.words


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("credit", "customer balance transaction, credit $5.00"),
        ("credit in two", "credit note, credit $30.00"),
        ("refund", "refund, refund $5.00"),
        ("charge", "charge, charge $22.00"),
        ("invoice", "invoice, invoice $33.00"),
        ("change", "invoice, invoice $"),
    ],
)
def test_effect_that_the_house_has_no_note_of_is_found(desk: Desk, session: Session, name: str, told: str) -> None:
    """As after a restore of the house's database: something else was written to the customer, and is known."""
    call(desk, session, ApplyCredit(usd(100), "Late"), "known")
    desk.act(WRITES[name](desk), "lost")
    StripeWrite.objects.filter(key="lost").delete()
    Operation.objects.filter(key="lost").delete()
    (found,) = look(desk)
    assert (found.gap, found.key) == (Gap.EFFECT_WITHOUT_CALL, "lost")
    assert told in found.words


def test_what_no_call_has_its_key_on_is_nobodys_here(desk: Desk, session: Session) -> None:
    desk.post("/v1/refunds", charge=desk.charge(), amount=700)
    assert look(desk) == []


@pytest.mark.parametrize("note", [True, False])
def test_call_without_effect_is_found(desk: Desk, session: Session, note: bool) -> None:
    """The house's own record of the result shows nothing: Stripe has to have it."""
    desk.stripe.fault("POST /v1/refunds", STATUS, status=400)
    write = RefundCharge(desk.charge(), usd(500), "Twice")
    with pytest.raises(ToolFailure):
        desk.act(write, "a-call")
    assert StripeWrite.objects.filter(key="a-call").exists()
    if not note:
        StripeWrite.objects.all().delete()
    make_call(session, "a-call", "refund_charge", (500, "USD"))
    (found,) = look(desk)
    assert found.gap is Gap.CALL_WITHOUT_EFFECT


def test_pause_that_somebody_took_the_key_of_is_found(desk: Desk, session: Session) -> None:
    call(desk, session, PauseSubscription(desk.subscription, None))
    desk.post(f"/v1/subscriptions/{desk.subscription}", metadata={"agentops_key": ""})
    assert of(desk) == [Gap.CALL_WITHOUT_EFFECT]


def test_amounts_that_differ_are_found(desk: Desk, session: Session) -> None:
    desk.act(RefundCharge(desk.charge(), usd(500), "Twice"), "a-call")
    make_call(session, "a-call", "refund_charge", (600, "USD"))
    (found,) = look(desk)
    assert found.gap is Gap.AMOUNTS_DIFFER
    assert "$6.00" in found.words
    assert "refund $5.00" in found.words


def test_credit_of_which_a_part_is_missing_is_found(desk: Desk, session: Session) -> None:
    write = ApplyCredit(usd(3000), "Late", desk.open)
    desk.act(write, "a-call")
    make_call(session, "a-call", "apply_credit", (3000, "USD"))
    assert look(desk) == []
    entry = desk.get(f"/v1/customers/{desk.dana}/balance_transactions")["data"][0]["id"]
    desk.post(f"/v1/customers/{desk.dana}/balance_transactions/{entry}", metadata={"agentops_key": ""})
    assert of(desk) == [Gap.AMOUNTS_DIFFER]


def test_outcome_that_nobody_knows_is_told_with_what_stripe_has(desk: Desk, session: Session) -> None:
    call(desk, session, RefundCharge(desk.charge(), usd(500), "Twice"), state="unknown", unknown_since=utcnow())
    (found,) = look(desk)
    assert found.gap is Gap.UNKNOWN_OUTCOME
    assert "RefundCharge, refund $5.00" in found.words


def test_outcome_that_nobody_knows_and_of_which_stripe_has_nothing(desk: Desk, session: Session) -> None:
    desk.stripe.fault("POST /v1/refunds", CUT)
    with pytest.raises(OutcomeUnknown):
        desk.act(RefundCharge(desk.charge(), usd(500), "Twice"), "a-call")
    make_call(session, "a-call", "refund_charge", (500, "USD"), state="unknown", unknown_since=utcnow())
    (found,) = look(desk)
    assert found.gap is Gap.UNKNOWN_OUTCOME
    assert "nothing under its key" in found.words


def test_command_compares_and_says_when_stripe_cannot_be_asked(
    desk: Desk, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    call(desk, session, RefundCharge(desk.charge(), usd(500), "Twice"))
    moments, out = sorted([NOW.date(), utcnow().date()]), io.StringIO()
    days = ["--since", f"{moments[0] - timedelta(days=1)}", "--until", f"{moments[1] + timedelta(days=1)}"]
    call_command("billing_reconcile", "--tenant", desk.tenant.slug, *days, stdout=out)
    assert out.getvalue().strip() == "Compared: calls 1, effects 1, entries 0."
    for fault in (CUT, STATUS):
        desk.stripe.fault("GET /v1/refunds", fault)
        with pytest.raises(CommandError, match="Nothing could be compared"):
            call_command("billing_reconcile", "--tenant", desk.tenant.slug, *days, stdout=out)


def test_page_says_what_differs_and_when_stripe_cannot_be_asked(desk: Desk, session: Session) -> None:
    """What the house noted today is looked up, whatever the day is at Stripe."""
    desk.act(RefundCharge(desk.charge(), usd(500), "Twice"), "a-call")
    reader = reader_of(desk.tenant)
    text = read(reader, PAGE)
    assert "Effect without a call" in text
    assert "RefundCharge, refund $5.00" in text
    desk.stripe.fault("GET /v1/refunds", CUT)
    silent = reader.get(PAGE)
    assert silent.status_code == 503
    assert "Nothing could be compared." in silent.content.decode()


def test_without_consent_nothing_is_compared(desk: Desk) -> None:
    with pytest.raises(ToolFailure) as raised:
        look(desk)
    assert raised.value.kind is FailureKind.AUTH


@pytest.mark.parametrize(("bound", "most"), [("MOST_LISTED", 1), ("MOST_ENTRIES", 1), ("MOST_ASKED", 1)])
def test_what_is_too_much_is_refused_and_never_cut_off(
    desk: Desk, session: Session, monkeypatch: pytest.MonkeyPatch, bound: str, most: int
) -> None:
    call(desk, session, RefundCharge(desk.charge(), usd(500), "Twice"))
    call(desk, session, ApplyCredit(usd(500), "Late"), "credit")
    call(desk, session, PauseSubscription(desk.subscription, None), "paused")
    monkeypatch.setattr(log, bound, most)
    with pytest.raises(ToolFailure, match="compare a shorter period") as raised:
        look(desk)
    assert raised.value.kind is FailureKind.VALIDATION
