"""Writes at Stripe: what they do there, and what they say."""

from datetime import date

import pytest

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from billing_agent.connectors import billing, owner_of
from billing_agent.connectors.port import (
    ApplyCredit,
    CancelSubscription,
    ChangePlan,
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
from billing_agent.connectors.records import SubscriptionStatus
from tests.billing_agent.stripe.account import Desk


def usd(minor: int) -> Money:
    return Money(minor, "USD")


def test_credit_is_kept_on_the_balance_and_taken_back(desk: Desk) -> None:
    result = desk.act(ApplyCredit(usd(500), "Late reply"), "credit-1")
    assert (result["left_minor"], result["used_minor"], desk.balance()) == (500, 0, -500)
    assert owner_of(desk.tenant.id, "credit", result["credit_id"]) == desk.dana
    (credit,) = billing().account(desk.context()).credits
    assert (credit.ref, credit.left_minor, credit.reason) == (result["credit_id"], 500, "Late reply")
    back = desk.act(ReverseCredit(credit.ref, "Given twice"), "back-1")
    assert (back["amount_minor"], desk.balance()) == (500, 0)
    assert billing().account(desk.context()).credits == ()
    assert desk.refused(ReverseCredit(credit.ref, "Again")).kind is FailureKind.CONFLICT


def test_credit_settles_the_open_invoice_first(desk: Desk) -> None:
    result = desk.act(ApplyCredit(usd(3000), "Outage", desk.open), "credit-2")
    assert (result["used_minor"], result["left_minor"], result["invoice_status"]) == (2200, 800, "paid")
    assert desk.balance() == -800
    (credit,) = billing().account(desk.context()).credits
    assert (credit.amount.minor, credit.left_minor) == (3000, 800)


def test_credit_that_an_invoice_takes_whole_cannot_be_taken_back(desk: Desk) -> None:
    result = desk.act(ApplyCredit(usd(200), "Outage", desk.open), "credit-3")
    assert (result["left_minor"], result["invoice_status"], desk.balance()) == (0, "open", 0)
    invoice, _ = billing().invoice(desk.context(), desk.open)
    assert (invoice.credited_minor, invoice.left.minor) == (200, 2000)
    assert "used up" in desk.refused(ReverseCredit(result["credit_id"], "No")).message


def test_charge_that_pays(desk: Desk) -> None:
    result = desk.act(RetryCharge(desk.open, desk.card, usd(2200)), "retry-1")
    assert (result["status"], result["invoice_status"], result["decline_code"]) == ("succeeded", "paid", "")
    _, charges = billing().invoice(desk.context(), desk.open)
    assert [charge.ref for charge in charges] == [result["charge_id"]]


def test_charge_that_is_declined_is_an_answer(desk: Desk) -> None:
    result = desk.act(RetryCharge(desk.open, desk.bad_card, usd(2200)), "retry-2")
    assert (result["status"], result["decline_code"], result["invoice_status"], result["attempts"]) == (
        "failed",
        "insufficient_funds",
        "open",
        1,
    )
    _, charges = billing().invoice(desk.context(), desk.open)
    assert [(charge.ref, charge.decline_code) for charge in charges] == [(result["charge_id"], "insufficient_funds")]
    assert desk.outcome("retry-2") == result


def test_refund_in_two_parts_and_no_more(desk: Desk) -> None:
    charge = desk.charge()
    first = desk.act(RefundCharge(charge, usd(3000), "Twice"), "refund-1")
    assert (first["refunded_minor"], first["refundable_minor"], first["tax_minor"]) == (3000, 2500, 273)
    second = desk.act(RefundCharge(charge, usd(2500), "The rest"), "refund-2")
    assert (second["refundable_minor"], second["tax_minor"]) == (0, 227)
    assert desk.refused(RefundCharge(charge, usd(1), "More")).kind is FailureKind.CONFLICT
    assert desk.effects("refund.created") == 2


def test_invoice_with_the_tax_that_stripe_computes(desk: Desk) -> None:
    write = GenerateInvoice((Item("Hours", 3, 1005), Item("Travel", 1, 333)), "USD", "November", 14)
    shown = desk.show(write)
    result = desk.do(write, "bill-1", shown)
    assert shown.money == usd(result["total_minor"])
    assert (result["subtotal_minor"], result["tax_minor"], result["status"]) == (3348, 335, "open")
    invoice, _ = billing().invoice(desk.context(), result["invoice_id"])
    assert [(line.description, line.quantity, line.unit_minor) for line in invoice.lines] == [
        ("Hours", 3, 1005),
        ("Travel", 1, 333),
    ]
    assert (invoice.memo, invoice.left.minor) == ("November", result["left_minor"])


def test_invoice_that_credit_settles(desk: Desk) -> None:
    desk.act(ApplyCredit(usd(500), "Late"), "credit-4")
    result = desk.act(GenerateInvoice((Item("Book", 1, 100),), "USD", "", 14), "bill-2")
    assert (result["status"], result["credited_minor"], result["left_minor"], desk.balance()) == ("paid", 110, 0, -390)
    (credit,) = billing().account(desk.context()).credits
    assert credit.left_minor == 390


def test_void_gives_back_what_credit_paid(desk: Desk) -> None:
    desk.act(ApplyCredit(usd(500), "Late", desk.open), "credit-5")
    result = desk.act(VoidInvoice(desk.open, "By mistake"), "void-1")
    assert (result["status"], result["credited_minor"], desk.balance()) == ("void", 500, -500)
    assert desk.refused(VoidInvoice(desk.open, "Again")).kind is FailureKind.CONFLICT


def test_invoice_that_is_written_off(desk: Desk) -> None:
    result = desk.act(WriteOffInvoice(desk.open, "They are bankrupt"), "off-1")
    assert (result["invoice_id"], result["status"]) == (desk.open, "uncollectible")
    assert desk.get(f"/v1/invoices/{desk.open}")["status"] == "uncollectible"
    assert desk.outcome("off-1") == result


def test_change_now_takes_stripes_amounts(desk: Desk) -> None:
    write = ChangePlan(desk.subscription, desk.business, 1, now=True)
    shown = desk.show(write)
    result = desk.do(write, "change-1", shown)
    assert shown.money == usd(result["invoiced_minor"])
    assert (result["plan_id"], result["former_plan_id"], result["left_minor"]) == (desk.business, desk.team, 0)
    invoice, charges = billing().invoice(desk.context(), result["invoice_id"])
    assert (invoice.status.value, sum(charge.amount.minor for charge in charges)) == ("paid", result["invoiced_minor"])
    (subscription,) = billing().account(desk.context()).subscriptions
    assert subscription.plan.ref == desk.business


def test_change_down_gives_credit(desk: Desk) -> None:
    desk.act(ChangePlan(desk.subscription, desk.business, 2, now=True), "up")
    result = desk.act(ChangePlan(desk.subscription, desk.team, 1, now=True), "down")
    assert (result["invoice_id"], result["credited_minor"]) == ("", -desk.balance())
    assert result["credited_minor"] > 0
    assert owner_of(desk.tenant.id, "credit", result["credit_id"]) == desk.dana


def test_change_to_a_year_begins_a_period(desk: Desk) -> None:
    shown = desk.show(ChangePlan(desk.subscription, desk.yearly, 1, now=True))
    assert "at once" in shown.effect
    assert [change.after[:10] for change in shown.changes if change.label == "Period ends"] == ["2027-11-11"]
    result = desk.do(ChangePlan(desk.subscription, desk.yearly, 1, now=True), "year", shown)
    assert (shown.money, result["period_end"][:10]) == (usd(result["invoiced_minor"]), "2027-11-11")


def test_change_with_the_next_period_and_back(desk: Desk) -> None:
    result = desk.act(ChangePlan(desk.subscription, desk.business, 1, now=False), "later")
    assert (result["next_plan_id"], result["changes_at"][:10]) == (desk.business, "2026-12-01")
    (subscription,) = billing().account(desk.context()).subscriptions
    assert subscription.next_plan is not None
    assert subscription.next_plan.ref == desk.business
    again = ChangePlan(desk.subscription, desk.business, 1, now=False)
    assert desk.refused(again).kind is FailureKind.CONFLICT
    desk.act(DropPlanChange(desk.subscription), "drop")
    (subscription,) = billing().account(desk.context()).subscriptions
    assert subscription.next_plan is None


def test_pause_and_resume_leave_the_period_and_move_the_version(desk: Desk) -> None:
    before = desk.show(PauseSubscription(desk.subscription, None)).versions
    desk.act(PauseSubscription(desk.subscription, date(2027, 1, 15)), "pause-1")
    (paused,) = billing().account(desk.context()).subscriptions
    assert (paused.status, paused.resumes_at and paused.resumes_at.date()) == (
        SubscriptionStatus.PAUSED,
        date(2027, 1, 15),
    )
    result = desk.act(ResumeSubscription(desk.subscription), "resume-1")
    assert (result["status"], result["period_end"][:10]) == ("active", "2026-12-01")
    # It looks as it did, and still is not what it was.
    assert desk.show(PauseSubscription(desk.subscription, None)).versions != before


def test_cancel_keep_and_end(desk: Desk) -> None:
    cancelled = desk.act(CancelSubscription(desk.subscription, now=False, reason="Too dear"), "cancel-1")
    assert cancelled["cancel_at"][:10] == "2026-12-01"
    desk.act(KeepSubscription(desk.subscription), "keep-1")
    (subscription,) = billing().account(desk.context()).subscriptions
    assert subscription.cancel_at is None
    desk.act(CancelSubscription(desk.subscription, now=True, reason="Closes"), "end-1")
    assert desk.get(f"/v1/subscriptions/{desk.subscription}")["status"] == "canceled"
    assert desk.refused(KeepSubscription(desk.subscription)).kind is FailureKind.CONFLICT


def test_change_that_was_to_come_goes_with_the_subscription(desk: Desk) -> None:
    desk.act(ChangePlan(desk.subscription, desk.business, 1, now=False), "later-2")
    desk.act(CancelSubscription(desk.subscription, now=True, reason="Closes"), "end-2")
    assert desk.get(f"/v1/subscriptions/{desk.subscription}")["status"] == "canceled"


def test_record_that_changed_since_is_not_written(desk: Desk) -> None:
    write = RetryCharge(desk.open, desk.card, usd(2200))
    shown = desk.show(write)
    desk.act(RetryCharge(desk.open, desk.bad_card, usd(2200)), "between")
    with pytest.raises(Exception, match="has changed since"):
        desk.do(write, "stale", shown)
    assert desk.get(f"/v1/invoices/{desk.open}")["status"] == "open"


@pytest.mark.parametrize("name", ["invoice", "charge", "subscription"])
def test_record_of_somebody_else_does_not_exist(desk: Desk, name: str) -> None:
    writes: dict[str, Write] = {
        "invoice": VoidInvoice(desk.erins, "x"),
        "charge": RefundCharge(desk.charge(), usd(1), "x"),
        "subscription": ResumeSubscription(desk.subscription),
    }
    context = desk.context() if name == "invoice" else desk.context(customer=desk.erin)
    with pytest.raises(Exception, match="There is no such"):
        billing().preview(context, writes[name])
