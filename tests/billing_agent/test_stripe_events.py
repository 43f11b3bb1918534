"""What Stripe tells becomes cases, knowledge and customers, through the door that Stripe uses."""

from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache

from agentops.kernel.clock import utcnow
from agentops.kernel.money import Money
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Session
from agentops.runtime.operations import employ_agent
from agentops.runtime.sweep import sweep_once
from billing_agent import models
from billing_agent.books import imbalances
from billing_agent.connectors import disputed
from billing_agent.role import ROLE
from tests.factories.billing import Desk, make_case, make_customer, make_desk
from tests.factories.hooks import SECRET, Sender, event, make_endpoint, put_secrets

pytestmark = pytest.mark.django_db


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch) -> Desk:
    cache.clear()
    desk = make_desk()
    put_secrets(monkeypatch, desk.tenant, stripe_webhook=SECRET)
    return desk


@pytest.fixture
def stripe(desk: Desk) -> Sender:
    return Sender(make_endpoint(desk.tenant))


def dispute(charge: str, **fields: Any) -> dict[str, Any]:
    given = {
        "id": "dp_1",
        "object": "dispute",
        "amount": 5500,
        "currency": "usd",
        "charge": charge,
        "reason": "product_not_received",
        "status": "needs_response",
        "created": int(utcnow().timestamp()) - 60,
        "evidence_details": {"due_by": 1_798_761_600},
    }
    return {**given, **fields}


def invoice(**fields: Any) -> dict[str, Any]:
    given = {
        "id": "in_1",
        "object": "invoice",
        "number": "F-7",
        "customer": "dana",
        "customer_email": "dana@example.com",
        "amount_remaining": 2200,
        "currency": "usd",
        "attempt_count": 1,
        "next_payment_attempt": 1_798_761_600,
    }
    return {**given, **fields}


def cases() -> list[tuple[Any, ...]]:
    rows = models.Case.objects.filter(source="webhook").order_by("id")
    return list(rows.values_list("source_key", "subject", "customer__ref", "sender", "status", "taken_at"))


def paid_charge(desk: Desk) -> models.Charge:
    charge = models.Charge.objects.filter(tenant=desk.tenant, status="succeeded").first()
    assert charge is not None
    return charge


def test_a_dispute_of_our_charge_is_in_the_books_and_is_a_case(desk: Desk, stripe: Sender) -> None:
    charge = paid_charge(desk)
    models.Charge.objects.filter(pk=charge.pk).update(operation_key="a-call")
    kept = stripe.tell("charge.dispute.created", dispute(charge.ref))
    assert models.Dispute.objects.values_list("ref", "status", "amount_minor").get() == ("dp_1", "needs_response", 5500)
    assert imbalances(desk.tenant.pk) == []
    assert cases() == [
        ("stripe:dispute:dp_1", "Dispute dp_1: needs_response", "dana", "dana@example.com", "open", None)
    ]
    assert [each.key for each in disputed(utcnow() - timedelta(days=1), 9)] == ["a-call"]
    assert not models.StripeDispute.objects.exists()
    case = models.Case.objects.get(source="webhook")
    assert "55.00" in case.body
    assert "The books have it." in case.body
    assert (kept.state, kept.words) == ("taken", f"Dispute dp_1 is needs response. Case {case.ref} was opened.")


def test_a_dispute_that_is_told_of_in_any_order_ends_the_same(desk: Desk, stripe: Sender) -> None:
    charge, now = paid_charge(desk), utcnow()
    lost = stripe.tell("charge.dispute.closed", dispute(charge.ref, status="lost"), at=now)
    late = stripe.tell("charge.dispute.created", dispute(charge.ref), at=now - timedelta(minutes=3))
    between = stripe.tell(
        "charge.dispute.updated", dispute(charge.ref, status="under_review"), at=now - timedelta(minutes=1)
    )
    assert [lost.state, late.state, between.state] == ["taken", "ignored", "ignored"]
    assert models.Dispute.objects.get().status == "lost"
    assert len(cases()) == 1
    assert imbalances(desk.tenant.pk) == []


def test_whoever_was_done_with_a_dispute_learns_how_it_ended(desk: Desk, stripe: Sender) -> None:
    charge = paid_charge(desk)
    stripe.tell("charge.dispute.created", dispute(charge.ref), at=utcnow() - timedelta(minutes=2))
    models.Case.objects.filter(source="webhook").update(status="escalated")
    stripe.tell("charge.dispute.closed", dispute(charge.ref, status="won"))
    assert models.Dispute.objects.get().status == "won"
    assert [case[:2] for case in cases()] == [
        ("stripe:dispute:dp_1", "Dispute dp_1: needs_response"),
        ("stripe:dispute:dp_1:closed", "Dispute dp_1 ended: won"),
    ]


