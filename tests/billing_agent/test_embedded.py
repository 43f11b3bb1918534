"""Every write of the embedded system, through the door that tools use."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import ToolFailure
from billing_agent import models
from billing_agent.books import balances, imbalances
from billing_agent.connectors import billing
from billing_agent.connectors.port import (
    ApplyCredit,
    CancelSubscription,
    ChangePlan,
    CloseCase,
    EscalateCase,
    PauseSubscription,
    RefundCharge,
    ReopenCase,
    RetryCharge,
    ReverseCredit,
    VoidInvoice,
    Write,
    WriteMail,
)
from tests.factories.billing import (
    NOW,
    ONE_OF_EACH,
    bill,
    every_row,
    make_case,
    make_desk,
    make_dispute,
    usd,
)
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db


def refusal(call: Callable[[], object]) -> ToolFailure:
    with pytest.raises(ToolFailure) as failure:
        call()
    return failure.value


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_preview_does_nothing_and_the_write_keeps_the_books(name: str) -> None:
    desk = make_desk()
    write = ONE_OF_EACH[name](desk)
    books = every_row()
    shown = desk.show(write)
    assert every_row() == books
    result = desk.act(write, "k")
    assert billing().outcome(desk.context("k")) == result
    assert imbalances(desk.tenant.id) == []
    assert every_row() != books
    assert shown.effect


def test_credit_settles_the_invoice_that_is_named_and_then_what_is_billed_next() -> None:
    desk = make_desk()
    desk.act(ApplyCredit(usd(3000), "Late", "INV-000001"))
    paid = desk.invoice("INV-000001")
    assert (paid.status, paid.credited_minor, paid.closed_at, paid.version) == ("paid", 2200, NOW, 2)
    assert desk.dana.credits.get().left_minor == 800
    desk.act(ApplyCredit(usd(100), "Later"))
    desk.act(bill(1000, "Next"))
    following = models.Invoice.objects.get(memo="Next")
    assert (following.status, following.total_minor, following.credited_minor) == ("open", 1100, 900)
    assert list(desk.dana.credits.order_by("id").values_list("left_minor", "version")) == [(0, 2), (0, 2)]
    assert imbalances(desk.tenant.id) == []


def test_an_invoice_that_credit_settles_is_issued_paid() -> None:
    desk = make_desk()
    desk.act(ApplyCredit(usd(1100), "Late"))
    desk.act(bill(1000, "Next"))
    settled = models.Invoice.objects.get(memo="Next")
    assert (settled.status, settled.number, settled.closed_at) == ("paid", "INV-000004", NOW)
    assert (settled.issued_at, settled.due_at) == (NOW, NOW + timedelta(days=14))
    assert imbalances(desk.tenant.id) == []


def test_a_reversed_credit_keeps_what_was_used() -> None:
    desk = make_desk()
    desk.act(ApplyCredit(usd(3000), "Late", "INV-000001"))
    credit = desk.dana.credits.get()
    desk.act(ReverseCredit(credit.ref, "Too much"))
    credit.refresh_from_db()
    assert (credit.amount_minor, credit.left_minor, credit.reversed_at) == (3000, 0, NOW)
    assert balances(desk.tenant.id, currency="USD", customer_ref="dana")[models.Account.GOODWILL] == 2200


def test_a_charge_that_is_declined_is_on_record_and_moves_no_money() -> None:
    desk = make_desk()
    before = balances(desk.tenant.id, currency="USD")
    desk.act(RetryCharge("INV-000001", "card-2", usd(2200)), "declined")
    declined = desk.invoice("INV-000001").charges.get()
    assert (declined.status, declined.decline_code, declined.operation_key) == (
        "failed",
        "insufficient_funds",
        "declined",
    )
    tried = desk.invoice("INV-000001")
    assert (tried.status, tried.attempts, tried.next_attempt_at) == ("open", 1, NOW + timedelta(days=3))
    assert balances(desk.tenant.id, currency="USD") == before
    desk.act(RetryCharge("INV-000001", "card-1", usd(2200)))
    assert (desk.invoice("INV-000001").status, desk.invoice("INV-000001").attempts) == ("paid", 2)


def test_a_charge_refunded_in_parts_gives_its_tax_back_to_the_unit() -> None:
    desk = make_desk()
    for part in (1, 2, 3333, 2164):
        desk.act(RefundCharge(desk.charge().ref, usd(part), "In parts"))
    after = balances(desk.tenant.id, currency="USD", customer_ref="dana")
    assert desk.charge().refunded_minor == 5500
    assert desk.charge().version == 5
    # What is still owed for INV-000001 is taxed.
    assert (after[models.Account.REFUNDS], after[models.Account.TAX], after[models.Account.CASH]) == (5000, -200, 0)
    assert desk.charge().refunds.count() == 4


def test_a_disputed_charge_is_not_refunded() -> None:
    desk = make_desk()
    make_dispute(desk.charge(), 5500)
    assert refusal(lambda: desk.act(RefundCharge(desk.charge().ref, usd(1), "Late"))).kind is FailureKind.CONFLICT
    assert imbalances(desk.tenant.id) == []


def test_a_void_invoice_gives_its_credit_back() -> None:
    desk = make_desk()
    desk.act(ApplyCredit(usd(500), "Late", "INV-000001"))
    desk.act(VoidInvoice("INV-000001", "Billed twice"))
    void = desk.invoice("INV-000001")
    assert (void.status, void.closed_at, void.next_attempt_at) == ("void", NOW, None)
    assert sorted(desk.dana.credits.values_list("left_minor", flat=True)) == [0, 500]
    assert imbalances(desk.tenant.id) == []


def test_an_invoice_of_closed_books_is_not_voided() -> None:
    desk = make_desk()
    models.ClosedPeriod.objects.create(tenant=desk.tenant, through=NOW.date(), closed_by="alice", closed_at=NOW)
    assert refusal(lambda: desk.act(VoidInvoice("INV-000001", "Twice"))).kind is FailureKind.CONFLICT


def test_a_dearer_plan_is_invoiced_and_a_cheaper_one_gives_credit() -> None:
    desk = make_desk()
    desk.act(ChangePlan("sub-1", "business", 2, now=True))
    dearer = desk.subscription()
    assert (dearer.plan.ref, dearer.quantity, dearer.version) == ("business", 2, 2)
    # 20 of 30 days are left: $20.00 less two thirds, then twice $50.00 by two thirds.
    invoice = models.Invoice.objects.get(subscription=dearer)
    assert [line.amount_minor for line in invoice.lines.all()] == [-1333, 6667]
    assert (invoice.number, invoice.subtotal_minor, invoice.status) == ("INV-000004", 5334, "open")
    desk.act(ChangePlan("sub-1", "team", 1, now=True))
    assert desk.dana.credits.get().left_minor == invoice.total_minor
    assert imbalances(desk.tenant.id) == []


def test_a_plan_of_the_next_period_waits_and_is_dropped() -> None:
    desk = make_desk()
    desk.act(ChangePlan("sub-1", "business", 1, now=False))
    assert (desk.subscription().plan.ref, getattr(desk.subscription().next_plan, "ref", None)) == ("team", "business")
    desk.act(CancelSubscription("sub-1", now=True, reason="Too dear"))
    ended = desk.subscription()
    assert (ended.status, ended.next_plan, ended.cancelled_at, ended.cancel_reason) == (
        "cancelled",
        None,
        NOW,
        "Too dear",
    )


def test_a_mail_that_has_left_is_not_recalled() -> None:
    desk = make_desk()
    recall = ONE_OF_EACH["recalled"](desk)
    later = replace(desk.context("late"), now=NOW + timedelta(minutes=10))
    assert refusal(lambda: billing().write(later, recall)).kind is FailureKind.CONFLICT
    desk.act(recall)
    assert desk.dana.mails.get().recalled_at == NOW


def test_a_mail_keeps_what_it_was_made_of() -> None:
    desk = make_desk()
    desk.act(WriteMail("thanks", (("name", "Dana"),), send=True))
    mail = desk.dana.mails.get()
    assert (mail.body, mail.template_ref, mail.template_version) == ("Hello Dana, thank you.", "thanks", 1)
    assert (mail.kind, mail.release_at) == ("sent", NOW + timedelta(minutes=10))


def test_the_case_of_somebody_unknown_is_closed_reopened_and_escalated() -> None:
    desk = make_desk()
    make_case(desk.tenant, "case-2")
    steps: list[tuple[Write, str]] = [
        (CloseCase("Done."), "closed"),
        (ReopenCase(), "open"),
        (EscalateCase("Nobody knows.", "They ask for the moon."), "escalated"),
    ]
    for write, status in steps:
        desk.act(write, customer_id=None, subject_id="case-2")
        assert models.Case.objects.get(ref="case-2").status == status
    assert models.Case.objects.get(ref="case-2").version == 4
    assert models.Case.objects.get(ref="case-1").version == 1


@pytest.mark.parametrize(
    ("name", "touch"),
    [
        ("charge", lambda: models.Invoice.objects.filter(number="INV-000001").update(version=9)),
        ("refund", lambda: models.Charge.objects.update(version=9)),
        ("credit", lambda: models.Customer.objects.filter(ref="dana").update(version=9)),
        ("plan changed", lambda: models.Plan.objects.filter(ref="business").update(version=9)),
        ("plan changed", lambda: models.Subscription.objects.filter(ref="sub-1").update(version=9)),
        ("credit taken back", lambda: models.Credit.objects.update(version=9)),
        ("mail", lambda: models.MailTemplate.objects.filter(ref="thanks").update(version=9)),
        ("recalled", lambda: models.Mail.objects.update(version=9)),
    ],
)
def test_a_record_that_moved_since_the_preview_is_not_written(name: str, touch: Callable[[], object]) -> None:
    desk = make_desk()
    write = ONE_OF_EACH[name](desk)
    context = replace(desk.context("k"), expected_versions=desk.show(write).versions)
    touch()
    books = every_row()
    told = refusal(lambda: billing().write(context, write))
    assert told.kind is FailureKind.CONFLICT
    assert "has changed since this was decided" in told.message
    assert every_row() == books


def test_credit_that_was_used_meanwhile_is_not_billed_on() -> None:
    desk = make_desk()
    desk.act(ApplyCredit(usd(1100), "Late"))
    context = replace(desk.context("k"), expected_versions=desk.show(bill(1000, "First")).versions)
    desk.act(bill(100, "Meanwhile"))
    assert refusal(lambda: billing().write(context, bill(1000, "First"))).kind is FailureKind.CONFLICT


def test_a_version_of_a_record_that_the_write_does_not_touch_is_a_conflict() -> None:
    desk = make_desk()
    context = replace(desk.context("k"), expected_versions={"invoice:in_never": 1})
    assert refusal(lambda: billing().write(context, bill(1, "One"))).kind is FailureKind.CONFLICT


def test_what_is_refused_takes_no_number() -> None:
    desk = make_desk()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("billing_agent.connectors.embedded.record_result", _fail)
        with pytest.raises(RuntimeError, match="struck by lightning"):
            desk.act(bill(1, "One"))
    desk.act(bill(2, "Two"))
    assert models.Invoice.objects.get(memo="Two").number == "INV-000004"


def _fail(*_: object) -> None:
    raise RuntimeError("struck by lightning")


def test_each_tenant_counts_its_invoices_by_its_own_prefix() -> None:
    south = make_tenant("south")
    models.InvoiceSeries.objects.create(tenant=south, prefix="SG-26", last=41)
    make_desk()
    with pytest.raises(models.Invoice.DoesNotExist):
        make_desk(south)
    numbers = models.Invoice.objects.filter(tenant=south).values_list("number", flat=True)
    assert list(numbers) == ["SG-26-000042", "SG-26-000043"]


def test_a_pause_until_a_day_is_one_operation() -> None:
    desk = make_desk()
    desk.act(PauseSubscription("sub-1", date(2026, 12, 24)), "k")
    assert desk.subscription().resumes_at == datetime(2026, 12, 24, tzinfo=UTC)
    told = refusal(lambda: billing().write(desk.context("k"), PauseSubscription("sub-1", date(2026, 12, 25))))
    assert told.message == "This idempotency key was used for another call."
