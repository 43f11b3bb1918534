"""What is due by the calendar is carried out once, however often and by however many it is run."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from io import StringIO
from threading import Barrier

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from billing_agent import models
from billing_agent.books import imbalances
from billing_agent.connectors.port import (
    ApplyCredit,
    CancelSubscription,
    ChangePlan,
    PauseSubscription,
    RetryCharge,
)
from billing_agent.connectors.renewing import Run, run_due
from tests.factories.billing import Desk, every_row, make_desk, make_plan, make_subscription, usd
from tests.factories.support import make_tenant

DECEMBER = datetime(2026, 12, 1, tzinfo=UTC)
JANUARY = datetime(2027, 1, 1, tzinfo=UTC)


def run(desk: Desk, now: datetime, limit: int = 100) -> Run:
    done = run_due(desk.tenant.id, now, limit)
    assert imbalances(desk.tenant.id) == []
    return done


def bills(desk: Desk) -> list[tuple[str, int, int]]:
    rows = models.Invoice.objects.filter(subscription__ref="sub-1", tenant=desk.tenant).order_by("id")
    return [(row.status, row.total_minor, row.attempts) for row in rows]


@pytest.mark.django_db
def test_nothing_is_done_before_it_is_due() -> None:
    desk = make_desk()
    books = every_row()
    assert run(desk, DECEMBER - timedelta(seconds=1)) == Run()
    assert every_row() == books


@pytest.mark.django_db
def test_a_period_that_ends_is_renewed_and_charged_and_only_once() -> None:
    desk = make_desk()
    assert len(run(desk, DECEMBER).done) == 4  # Dana and Erin, each renewed and charged
    assert (desk.subscription().period_start, desk.subscription().period_end) == (DECEMBER, JANUARY)
    assert bills(desk) == [("paid", 2200, 1)]
    books = every_row()
    assert run(desk, DECEMBER) == Run()
    assert run(desk, DECEMBER + timedelta(hours=1)) == Run()
    assert every_row() == books


@pytest.mark.django_db
def test_a_run_that_comes_late_does_one_period_after_the_other() -> None:
    desk = make_desk()
    run(desk, datetime(2027, 2, 3, tzinfo=UTC))
    assert desk.subscription().period_end == datetime(2027, 3, 1, tzinfo=UTC)
    assert bills(desk) == [("paid", 2200, 1)] * 3


@pytest.mark.django_db
def test_a_run_does_no_more_than_it_may_and_the_next_one_goes_on() -> None:
    desk = make_desk()
    assert [len(run(desk, DECEMBER, limit=1).done) for _ in range(5)] == [1, 1, 1, 1, 0]
    assert bills(desk) == [("paid", 2200, 1)]


@pytest.mark.django_db
def test_credit_pays_a_renewal_before_the_card_does() -> None:
    desk = make_desk()
    desk.act(ApplyCredit(usd(2200), "Late"))
    run(desk, DECEMBER)
    assert bills(desk) == [("paid", 2200, 0)]


@pytest.mark.django_db
def test_a_plan_that_was_to_come_is_renewed_and_one_that_was_to_end_is_not() -> None:
    desk = make_desk()
    desk.act(ChangePlan("sub-1", "business", 1, now=False))
    desk.act(CancelSubscription("sub-9", now=False, reason="Too dear"), customer_id="erin")
    run(desk, DECEMBER)
    assert (desk.subscription().plan.ref, desk.subscription().next_plan) == ("business", None)
    assert bills(desk) == [("paid", 5500, 1)]
    ended = models.Subscription.objects.get(ref="sub-9")
    assert (ended.status, ended.cancelled_at, ended.cancel_reason) == ("cancelled", DECEMBER, "Too dear")
    assert not ended.invoices.exists()


@pytest.mark.django_db
def test_a_pause_ends_on_its_day_and_bills_nothing_before() -> None:
    desk = make_desk()
    day = datetime(2026, 12, 24, tzinfo=UTC)
    desk.act(PauseSubscription("sub-1", day.date()))
    run(desk, DECEMBER)
    assert (desk.subscription().status, bills(desk)) == ("paused", [])
    run(desk, day)
    assert (desk.subscription().status, desk.subscription().period_end) == (
        "active",
        DECEMBER + (day - datetime(2026, 11, 11, tzinfo=UTC)),
    )
    assert bills(desk) == []


@pytest.mark.django_db
def test_a_card_that_declines_is_tried_after_3_5_and_7_days_and_then_left_to_people() -> None:
    desk = make_desk()
    models.PaymentMethod.objects.filter(ref="card-1").update(declines_with="insufficient_funds")
    now, tried = DECEMBER, []
    for day in range(20):
        run(desk, now + timedelta(days=day))
        tried.append(models.Invoice.objects.get(subscription__ref="sub-1").attempts)
    assert tried == [1] * 3 + [2] * 5 + [3] * 7 + [4] * 5
    invoice = models.Invoice.objects.get(subscription__ref="sub-1")
    assert (invoice.status, invoice.next_attempt_at) == ("open", None)
    assert desk.subscription().status == "past_due"
    assert [each.decline_code for each in invoice.charges.all()] == ["insufficient_funds"] * 4


@pytest.mark.django_db
def test_a_subscription_is_active_again_when_its_invoice_is_paid() -> None:
    desk = make_desk()
    models.PaymentMethod.objects.filter(ref="card-1").update(declines_with="insufficient_funds")
    run(desk, DECEMBER)
    assert desk.subscription().status == "past_due"
    models.PaymentMethod.objects.filter(ref="card-1").update(declines_with="")
    invoice = models.Invoice.objects.get(subscription__ref="sub-1")
    desk.act(RetryCharge(invoice.ref, "card-1", usd(2200)))
    assert run(desk, DECEMBER).done == ["Team of Dana Ruiz is active"]
    assert run(desk, DECEMBER) == Run()


@pytest.mark.django_db
def test_without_a_card_the_charge_is_left_to_people_once() -> None:
    desk = make_desk()
    desk.dana.methods.all().delete()
    done = run(desk, DECEMBER).done
    invoice = models.Invoice.objects.get(subscription__ref="sub-1")
    assert f"Leave the charge of {invoice.ref} to people" in done
    assert (invoice.status, invoice.attempts, invoice.next_attempt_at) == ("open", 0, None)
    assert run(desk, DECEMBER) == Run()


@pytest.mark.django_db
def test_what_is_refused_is_told_of_and_keeps_nothing_waiting() -> None:
    desk = make_desk()
    euro = make_plan(desk.tenant, "euro", "Euro", 100, currency="EUR")
    make_subscription(desk.dana, euro, "sub-0", period_end=DECEMBER - timedelta(days=1))
    for _ in range(2):
        told = run(desk, DECEMBER, limit=4)
        assert told.refused == ["sub-0: Euro is sold in EUR; Dana Ruiz is billed in USD."]
    assert bills(desk) == [("paid", 2200, 1)]


@pytest.mark.django_db
def test_another_tenant_is_not_run() -> None:
    desk, south = make_desk(), make_tenant("south")
    assert run_due(south.id, DECEMBER, 10) == Run()
    assert desk.subscription().period_end == DECEMBER


@pytest.mark.django_db(transaction=True)
def test_many_runs_at_once_do_everything_once() -> None:
    desk = make_desk()
    plan = models.Plan.objects.get(ref="team")
    for number in range(10):
        make_subscription(desk.dana, plan, f"more-{number}")
    barrier = Barrier(8)

    def work(_: int) -> Run:
        try:
            barrier.wait(30)
            return run_due(desk.tenant.id, DECEMBER, 100)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(work, range(8)))
    assert [each.refused for each in runs] == [[]] * 8
    assert sum(len(each.done) for each in runs) == 24
    issued = models.Invoice.objects.exclude(subscription=None)
    assert set(issued.values_list("status", "attempts")) == {("paid", 1)}
    assert issued.count() == 12
    assert imbalances(desk.tenant.id) == []
    assert run(desk, DECEMBER) == Run()


@pytest.mark.django_db
def test_the_command_tells_what_was_done_and_ends_with_what_was_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    desk, told, refused = make_desk(), StringIO(), StringIO()
    monkeypatch.setattr("billing_agent.management.commands.billing_due.utcnow", lambda: DECEMBER)
    call_command("billing_due", tenant=desk.tenant.slug, stdout=told)
    assert len(told.getvalue().splitlines()) == 4
    assert all(line.startswith(f"{desk.tenant.slug}: ") for line in told.getvalue().splitlines())
    with pytest.raises(CommandError, match="There is no tenant nowhere"):
        call_command("billing_due", tenant="nowhere")
    monkeypatch.setattr(
        "billing_agent.management.commands.billing_due.run_due", lambda *_: Run([], ["sub-1: It does not go."])
    )
    with pytest.raises(CommandError, match="still due: 1"):
        call_command("billing_due", tenant=desk.tenant.slug, stderr=refused)
    assert "refused: sub-1: It does not go." in refused.getvalue()
