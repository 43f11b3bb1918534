"""A retry takes exactly what is left, a decline is an answer, and no more goes back than was taken."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from agentops.registry.preview_parts import Amount
from agentops.registry.tool import Change
from billing_agent.connectors.charge_rules import plan_refund, plan_retry
from billing_agent.connectors.effect import NewCharge, NewRefund, Posted, Snapshot
from billing_agent.connectors.port import RefundCharge, RetryCharge
from billing_agent.connectors.records import Charge, ChargeStatus, Customer, DisputeStatus, InvoiceStatus, Method
from tests.billing_agent.examples import (
    ADA,
    BANK,
    EXEMPT,
    GONE,
    IN_JAPAN,
    NOW,
    PAID,
    VISA,
    declined,
    make_charge,
    make_dispute,
    make_invoice,
    refused,
    usd,
)

RETRY = RetryCharge("in_1", "pm_visa", usd(11_900))


def snapshot(**fields: Any) -> Snapshot:
    return Snapshot(**({"now": NOW, "key": "k", "customer": ADA, "invoice": make_invoice()} | fields))


def paying(*methods: Method) -> Customer:
    return replace(ADA, methods=methods)


CHARGE_REF, REFUND_REF = snapshot().new_ref("ch"), snapshot().new_ref("re")
EXPIRED_VISA = replace(VISA, expires=(2026, 10))
LOST_VISA = replace(VISA, declines_with="lost_or_stolen")
POOR_VISA = replace(VISA, declines_with="insufficient_funds")

# Charges that are tried again


def test_a_charge_pays_what_is_left_and_closes_the_invoice() -> None:
    effect = plan_retry(snapshot(invoice=make_invoice(attempts=1, next_attempt_at=NOW)), RETRY)
    assert effect.preview.effect == "Charge $119.00 to Visa ending 4242 of Ada Moreau for invoice INV-000001"
    assert effect.preview.target == "customer:cus_ada"
    assert effect.preview.money == usd(11_900)
    assert effect.preview.versions == {"customer:cus_ada": 1, "invoice:in_1": 1}
    assert effect.preview.changes == (
        Change("Charged", "", "Visa ending 4242, expires 04/2028"),
        Change("Attempts", "1", "2"),
        Change("Invoice INV-000001, if the issuer pays", "open", "paid"),
    )
    assert effect.new_charge == NewCharge(CHARGE_REF, "in_1", "pm_visa", 11_900, "USD", "")
    assert effect.invoice == {
        "attempts": 2,
        "paid_minor": 11_900,
        "status": "paid",
        "closed_at": NOW,
        "next_attempt_at": None,
    }
    assert effect.entries == (
        Posted("charge", "USD", CHARGE_REF, {"cash": 11_900, "receivable": -11_900}, "For invoice INV-000001"),
    )
    assert effect.result == {
        "charge_id": CHARGE_REF,
        "invoice_id": "in_1",
        "payment_method_id": "pm_visa",
        "amount_minor": 11_900,
        "currency": "USD",
        "status": "succeeded",
        "decline_code": "",
        "invoice_status": "paid",
        "attempts": 2,
        "next_attempt_at": "",
    }


def test_what_credit_settled_is_not_charged() -> None:
    effect = plan_retry(snapshot(invoice=make_invoice(credited_minor=1_900)), replace(RETRY, amount=usd(10_000)))
    assert (effect.invoice["paid_minor"], effect.invoice["status"]) == (10_000, "paid")


def test_a_decline_is_a_result_and_moves_no_money() -> None:
    effect = plan_retry(snapshot(customer=paying(POOR_VISA)), RETRY)
    assert effect.new_charge == NewCharge(CHARGE_REF, "in_1", "pm_visa", 11_900, "USD", "insufficient_funds")
    assert effect.entries == ()
    assert effect.invoice == {"attempts": 1, "next_attempt_at": datetime(2026, 12, 3, 10, 0, tzinfo=UTC)}
    assert effect.result == {
        "charge_id": CHARGE_REF,
        "invoice_id": "in_1",
        "payment_method_id": "pm_visa",
        "amount_minor": 11_900,
        "currency": "USD",
        "status": "failed",
        "decline_code": "insufficient_funds",
        "invoice_status": "open",
        "attempts": 1,
        "next_attempt_at": "2026-12-03T10:00:00+00:00",
    }


def test_the_preview_does_not_tell_what_the_issuer_will_answer() -> None:
    previews = [plan_retry(snapshot(customer=paying(method)), RETRY).preview for method in (VISA, POOR_VISA, LOST_VISA)]
    assert previews[0] == previews[1] == previews[2]


@pytest.mark.parametrize(
    ("at", "attempts", "due"),
    [
        (datetime(2026, 11, 30, 10, tzinfo=UTC), 0, datetime(2026, 12, 3, 10, tzinfo=UTC)),
        (datetime(2026, 12, 29, 10, tzinfo=UTC), 1, datetime(2027, 1, 3, 10, tzinfo=UTC)),
        (datetime(2028, 2, 25, 23, 59, tzinfo=UTC), 2, datetime(2028, 3, 3, 23, 59, tzinfo=UTC)),
        (datetime(2027, 2, 25, 23, 59, tzinfo=UTC), 2, datetime(2027, 3, 4, 23, 59, tzinfo=UTC)),
        (datetime(2026, 11, 30, 10, tzinfo=UTC), 3, None),
        (datetime(2026, 11, 30, 10, tzinfo=UTC), 9, None),
    ],
)
def test_the_next_attempt_is_due_after_3_5_and_7_days(at: datetime, attempts: int, due: datetime | None) -> None:
    found = snapshot(now=at, customer=paying(POOR_VISA), invoice=make_invoice(attempts=attempts))
    assert plan_retry(found, RETRY).invoice == {"attempts": attempts + 1, "next_attempt_at": due}


@pytest.mark.parametrize(("method", "code"), [(EXPIRED_VISA, "expired_card"), (LOST_VISA, "lost_or_stolen")])
def test_a_card_that_declines_for_good_is_not_tried_again(method: Method, code: str) -> None:
    found = snapshot(customer=paying(method, BANK))
    effect = plan_retry(found, RETRY)
    assert effect.result["decline_code"] == code
    assert effect.invoice == {"attempts": 1, "next_attempt_at": None}
    again = refused(plan_retry, replace(found, attempts=[declined(code)]), RETRY)
    why = {"expired_card": "has expired", "lost_or_stolen": "was reported lost or stolen"}[code]
    words = f"Visa ending 4242 {why} and was declined for it, so it is not tried again."
    assert again == (FailureKind.CONFLICT, words, "payment_method_id")


def test_another_method_is_tried_after_a_lost_card() -> None:
    found = snapshot(customer=paying(LOST_VISA, BANK), attempts=[declined("lost_or_stolen")])
    effect = plan_retry(found, replace(RETRY, method_ref="pm_bank"))
    assert effect.result["status"] == "succeeded"


def test_nothing_is_due_when_the_default_card_is_lost() -> None:
    poor = replace(BANK, declines_with="insufficient_funds")
    write = replace(RETRY, method_ref="pm_bank")
    lost = snapshot(customer=paying(LOST_VISA, poor), attempts=[declined("lost_or_stolen")])
    assert plan_retry(lost, write).invoice["next_attempt_at"] is None
    none = snapshot(customer=paying(replace(VISA, is_default=False), poor))
    assert plan_retry(none, write).invoice["next_attempt_at"] is None
    fine = snapshot(customer=paying(VISA, replace(BANK, declines_with="lost_or_stolen")))
    assert plan_retry(fine, write).invoice["next_attempt_at"] == NOW + timedelta(days=3)


def test_a_card_with_a_new_date_and_a_soft_decline_are_tried_again() -> None:
    for code in ("expired_card", "insufficient_funds", "do_not_honor"):
        assert plan_retry(snapshot(attempts=[declined(code)]), RETRY).result["status"] == "succeeded"


def test_a_card_pays_until_its_month_is_over() -> None:
    customer = paying(replace(VISA, expires=(2026, 11)))
    assert plan_retry(snapshot(customer=customer), RETRY).result["status"] == "succeeded"
    later = snapshot(customer=customer, now=datetime(2026, 12, 1, tzinfo=UTC))
    assert plan_retry(later, RETRY).result["decline_code"] == "expired_card"


@pytest.mark.parametrize(
    ("fields", "write", "kind", "words", "field"),
    [
        ({"customer": GONE}, RETRY, "CONFLICT", "Ada Moreau is deleted; nothing new is begun for them.", "customer_id"),
        ({"invoice": None}, RETRY, "NOT_FOUND", "There is no such invoice of this customer.", "invoice_id"),
        (
            {},
            replace(RETRY, method_ref="pm_other"),
            "NOT_FOUND",
            "There is no such payment method of this customer.",
            "payment_method_id",
        ),
        (
            {"invoice": PAID},
            RETRY,
            "CONFLICT",
            "Invoice INV-000001 is paid; only an open one is charged.",
            "invoice_id",
        ),
        (
            {"invoice": make_invoice(status=InvoiceStatus.UNCOLLECTIBLE)},
            RETRY,
            "CONFLICT",
            "Invoice INV-000001 is uncollectible; only an open one is charged.",
            "invoice_id",
        ),
        (
            {},
            replace(RETRY, amount=usd(11_899)),
            "CONFLICT",
            "On invoice INV-000001 $119.00 are left to pay, not $118.99.",
            "amount_minor",
        ),
        (
            {},
            replace(RETRY, amount=Money(11_900, "EUR")),
            "VALIDATION",
            "Invoice INV-000001 is in USD, not EUR.",
            "currency",
        ),
        ({}, replace(RETRY, amount=usd(0)), "VALIDATION", "The amount must be more than nothing.", "amount_minor"),
        (
            {},
            replace(RETRY, amount=usd(-11_900)),
            "VALIDATION",
            "The amount must be more than nothing.",
            "amount_minor",
        ),
    ],
)
def test_a_retry_is_refused(fields: dict[str, Any], write: RetryCharge, kind: str, words: str, field: str) -> None:
    assert refused(plan_retry, snapshot(**fields), write) == (FailureKind(kind), words, field)


# Refunds


def refundable(charge: Charge, **fields: Any) -> Snapshot:
    return snapshot(**({"charge": charge, "invoice": PAID} | fields))


def refund(minor: int) -> RefundCharge:
    return RefundCharge("ch_1", usd(minor), "Billed twice")


def test_a_part_of_a_charge_goes_back_with_its_tax() -> None:
    effect = plan_refund(refundable(make_charge(refunded_minor=1_190)), refund(5_000))
    assert effect.preview.effect == (
        "Refund $50.00 of $119.00 to Ada Moreau for invoice INV-000001, to Visa ending 4242"
    )
    assert effect.preview.money == usd(5_000)
    assert effect.preview.versions == {"customer:cus_ada": 1, "invoice:in_1": 1, "charge:ch_1": 1}
    assert effect.preview.changes == (
        Change("Refunded of charge ch_1", "$11.90", "$61.90"),
        Change("Can still be refunded", "$107.10", "$57.10"),
        Change("Tax in the refund", "", "$7.98"),
        Change("Reason", "", "Billed twice"),
    )
    assert effect.preview.parts == (
        Amount(
            "Refund",
            5_000,
            "USD",
            (("Refunded of charge ch_1", 1_190, 6_190), ("Can still be refunded", 10_710, 5_710)),
        ),
    )
    assert (effect.refunded_minor, effect.invoice) == (6_190, {})
    assert effect.new_refund == NewRefund(REFUND_REF, "ch_1", 5_000, "USD", "Billed twice")
    assert effect.entries == (
        Posted("refund", "USD", REFUND_REF, {"refunds": 4_202, "tax": 798, "cash": -5_000}, "Billed twice"),
    )
    assert effect.result == {
        "refund_id": REFUND_REF,
        "charge_id": "ch_1",
        "payment_method_id": "pm_visa",
        "amount_minor": 5_000,
        "tax_minor": 798,
        "currency": "USD",
        "refunded_minor": 6_190,
        "refundable_minor": 5_710,
    }


def test_parts_and_the_rest_give_back_the_tax_to_the_unit() -> None:
    charge, taxes = make_charge(), []
    for minor in (30, 30, 30, 11_810):
        effect = plan_refund(refundable(charge), refund(minor))
        taxes.append(effect.result["tax_minor"])
        charge = replace(charge, refunded_minor=effect.result["refunded_minor"])
    assert taxes == [5, 5, 4, 1_886]
    assert sum(taxes) == PAID.tax_minor
    assert refused(plan_refund, refundable(charge), refund(1)) == (
        FailureKind.CONFLICT,
        "Everything that charge ch_1 took has gone back already.",
        "charge_id",
    )


def test_a_charge_that_credit_made_smaller_gives_back_its_part_of_the_tax() -> None:
    invoice = replace(PAID, paid_minor=5_950, credited_minor=5_950)
    effect = plan_refund(refundable(make_charge(5_950), invoice=invoice), refund(5_950))
    assert effect.entries[0].postings == {"refunds": 5_000, "tax": 950, "cash": -5_950}


def test_what_was_billed_without_tax_or_invoice_gives_back_none() -> None:
    untaxed = replace(PAID, subtotal_minor=11_900, tax_minor=0)
    for found in (
        refundable(make_charge(), customer=EXEMPT, invoice=untaxed),
        refundable(make_charge(invoice_ref=""), invoice=None),
    ):
        assert plan_refund(found, refund(900)).entries[0].postings == {"refunds": 900, "cash": -900}


def test_a_deleted_customer_and_a_method_that_is_gone_are_still_refunded() -> None:
    effect = plan_refund(refundable(make_charge(method_ref="pm_old"), customer=GONE), refund(11_900))
    assert effect.preview.effect == "Refund $119.00 of $119.00 to Ada Moreau for invoice INV-000001, to pm_old"


def test_what_a_lost_dispute_took_is_not_refunded_and_what_a_won_one_gave_back_is() -> None:
    lost = make_charge(disputes=(make_dispute(DisputeStatus.LOST, 11_000),))
    assert refused(plan_refund, refundable(lost), refund(901)) == (
        FailureKind.CONFLICT,
        "Of charge ch_1 only $9.00 can still be refunded.",
        "amount_minor",
    )
    assert plan_refund(refundable(lost), refund(900)).result["refundable_minor"] == 0
    won = make_charge(disputes=(make_dispute(DisputeStatus.WON),))
    assert plan_refund(refundable(won), refund(11_900)).refunded_minor == 11_900


def test_yen_are_refunded_in_whole_yen() -> None:
    yen = make_charge(amount=Money(1_100, "JPY"))
    invoice = replace(PAID, currency="JPY", subtotal_minor=1_000, tax_minor=100, total_minor=1_100, paid_minor=1_100)
    write = RefundCharge("ch_1", Money(555, "JPY"), "Half")
    effect = plan_refund(refundable(yen, customer=IN_JAPAN, invoice=invoice), write)
    assert effect.preview.effect == "Refund ¥555 of ¥1,100 to Ada Moreau for invoice INV-000001, to Visa ending 4242"
    assert effect.entries[0].postings == {"refunds": 505, "tax": 50, "cash": -555}


@pytest.mark.parametrize(
    ("fields", "write", "kind", "words", "field"),
    [
        ({"charge": None}, refund(1), "NOT_FOUND", "There is no such charge of this customer.", "charge_id"),
        ({"customer": None}, refund(1), "NOT_FOUND", "Nobody with this address is a customer.", "customer_id"),
        # Without its invoice nobody knows how much of the refund is tax.
        ({"invoice": None}, refund(1), "NOT_FOUND", "There is no such invoice of this customer.", "invoice_id"),
        (
            {"charge": make_charge(refunded_minor=1_900)},
            refund(10_001),
            "CONFLICT",
            "Of charge ch_1 only $100.00 can still be refunded.",
            "amount_minor",
        ),
        (
            {"charge": make_charge(status=ChargeStatus.FAILED, decline_code="do_not_honor")},
            refund(1),
            "CONFLICT",
            "Charge ch_1 took nothing, so there is nothing to refund.",
            "charge_id",
        ),
        *(
            (
                {"charge": make_charge(disputes=(make_dispute(status, 100),))},
                refund(1),
                "CONFLICT",
                "Charge ch_1 is disputed; nothing is refunded until that is settled.",
                "charge_id",
            )
            for status in (DisputeStatus.NEEDS_RESPONSE, DisputeStatus.UNDER_REVIEW)
        ),
        ({}, refund(0), "VALIDATION", "The amount must be more than nothing.", "amount_minor"),
        ({}, refund(-5), "VALIDATION", "The amount must be more than nothing.", "amount_minor"),
        (
            {},
            RefundCharge("ch_1", Money(5, "EUR"), "x"),
            "VALIDATION",
            "Charge ch_1 is in USD, not EUR.",
            "currency",
        ),
    ],
)
def test_a_refund_is_refused(fields: dict[str, Any], write: RefundCharge, kind: str, words: str, field: str) -> None:
    found = refundable(**({"charge": make_charge()} | fields))
    assert refused(plan_refund, found, write) == (FailureKind(kind), words, field)