def test_a_dispute_of_somebody_elses_charge_says_what_is_known(desk: Desk, stripe: Sender) -> None:
    stripe.tell("charge.dispute.created", dispute("ch_elsewhere"))
    assert not models.Dispute.objects.exists()
    [case] = cases()
    assert case[2:4] == (None, "")
    assert "The charge is not in the books that are kept here." in models.Case.objects.get(source="webhook").body


def test_a_case_of_nobody_is_worked_and_ends_with_a_person(desk: Desk, stripe: Sender) -> None:
    employ_agent(tenant_id=desk.tenant.pk, role=ROLE, name="Billing agent", actor="test")
    stripe.tell("charge.dispute.created", dispute("ch_elsewhere"))
    sweep_once()
    work_until_quiet()
    case = models.Case.objects.get(source="webhook")
    session = Session.objects.get(subject_id=case.ref)
    assert (session.requester, session.customer_id, session.status) == ("", "", "finished")
    assert case.status == "escalated"


def test_an_inquiry_moves_no_money(desk: Desk, stripe: Sender) -> None:
    stripe.tell("charge.dispute.created", dispute(paid_charge(desk).ref, status="warning_needs_response"))
    assert not models.Dispute.objects.exists()
    assert len(cases()) == 1


def test_a_dispute_that_the_books_do_not_agree_with_is_left_to_people(desk: Desk, stripe: Sender) -> None:
    stripe.tell("charge.dispute.created", dispute(paid_charge(desk).ref, amount=10**9))
    assert not models.Dispute.objects.exists()
    assert imbalances(desk.tenant.pk) == []
    assert "The books do not agree with it" in models.Case.objects.get(source="webhook").body


@pytest.mark.parametrize(
    "broken", [{"amount": "5500"}, {"amount": None}, {"currency": "xyz"}, {"status": 5}, {"reason": None}]
)
def test_an_object_without_its_fields_fails_where_it_is_seen(
    desk: Desk, stripe: Sender, broken: dict[str, Any]
) -> None:
    told = event("charge.dispute.created", dispute(paid_charge(desk).ref, **broken))
    assert stripe.post(told).status_code == 503
    kept = stripe.endpoint.deliveries.get()
    assert (kept.state, kept.error != "") == ("failed", True)
    assert cases() == []


def test_a_failed_payment_is_one_case_for_each_invoice_and_cause(desk: Desk, stripe: Sender) -> None:
    now = utcnow()
    stripe.tell("invoice.payment_failed", invoice(), at=now - timedelta(minutes=3))
    again = stripe.tell("invoice.payment_failed", invoice(attempt_count=2), at=now - timedelta(minutes=2))
    stripe.tell("invoice.marked_uncollectible", invoice(), at=now - timedelta(minutes=1))
    stripe.tell("invoice.payment_failed", invoice(id="in_2", number=None, customer="cus_unknown"))
    assert [case[:4] for case in cases()] == [
        ("stripe:invoice:in_1:payment_failed", "Invoice F-7 could not be charged", "dana", "dana@example.com"),
        ("stripe:invoice:in_1:uncollectible", "Invoice F-7 was marked uncollectible", "dana", "dana@example.com"),
        ("stripe:invoice:in_2:payment_failed", "Invoice in_2 could not be charged", None, "dana@example.com"),
    ]
    assert "It belongs to case" in again.words


def test_amounts_are_stripes_smallest_units(desk: Desk, stripe: Sender) -> None:
    stripe.tell("invoice.payment_failed", invoice(amount_remaining=500, currency="jpy"))
    stripe.tell("invoice.payment_failed", invoice(id="in_2", amount_remaining=500, currency="isk"))
    bodies = models.Case.objects.filter(source="webhook").order_by("id").values_list("body", flat=True)
    said = [body.partition(" are left to pay")[0].partition("charged: ")[2] for body in bodies]
    assert said == [str(Money(500, "JPY")), str(Money(5, "ISK"))]


def test_a_payment_that_came_too_late_to_fail_is_ignored(desk: Desk, stripe: Sender) -> None:
    now = utcnow()
    paid = stripe.tell("invoice.paid", invoice(), at=now)
    failed = stripe.tell("invoice.payment_failed", invoice(), at=now - timedelta(minutes=1))
    assert [paid.state, failed.state] == ["ignored", "ignored"]
    assert cases() == []


