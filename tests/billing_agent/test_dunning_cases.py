"""An invoice that is not charged by itself any more becomes a case, once for each cause."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from billing_agent import models
from billing_agent.connectors.renewing import run_due
from tests.factories.billing import Desk, make_card, make_desk

pytestmark = pytest.mark.django_db

DECEMBER = datetime(2026, 12, 1, tzinfo=UTC)


def cases(desk: Desk) -> list[tuple[Any, ...]]:
    rows = models.Case.objects.filter(tenant=desk.tenant, source="schedule", customer=desk.dana).order_by("id")
    return list(rows.values_list("source_key", "subject", "status", "taken_at"))


def run(desk: Desk, now: datetime) -> list[str]:
    done = run_due(desk.tenant.pk, now, 100)
    assert done.refused == []
    return done.done


def billed(desk: Desk) -> models.Invoice:
    return models.Invoice.objects.get(subscription__ref="sub-1")


def test_when_every_attempt_was_declined_people_are_told_once() -> None:
    desk = make_desk()
    models.PaymentMethod.objects.filter(ref="card-1").update(declines_with="insufficient_funds")
    seen = []
    for day in (0, 3, 8, 14, 15, 16):
        run(desk, DECEMBER + timedelta(days=day))
        seen.append(len(cases(desk)))
        models.Case.objects.filter(source="schedule").update(status="closed")
    assert seen == [0, 0, 0, 0, 1, 1]
    invoice = billed(desk)
    words = "every attempt was declined"
    assert cases(desk)[0][:2] == (f"due:dunning:{invoice.ref}:exhausted", f"Invoice {invoice.number}: {words}")


def test_an_expired_card_and_later_another_cause_are_two_cases() -> None:
    desk = make_desk()
    models.PaymentMethod.objects.filter(ref="card-1").update(expires_year=2026, expires_month=1)
    run(desk, DECEMBER)
    invoice = billed(desk)
    assert (invoice.attempts, invoice.next_attempt_at) == (1, None)
    [(key, subject, status, taken_at)] = cases(desk)
    assert (key, status, taken_at) == (f"due:dunning:{invoice.ref}:card_expired", "open", None)
    assert subject == f"Invoice {invoice.number}: the card has expired"
    assert run(desk, DECEMBER) == []
    card = make_card(desk.dana, "card-3", declines_with="lost_or_stolen")
    models.Charge.objects.create(
        tenant=desk.tenant,
        customer=desk.dana,
        invoice=invoice,
        ref="ch-x",
        method_ref=card.ref,
        amount_minor=2200,
        currency="USD",
        status="failed",
        decline_code="lost_or_stolen",
        at=DECEMBER + timedelta(hours=1),
    )
    models.Invoice.objects.filter(pk=invoice.pk).update(attempts=2)
    run(desk, DECEMBER + timedelta(hours=2))
    assert [row[0].rpartition(":")[2] for row in cases(desk)] == ["card_expired", "card_lost"]


def test_without_a_card_people_are_told_once() -> None:
    desk = make_desk()
    desk.dana.methods.all().delete()
    run(desk, DECEMBER)
    assert run(desk, DECEMBER + timedelta(hours=1)) == []
    assert [row[0] for row in cases(desk)] == [f"due:dunning:{billed(desk).ref}:untried"]


def test_what_will_be_tried_again_or_was_never_to_be_charged_or_is_paid_is_no_case() -> None:
    desk = make_desk()
    models.PaymentMethod.objects.filter(ref="card-1").update(declines_with="insufficient_funds")
    run(desk, DECEMBER)
    assert billed(desk).next_attempt_at is not None
    assert cases(desk) == []


def test_whatever_else_keeps_it_from_being_tried_again_is_a_case_too() -> None:
    desk = make_desk()
    models.PaymentMethod.objects.filter(ref="card-1").update(declines_with="incorrect_cvc")
    run(desk, DECEMBER)
    invoice = billed(desk)
    models.Invoice.objects.filter(pk=invoice.pk).update(next_attempt_at=None)
    # One whose attempts are on record elsewhere.
    models.Invoice.objects.filter(tenant=desk.tenant, number="INV-000001").update(attempts=1)
    run(desk, DECEMBER + timedelta(hours=1))
    other = models.Invoice.objects.get(number="INV-000001").ref
    assert {row[0] for row in cases(desk)} == {f"due:dunning:{ref}:left" for ref in (invoice.ref, other)}


def test_a_case_says_whose_invoice_it_is_about() -> None:
    desk = make_desk()
    desk.dana.methods.all().delete()
    run(desk, DECEMBER)
    case = models.Case.objects.get(source="schedule", customer=desk.dana)
    assert case.tenant_id == desk.tenant.pk
    assert case.body.startswith(f"Invoice {billed(desk).number} of Dana Ruiz is open")
