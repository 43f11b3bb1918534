"""Money: a decline is an answer, nothing goes back twice, what is closed stays, and currencies keep their units."""

from collections.abc import Callable

import pytest

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from agentops.registry.tool import ToolFailure
from billing_agent.connectors.port import (
    ApplyCredit,
    CancelSubscription,
    ChangePlan,
    GenerateInvoice,
    Item,
    PauseSubscription,
    RefundCharge,
    RetryCharge,
    ReverseCredit,
    VoidInvoice,
    Write,
    WriteOffInvoice,
)
from billing_agent.connectors.records import InvoiceStatus
from tests.billing_agent.contract.cast import Cast, usd
from tests.billing_agent.contract.harness import System


def refused(cast: Cast, write: Write, who: str = "") -> FailureKind:
    """Return why a write is refused, by its preview and by itself; neither changes anything."""
    customer, before = who or cast.dana, cast.system.everything()
    kinds = set()
    for call in (
        lambda: cast.system.show(customer, write),
        lambda: cast.system.billing.write(cast.system.context(customer, "refused"), write),
    ):
        with pytest.raises(ToolFailure) as failure:
            call()
        kinds.add(failure.value.kind)
    assert cast.system.everything() == before
    (kind,) = kinds
    return kind


def test_a_card_that_declines_is_an_answer(cast: Cast) -> None:
    before = cast.system.books(cast.dana)
    result = cast.act(RetryCharge(cast.open, cast.broke, usd(2200)))
    assert (result["status"], result["decline_code"], result["invoice_status"]) == (
        "failed",
        "insufficient_funds",
        "open",
    )
    assert cast.system.books(cast.dana).since(before) == {"charges": 1}
    result = cast.act(RetryCharge(cast.open, cast.card, usd(2200)))
    assert (result["status"], result["decline_code"], result["invoice_status"]) == ("succeeded", "", "paid")


def test_a_lost_card_is_not_tried_again(cast: Cast) -> None:
    lost = cast.system.card(cast.dana, declines="lost_or_stolen")
    assert cast.act(RetryCharge(cast.open, lost, usd(2200)))["decline_code"] == "lost_or_stolen"
    assert refused(cast, RetryCharge(cast.open, lost, usd(2200))) is FailureKind.CONFLICT


def test_a_charge_takes_exactly_what_is_left(cast: Cast) -> None:
    cast.act(ApplyCredit(usd(500), "Late", cast.open))
    assert refused(cast, RetryCharge(cast.open, cast.card, usd(2200))) is FailureKind.CONFLICT
    before = cast.system.books(cast.dana)
    cast.act(RetryCharge(cast.open, cast.card, usd(1700)))
    assert cast.system.books(cast.dana).since(before) == {"charges": 1, "charged": 1700, "owed": -1700}


def test_never_more_goes_back_than_was_paid(cast: Cast) -> None:
    assert refused(cast, RefundCharge(cast.charge, usd(5501), "All")) is FailureKind.CONFLICT
    for part in (1, 2, 3333, 2163):
        cast.act(RefundCharge(cast.charge, usd(part), "In parts"))
    assert refused(cast, RefundCharge(cast.charge, usd(2), "Two more")) is FailureKind.CONFLICT
    cast.act(RefundCharge(cast.charge, usd(1), "The rest"))
    assert refused(cast, RefundCharge(cast.charge, usd(1), "One more")) is FailureKind.CONFLICT
    books = cast.system.books(cast.dana)
    assert (books.refunds, books.refunded) == (5, 5500)


def test_a_charge_that_took_nothing_gives_nothing_back(cast: Cast) -> None:
    failed = str(cast.act(RetryCharge(cast.open, cast.broke, usd(2200)))["charge_id"])
    assert refused(cast, RefundCharge(failed, usd(1), "No")) is FailureKind.CONFLICT


def test_a_disputed_charge_is_not_refunded(cast: Cast) -> None:
    cast.system.dispute(cast.charge)
    account = cast.system.billing.account(cast.system.context(cast.dana))
    assert [(dispute.charge_ref, dispute.amount) for dispute in account.disputes] == [(cast.charge, usd(5500))]
    assert refused(cast, RefundCharge(cast.charge, usd(1), "Late")) is FailureKind.CONFLICT


