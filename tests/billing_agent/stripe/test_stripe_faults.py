"""Lost answers, refusals and waiting: what happened is found out, and nothing happens twice."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from threading import Thread

import pytest
import stripe
from django.db import connection
from django.test import override_settings

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from billing_agent.connectors import billing
from billing_agent.connectors.port import (
    ApplyCredit,
    CancelSubscription,
    ChangePlan,
    GenerateInvoice,
    Item,
    PauseSubscription,
    RefundCharge,
    RetryCharge,
    VoidInvoice,
    Write,
)
from billing_agent.connectors.stripe import carrying, transport
from billing_agent.connectors.stripe.door import opened
from billing_agent.connectors.stripe.step import sub_key
from billing_agent.models import Operation, StripeWrite
from tests.billing_agent.stripe.account import Desk, desk_at_stripe
from tests.factories.fake_stripe import AFTER, CUT, GARBAGE, HOLD, HUGE, SECRET_LIVE, STATUS


def usd(minor: int) -> Money:
    return Money(minor, "USD")


BILL = GenerateInvoice((Item("Hours", 3, 1000),), "USD", "November", 14)
# What is done, the request with which it happens, and what happens at Stripe.
WRITES: dict[str, tuple[Callable[[Desk], Write], str, str]] = {
    "refund": (lambda desk: RefundCharge(desk.charge(), usd(500), "Twice"), "POST /v1/refunds", "refund.created"),
    "charge": (
        lambda desk: RetryCharge(desk.open, desk.card, usd(2200)),
        "POST /v1/invoices/.*/pay",
        "charge.succeeded",
    ),
    "declined": (
        lambda desk: RetryCharge(desk.open, desk.bad_card, usd(2200)),
        "POST /v1/invoices/.*/pay",
        "charge.failed",
    ),
    "note": (lambda desk: ApplyCredit(usd(3000), "Late", desk.open), "POST /v1/credit_notes", "credit_note.created"),
    "kept": (lambda desk: ApplyCredit(usd(3000), "Late", desk.open), "balance_transactions", "credit_note.created"),
    "draft": (lambda desk: BILL, "POST /v1/invoices$", "invoice.finalized"),
    "lines": (lambda desk: BILL, "add_lines", "invoice.finalized"),
    "issue": (lambda desk: BILL, "finalize", "invoice.finalized"),
    "void": (lambda desk: VoidInvoice(desk.open, "Mistake"), "/void", "invoice.voided"),
    "change": (
        lambda desk: ChangePlan(desk.subscription, desk.business, 1, now=True),
        "POST /v1/subscriptions/",
        "charge.succeeded",
    ),
    "schedule": (
        lambda desk: ChangePlan(desk.subscription, desk.business, 1, now=False),
        "POST /v1/subscription_schedules$",
        "subscription_schedule.created",
    ),
    "pause": (
        lambda desk: PauseSubscription(desk.subscription, None),
        "POST /v1/subscriptions/",
        "customer.subscription.updated",
    ),
    "end": (
        lambda desk: CancelSubscription(desk.subscription, now=True, reason="Closes"),
        "DELETE /v1/subscriptions/",
        "customer.subscription.deleted",
    ),
}
NAMES = list(WRITES)


@pytest.mark.parametrize("name", NAMES)
def test_lost_answer_is_found_again(desk: Desk, name: str) -> None:
    build, call, what = WRITES[name]
    write, before = build(desk), desk.effects(what)
    shown = desk.show(write)
    desk.stripe.fault(call, CUT, when=AFTER)
    with pytest.raises(OutcomeUnknown):
        desk.do(write, "lost", shown)
    found = desk.outcome("lost")
    result = desk.do(write, "lost", shown)
    assert found in (None, result)
    assert desk.outcome("lost") == result == desk.do(write, "lost", shown)
    assert (desk.effects(what) - before, Operation.objects.filter(key="lost").count()) == (1, 1)


@pytest.mark.parametrize("name", [each for each in NAMES if each != "end"])
def test_request_that_did_not_arrive_is_made_again(desk: Desk, name: str) -> None:
    build, call, what = WRITES[name]
    write, before, before_drafts = build(desk), desk.effects(what), desk.effects("invoice.created")
    shown = desk.show(write)
    desk.stripe.fault(call, CUT)
    with pytest.raises(OutcomeUnknown):
        desk.do(write, "cut", shown)
    found = desk.outcome("cut")
    assert found is None or name == "kept"
    result = desk.do(write, "cut", shown)
    assert desk.outcome("cut") == result
    assert desk.effects(what) - before == 1
    assert desk.effects("invoice.created") == before_drafts + (write is BILL or name == "change")


@pytest.mark.parametrize("name", ["refund", "charge", "issue", "change"])
def test_answer_that_stripe_forgot_is_found_by_its_metadata(desk: Desk, name: str) -> None:
    build, call, what = WRITES[name]
    write, before = build(desk), desk.effects(what)
    shown = desk.show(write)
    desk.stripe.fault(call, STATUS, when=AFTER, status=500)
    with pytest.raises(OutcomeUnknown):
        desk.do(write, "old", shown)
    StripeWrite.objects.update(begun_at=utcnow() - timedelta(hours=30))
    desk.stripe.pass_time(30 * 3600)
    result = desk.do(write, "old", shown)
    assert desk.outcome("old") == result
    assert desk.effects(what) - before == 1


def test_request_on_its_way_has_no_effect_after_it_was_said_to_have_none(desk: Desk) -> None:
    write = RefundCharge(desk.charge(), usd(500), "Twice")
    desk.stripe.fault("POST /v1/refunds", CUT)
    with pytest.raises(OutcomeUnknown):
        desk.act(write, "way")
    step = StripeWrite.objects.get().steps[0]
    assert desk.outcome("way") is None
    # What was given up arrives at last, as it was sent.
    sent = sub_key(str(desk.tenant.id), "way", step["name"], 0)
    with pytest.raises(stripe.IdempotencyError, match="same endpoint"):
        desk.api.raw_request("post", step["path"], idempotency_key=sent, **step["params"])
    assert desk.effects("refund.created") == 0


def test_same_key_with_another_amount_is_a_conflict(desk: Desk) -> None:
    desk.act(ApplyCredit(usd(500), "Late"), "same")
    for minor in (501, 500):
        write = ApplyCredit(usd(minor), "In other words")
        if minor == 500:
            assert desk.do(write, "same")["amount_minor"] == 500
        else:
            with pytest.raises(ToolFailure) as raised:
                desk.do(write, "same")
            assert raised.value.kind is FailureKind.CONFLICT
    assert desk.balance() == -500


def test_refused_write_leaves_its_key_free(desk: Desk) -> None:
    with pytest.raises(ToolFailure):
        desk.do(ApplyCredit(Money(500, "EUR"), "Late"), "free")
    assert desk.outcome("free") is None
    assert desk.do(ApplyCredit(usd(500), "Late"), "free")["amount_minor"] == 500


def test_wait_that_stripe_asks_for(desk: Desk) -> None:
    desk.stripe.fault("GET /v1/customers/", STATUS, status=429, retry_after="7")
    with pytest.raises(ToolFailure) as raised:
        billing().account(desk.context())
    assert (raised.value.kind, raised.value.retry_after) == (FailureKind.RATE_LIMIT, 7.0)
    desk.stripe.fault("balance_transactions", STATUS, status=429, retry_after="3", skip=0)
    with pytest.raises(ToolFailure) as raised:
        desk.do(ApplyCredit(usd(500), "Late"), "limited")
    assert (raised.value.kind, raised.value.retry_after) == (FailureKind.RATE_LIMIT, 3.0)
    assert desk.do(ApplyCredit(usd(500), "Late"), "limited")["amount_minor"] == 500
    assert desk.balance() == -500


def test_answer_that_comes_too_late(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    write, charge = RefundCharge(desk.charge(), usd(500), "Twice"), desk.charge()
    monkeypatch.setattr(transport, "SECONDS", 0.5)
    desk.stripe.fault("GET /v1/charges/", HOLD, seconds=2)
    with pytest.raises(ToolFailure) as raised:
        desk.show(write)
    assert raised.value.kind is FailureKind.TIMEOUT
    slow = desk.stripe.fault("POST /v1/refunds", HOLD)
    with pytest.raises(OutcomeUnknown):
        desk.act(write, "slow")
    slow.release()
    monkeypatch.setattr(transport, "SECONDS", 20.0)
    found = desk.outcome("slow") or desk.do(write, "slow")
    assert (found["amount_minor"], found["charge_id"], desk.effects("refund.created")) == (500, charge, 1)


@pytest.mark.parametrize("kind", [GARBAGE, HUGE, CUT])
def test_answer_that_cannot_be_read(desk: Desk, kind: str) -> None:
    desk.stripe.fault("GET /v1/customers/", kind)
    with pytest.raises(ToolFailure) as raised:
        billing().account(desk.context())
    assert raised.value.kind.retryable


def test_key_that_is_none_or_of_the_other_mode(desk: Desk) -> None:
    for secret in ("sk_test_revoked", SECRET_LIVE, "pk_test_x", ""):
        desk.secret = secret
        with pytest.raises(ToolFailure) as raised:
            billing().account(desk.context())
        assert raised.value.kind is FailureKind.AUTH
        assert secret == "" or secret not in raised.value.in_full


def test_permission_that_is_lacking_is_named(desk: Desk) -> None:
    desk.secret = desk.stripe.restricted_key("rk_test_small", {"customer": "write", "invoice": "read"})
    with pytest.raises(ToolFailure, match="rak_") as raised:
        billing().account(desk.context())
    assert raised.value.kind is FailureKind.AUTH


PERMISSIONS = {
    "customer": "write",
    "payment_method": "read",
    "plan": "read",
    "product": "read",
    "tax_rate": "read",
    "dispute": "read",
    "subscription": "write",
    "invoice": "write",
    "payment_intent": "write",
    "charge": "write",
    "credit_note": "write",
}
"""What docs/operations.md asks for."""


@pytest.mark.parametrize("name", NAMES)
def test_key_with_the_permissions_of_the_manual_is_enough(desk: Desk, name: str) -> None:
    desk.secret = desk.stripe.restricted_key("rk_test_desk", PERMISSIONS)
    write = WRITES[name][0](desk)
    billing().account(desk.context())
    billing().plans(desk.context())
    assert desk.outcome("restricted") is None
    assert desk.act(write, "restricted") == desk.outcome("restricted")


def test_end_that_did_not_arrive_is_waited_for(desk: Desk) -> None:
    write = CancelSubscription(desk.subscription, now=True, reason="Closes")
    shown = desk.show(write)
    desk.stripe.fault("DELETE /v1/subscriptions/", CUT)
    with pytest.raises(OutcomeUnknown):
        desk.do(write, "end", shown)
    with pytest.raises(ToolFailure, match="on its way"):
        desk.outcome("end")
    StripeWrite.objects.update(begun_at=utcnow() - timedelta(minutes=5))
    assert desk.outcome("end") is None
    assert desk.do(write, "end", shown) == desk.outcome("end")
    assert desk.effects("customer.subscription.deleted") == 1


def test_part_that_was_prepared_is_used_only_while_the_records_are_the_same(desk: Desk) -> None:
    shown = desk.show(BILL)
    desk.stripe.fault("add_lines", STATUS, status=429)
    with pytest.raises(ToolFailure):
        desk.do(BILL, "prepared", shown)
    desk.post(f"/v1/customers/{desk.dana}", name="Dana Moved")
    with pytest.raises(ToolFailure, match="has changed since"):
        desk.do(BILL, "prepared", shown)
    assert desk.act(BILL, "prepared")["status"] == "open"
    assert desk.effects("invoice.finalized") == 5


def test_refund_for_a_deleted_customer(desk: Desk) -> None:
    write = RefundCharge(desk.charge(), usd(500), "Twice")
    desk.api.raw_request("delete", f"/v1/customers/{desk.dana}")
    assert billing().account(desk.context()).customer.deleted_at is not None
    desk.stripe.fault("POST /v1/refunds", CUT)
    with pytest.raises(OutcomeUnknown):
        desk.act(write, "gone")
    # Their key cannot be spent, so that the request is waited for.
    with pytest.raises(ToolFailure, match="on its way"):
        desk.outcome("gone")
    StripeWrite.objects.update(begun_at=utcnow() - timedelta(minutes=5))
    assert desk.outcome("gone") is None
    assert desk.act(write, "gone")["amount_minor"] == 500
    assert desk.refused(ApplyCredit(usd(500), "Late")).kind is FailureKind.CONFLICT
    assert desk.effects("refund.created") == 1


def test_forgotten_call_under_a_later_one_is_for_people(desk: Desk) -> None:
    desk.stripe.fault("POST /v1/subscriptions/", CUT)
    with pytest.raises(OutcomeUnknown):
        desk.act(PauseSubscription(desk.subscription, None), "first")
    StripeWrite.objects.update(begun_at=utcnow() - timedelta(hours=30))
    desk.act(CancelSubscription(desk.subscription, now=False, reason="Too dear"), "second")
    with pytest.raises(ToolFailure, match="a person has to look") as raised:
        desk.outcome("first")
    assert raised.value.kind is FailureKind.CONFLICT


def late_arrival(desk: Desk, key: str) -> None:
    """Let the request of a call arrive that was given up, as it was sent."""
    step = StripeWrite.objects.get(key=key).steps[0]
    sent = sub_key(str(desk.tenant.id), key, step["name"], 0)
    desk.api.raw_request("post", step["path"], idempotency_key=sent, **step["params"])


def test_request_that_was_refused_without_our_knowing_had_no_effect(desk: Desk) -> None:
    write, charge = RefundCharge(desk.charge(), usd(500), "Twice"), desk.charge()
    desk.stripe.fault("POST /v1/refunds", CUT)
    with pytest.raises(OutcomeUnknown):
        desk.act(write, "refused")
    desk.post("/v1/refunds", charge=charge)
    with pytest.raises(stripe.InvalidRequestError):
        late_arrival(desk, "refused")
    assert desk.outcome("refused") is None
    with pytest.raises(ToolFailure, match="has gone back already"):
        desk.do(write, "refused")
    assert desk.effects("refund.created") == 1


def test_request_that_arrived_without_our_knowing_is_found(desk: Desk) -> None:
    desk.stripe.fault("POST /v1/refunds", CUT)
    with pytest.raises(OutcomeUnknown):
        desk.act(RefundCharge(desk.charge(), usd(500), "Twice"), "arrived")
    late_arrival(desk, "arrived")
    found = desk.outcome("arrived")
    assert found is not None
    assert (found["amount_minor"], desk.effects("refund.created")) == (500, 1)


def test_call_that_somebody_works_on_is_waited_for(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.stripe.fault("POST /v1/refunds", CUT)
    with pytest.raises(OutcomeUnknown):
        desk.act(RefundCharge(desk.charge(), usd(500), "Twice"), "busy")
    StripeWrite.objects.update(held_until=utcnow() + timedelta(minutes=1))
    monkeypatch.setattr(carrying, "WAIT_SECONDS", 0.0)
    with pytest.raises(OutcomeUnknown, match="under way"):
        desk.outcome("busy")
    StripeWrite.objects.update(held_until=utcnow() - timedelta(minutes=1))
    assert desk.outcome("busy") is None


def test_live_key_sees_nothing_of_the_test_mode(desk: Desk) -> None:
    desk.secret = SECRET_LIVE
    with override_settings(TOOL_ENVIRONMENT="production"), pytest.raises(ToolFailure) as raised:
        billing().account(desk.context())
    assert raised.value.kind is FailureKind.NOT_FOUND


def test_object_of_the_other_mode_is_refused(desk: Desk) -> None:
    account = replace(opened(desk.context().secret), is_live=True)
    for read in (lambda: account.one(f"/v1/customers/{desk.dana}"), lambda: account.listed("/v1/customers", 1)):
        with pytest.raises(ToolFailure, match="not of live mode") as raised:
            read()
        assert raised.value.kind is FailureKind.AUTH


def test_address_that_is_neither_https_nor_here(desk: Desk) -> None:
    with override_settings(STRIPE_URL="http://stripe.example"), pytest.raises(Exception, match="https"):
        billing().account(desk.context())


@pytest.mark.django_db(transaction=True)
def test_many_equal_requests_at_once_have_one_effect(transactional_db: None) -> None:
    with desk_at_stripe() as desk:
        write = ApplyCredit(usd(500), "Late")
        results: list[object] = []

        def act() -> None:
            try:
                results.append(desk.do(write, "many"))
            except OutcomeUnknown as unknown:
                results.append(unknown)
            finally:
                connection.close()

        threads = [Thread(target=act) for _ in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        done = [result for result in results if isinstance(result, dict)]
        assert (len(results), desk.balance()) == (12, -500)
        assert done == [desk.outcome("many")] * len(done)