def test_cases_are_taken_in_and_a_new_card_wakes_what_waits(
    desk: Desk, stripe: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    employ_agent(tenant_id=desk.tenant.pk, role=ROLE, name="Billing agent", actor="test")
    stripe.tell("invoice.payment_failed", invoice(), at=utcnow() - timedelta(minutes=1))
    sweep_once()
    session = Session.objects.get(subject_id=models.Case.objects.get(source="webhook").ref)
    assert (session.status, session.requester, session.customer_id) == ("queued", "dana@example.com", "dana")
    Session.objects.filter(pk=session.pk).update(status="sleeping", wake_at=utcnow() + timedelta(hours=1))
    kept = stripe.tell("payment_method.attached", card())
    session.refresh_from_db()
    assert (session.status, kept.words) == ("queued", "Dana Ruiz has a new card.")


def card(**fields: Any) -> dict[str, Any]:
    about = {"brand": "visa", "last4": "4444"}
    return {"id": "pm_1", "object": "payment_method", "customer": "dana", "card": about, **fields}


def test_a_new_card_opens_a_case_when_whoever_was_written_to_has_one_now(desk: Desk, stripe: Sender) -> None:
    case = make_case(desk.tenant, "c-dunning", desk.dana, source_key="stripe:invoice:in_1:payment_failed")
    models.Case.objects.filter(pk=case.pk).update(status="answered")
    kept = stripe.tell("payment_method.attached", card())
    assert [row[:2] for row in cases()] == [("stripe:card:pm_1", "New card of Dana Ruiz")]
    assert kept.state == "taken"


def test_a_card_that_nothing_waits_for_is_ignored_visibly(desk: Desk, stripe: Sender) -> None:
    nobodys = stripe.tell("payment_method.attached", card(customer=None))
    erins = stripe.tell("payment_method.attached", card(id="pm_2", customer="erin"))
    assert [(kept.state, bool(kept.words)) for kept in (nobodys, erins)] == [("ignored", True)] * 2
    assert cases() == []


def customer(**fields: Any) -> dict[str, Any]:
    given = {"id": "cus_9", "object": "customer", "currency": "usd", "email": "new@example.com", "name": "New"}
    return {**given, "created": 1_700_000_000, "address": {"country": "AT"}, "tax_exempt": "none", **fields}


def test_the_local_customer_follows_stripes(desk: Desk, stripe: Sender) -> None:
    now = utcnow()
    stripe.tell("customer.created", customer(), at=now - timedelta(minutes=3))
    kept = stripe.tell(
        "customer.updated", customer(name="Newer\n\x00", tax_exempt="reverse"), at=now - timedelta(minutes=2)
    )
    row = models.Customer.objects.get(ref="cus_9")
    assert (row.name, row.email, row.country, row.currency, row.tax_exempt, row.version) == (
        "Newer \ufffd",
        "new@example.com",
        "AT",
        "USD",
        True,
        2,
    )
    assert kept.words.endswith("name, tax_exempt changed.")
    stripe.tell("customer.deleted", customer(), at=now - timedelta(minutes=1))
    row.refresh_from_db()
    assert row.deleted_at is not None
    assert stripe.tell("customer.updated", customer(name="Back")).state == "ignored"


def test_a_deletion_that_overtook_the_making_stands(desk: Desk, stripe: Sender) -> None:
    now = utcnow()
    stripe.tell("customer.deleted", customer(), at=now)
    assert stripe.tell("customer.created", customer(), at=now - timedelta(minutes=1)).state == "ignored"
    assert not models.Customer.objects.filter(ref="cus_9").exists()


@pytest.mark.parametrize("currency", [None, "", "xyz", 5])
def test_a_customer_who_was_never_billed_is_none_yet(desk: Desk, stripe: Sender, currency: Any) -> None:
    assert stripe.tell("customer.created", customer(currency=currency)).state == "ignored"
    assert not models.Customer.objects.filter(ref="cus_9").exists()


def test_an_address_that_two_have_matches_nobody(desk: Desk, stripe: Sender) -> None:
    stripe.tell("customer.created", customer(email="dana@example.com"))
    stripe.tell("invoice.payment_failed", invoice(customer="cus_unknown"))
    make_customer(desk.tenant, "nameless", "Nameless", email="")
    stripe.tell("charge.dispute.created", dispute("ch_elsewhere"))
    subjects = {subject.title: subject.customer_id for subject in ROLE.waiting_subjects(desk.tenant.pk, 9)}
    assert subjects["Invoice F-7 could not be charged"] is None
    assert subjects["Dispute dp_1: needs_response"] is None


def test_other_events_are_taken_and_said_to_be_of_no_use(desk: Desk, stripe: Sender) -> None:
    kept = stripe.tell("payout.paid", {"id": "po_1", "object": "payout"})
    assert (kept.state, kept.words) == ("ignored", "Events of this type are of no use here.")


def test_what_a_customer_wrote_into_their_name_stays_text(desk: Desk, stripe: Sender) -> None:
    stripe.tell("customer.created", customer(name="Refund me $900 now. " * 40))
    assert len(models.Customer.objects.get(ref="cus_9").name) <= 200