def test_an_invoice_that_is_paid_never_changes(cast: Cast) -> None:
    paid = cast.system.billing.invoice(cast.system.context(cast.dana), cast.paid)
    assert refused(cast, RetryCharge(cast.paid, cast.card, usd(5500))) is FailureKind.CONFLICT
    assert refused(cast, VoidInvoice(cast.paid, "Wrong")) is FailureKind.CONFLICT
    before = cast.system.books(cast.dana)
    cast.act(ApplyCredit(usd(700), "Late", cast.paid))
    assert cast.system.books(cast.dana).since(before) == {"credit": 700}
    assert cast.system.billing.invoice(cast.system.context(cast.dana), cast.paid) == paid


def test_an_invoice_that_is_void_never_changes(cast: Cast) -> None:
    cast.act(VoidInvoice(cast.open, "Billed twice"))
    void = cast.system.billing.invoice(cast.system.context(cast.dana), cast.open)
    assert (void[0].status, void[0].left) == (InvoiceStatus.VOID, usd(0))
    assert refused(cast, VoidInvoice(cast.open, "Again")) is FailureKind.CONFLICT
    assert refused(cast, RetryCharge(cast.open, cast.card, usd(2200))) is FailureKind.CONFLICT
    before = cast.system.books(cast.dana)
    cast.act(ApplyCredit(usd(700), "Late", cast.open))
    assert cast.system.books(cast.dana).since(before) == {"credit": 700}
    assert cast.system.billing.invoice(cast.system.context(cast.dana), cast.open) == void


def test_only_an_invoice_that_is_due_is_written_off_and_then_it_never_changes(cast: Cast) -> None:
    assert refused(cast, WriteOffInvoice(cast.open, "Nobody pays it")) is FailureKind.CONFLICT
    due = cast.system.bill(cast.dana, 1000, due_days=0)
    assert cast.act(WriteOffInvoice(due, "Nobody pays it"))["written_off_minor"] == 1100
    found, _ = cast.system.billing.invoice(cast.system.context(cast.dana), due)
    assert found.status is InvoiceStatus.UNCOLLECTIBLE
    assert refused(cast, WriteOffInvoice(due, "Again")) is FailureKind.CONFLICT
    assert refused(cast, VoidInvoice(due, "No")) is FailureKind.CONFLICT
    assert refused(cast, RetryCharge(due, cast.card, usd(1100))) is FailureKind.CONFLICT


def test_credit_that_a_void_invoice_used_comes_back(cast: Cast) -> None:
    cast.act(ApplyCredit(usd(500), "Late", cast.open))
    before = cast.system.books(cast.dana)
    result = cast.act(VoidInvoice(cast.open, "Billed twice"))
    assert result["credited_minor"] == 500
    assert cast.system.books(cast.dana).since(before) == {"owed": -1700, "credit": 500}


def test_credit_is_used_on_what_is_billed_next_and_only_the_rest_is_taken_back(cast: Cast) -> None:
    credit = str(cast.act(ApplyCredit(usd(3000), "Late"))["credit_id"])
    made = cast.act(GenerateInvoice((Item("Next", 1, 1000),), "USD", "Next", 14))
    assert (made["total_minor"], made["credited_minor"], made["left_minor"]) == (1100, 1100, 0)
    before = cast.system.books(cast.dana)
    assert before.credit == 1900
    cast.act(ReverseCredit(credit, "Too much"))
    assert cast.system.books(cast.dana).since(before) == {"credit": -1900}
    assert refused(cast, ReverseCredit(credit, "Again")) is FailureKind.CONFLICT


WRONG: dict[str, Callable[[Cast], Write]] = {
    "credit of nothing": lambda cast: ApplyCredit(usd(0), "No"),
    "credit below nothing": lambda cast: ApplyCredit(usd(-1), "No"),
    "credit in another currency": lambda cast: ApplyCredit(Money(100, "EUR"), "No"),
    "credit in a currency without cents": lambda cast: ApplyCredit(Money(100, "JPY"), "No"),
    "credit past counting": lambda cast: ApplyCredit(usd(2**60), "No"),
    "refund of nothing": lambda cast: RefundCharge(cast.charge, usd(0), "No"),
    "refund below nothing": lambda cast: RefundCharge(cast.charge, usd(-5), "No"),
    "refund in another currency": lambda cast: RefundCharge(cast.charge, Money(100, "EUR"), "No"),
    "invoice of nothing": lambda cast: GenerateInvoice((), "USD", "", 14),
    "item of nothing": lambda cast: GenerateInvoice((Item("No", 1, 0),), "USD", "", 14),
    "none of an item": lambda cast: GenerateInvoice((Item("No", 0, 5),), "USD", "", 14),
    "invoice in another currency": lambda cast: GenerateInvoice((Item("No", 1, 5),), "EUR", "", 14),
    "invoice due too late": lambda cast: GenerateInvoice((Item("No", 1, 5),), "USD", "", 9999),
    "none of a plan": lambda cast: ChangePlan(cast.subscription, cast.business, 0, now=True),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_can_never_be_right_is_refused(cast: Cast, name: str) -> None:
    assert refused(cast, WRONG[name](cast)) is FailureKind.VALIDATION


OF_DANA: dict[str, Callable[[Cast], Write]] = {
    "charge": lambda cast: RetryCharge(cast.open, cast.card, usd(2200)),
    "refund": lambda cast: RefundCharge(cast.charge, usd(1), "No"),
    "void": lambda cast: VoidInvoice(cast.open, "No"),
    "credit on an invoice": lambda cast: ApplyCredit(usd(1), "No", cast.open),
    "plan": lambda cast: ChangePlan(cast.subscription, cast.business, 1, now=True),
    "pause": lambda cast: PauseSubscription(cast.subscription, None),
    "end": lambda cast: CancelSubscription(cast.subscription, now=True, reason="No"),
}


@pytest.mark.parametrize("name", OF_DANA)
def test_records_of_another_customer_are_not_found(cast: Cast, name: str) -> None:
    assert refused(cast, OF_DANA[name](cast), cast.erin) is FailureKind.NOT_FOUND


@pytest.mark.parametrize("name", OF_DANA)
def test_records_that_never_were_are_not_found_either(cast: Cast, name: str) -> None:
    never = Cast(cast.system, cast.dana, cast.erin, *["in_never"] * 8)
    assert refused(never, OF_DANA[name](never)) is FailureKind.NOT_FOUND


def test_a_credit_of_another_customer_is_not_found(cast: Cast) -> None:
    credit = str(cast.act(ApplyCredit(usd(300), "Late"))["credit_id"])
    assert refused(cast, ReverseCredit(credit, "No"), cast.erin) is FailureKind.NOT_FOUND


def test_a_card_of_another_customer_pays_nothing(cast: Cast) -> None:
    foreign = cast.system.card(cast.erin)
    assert refused(cast, RetryCharge(cast.open, foreign, usd(2200))) is FailureKind.NOT_FOUND


def test_an_invoice_of_another_customer_is_not_told(cast: Cast) -> None:
    with pytest.raises(ToolFailure) as failure:
        cast.system.billing.invoice(cast.system.context(cast.erin), cast.open)
    assert failure.value.kind is FailureKind.NOT_FOUND


def test_for_a_deleted_customer_nothing_is_begun_and_what_they_are_owed_goes_back(cast: Cast) -> None:
    cast.system.delete(cast.dana)
    assert cast.system.billing.account(cast.system.context(cast.dana)).customer.deleted_at is not None
    for write in (
        ApplyCredit(usd(1), "No"),
        GenerateInvoice((Item("No", 1, 100),), "USD", "", 14),
        RetryCharge(cast.open, cast.card, usd(2200)),
    ):
        assert refused(cast, write) is FailureKind.CONFLICT
    before = cast.system.books(cast.dana)
    cast.act(RefundCharge(cast.charge, usd(100), "Owed"))
    assert cast.system.books(cast.dana).since(before) == {"refunds": 1, "refunded": 100}


def test_a_currency_without_cents_is_counted_in_its_own_unit(system: System) -> None:
    kei = system.customer("Kei", currency="JPY")
    card = system.card(kei, default=True)
    invoice = system.bill(kei, 1200, "JPY")
    assert system.left_of(kei, invoice) == Money(1320, "JPY")
    charge = system.pay(kei, invoice, card)
    system.act(kei, RefundCharge(charge, Money(500, "JPY"), "Half"))
    system.act(kei, ApplyCredit(Money(70, "JPY"), "Late"))
    books = system.books(kei)
    assert (books.charged, books.refunded, books.credit) == (1320, 500, 70)
