"""What many do at once comes to what one after the other would do: once for each key, and never more than there is."""

from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest
from django.db import connection, transaction

from agentops.kernel.errors import FailureKind
from agentops.registry.once import Call
from agentops.registry.tool import CallContext, Result, ToolFailure
from billing_agent import models
from billing_agent.books import imbalances
from billing_agent.connectors import billing, embedded
from billing_agent.connectors.port import (
    ApplyCredit,
    ChangePlan,
    CloseCase,
    RefundCharge,
    RetryCharge,
    ReverseCredit,
    VoidInvoice,
    Write,
)
from tests.factories.billing import Desk, bill, every_row, make_desk, usd

pytestmark = pytest.mark.django_db(transaction=True)

THREADS = 50
TIMES = 20
Request = tuple[CallContext, Write]
Answer = Result | FailureKind


def race(calls: Sequence[Request], times: int = 1) -> list[Answer]:
    """Make all calls at once, each on its own connection and ``times`` times; return results and failure kinds."""
    barrier = Barrier(len(calls))

    def run(call: Request) -> list[Answer]:
        try:
            barrier.wait(60)
            return [_answer(*call) for _ in range(times)]
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return [answer for answers in pool.map(run, calls) for answer in answers]


def _answer(context: CallContext, write: Write) -> Answer:
    try:
        return billing().write(context, write)
    except ToolFailure as failure:
        return failure.kind


def kinds(answers: Sequence[Answer]) -> Counter[str]:
    return Counter("done" if isinstance(answer, dict) else answer.value for answer in answers)


def numbers(desk: Desk) -> list[int]:
    issued = models.Invoice.objects.filter(tenant=desk.tenant).values_list("number", flat=True)
    return sorted(int(str(number).removeprefix("INV-")) for number in issued)


@pytest.mark.parametrize("name", ["refund", "charge", "credit", "invoice"])
def test_a_thousand_equal_requests_have_one_effect(name: str) -> None:
    desk = make_desk()
    write: Write = {
        "refund": RefundCharge(desk.charge().ref, usd(1000), "Late"),
        "charge": RetryCharge(desk.invoice("INV-000001").ref, "card-1", usd(2200)),
        "credit": ApplyCredit(usd(1000), "Late"),
        "invoice": bill(1000, "Once"),
    }[name]
    entries, operations = models.Entry.objects.count(), models.Operation.objects.count()
    answers = race([(desk.context("k"), write)] * THREADS, TIMES)
    assert len(answers) == THREADS * TIMES
    assert answers == [answers[0]] * len(answers)
    assert isinstance(answers[0], dict)
    assert models.Operation.objects.count() == operations + 1
    assert models.Entry.objects.count() == entries + 1
    assert imbalances(desk.tenant.id) == []


def test_one_key_with_two_amounts_has_the_effect_of_one() -> None:
    desk = make_desk()
    calls = [
        (desk.context("k"), RefundCharge(desk.charge().ref, usd(1000 + number % 2), "Late"))
        for number in range(THREADS)
    ]
    assert kinds(race(calls)) == {"done": THREADS // 2, "CONFLICT": THREADS // 2}
    assert desk.charge().refunded_minor in (1000, 1001)
    assert desk.charge().refunds.count() == 1
    assert imbalances(desk.tenant.id) == []


def test_racing_refunds_never_exceed_the_charge() -> None:
    desk = make_desk()
    charge = desk.charge().ref
    calls: list[Request] = [
        (desk.context(f"k-{number}"), RefundCharge(charge, usd((1700, 2600)[number % 2]), "Late"))
        for number in range(THREADS)
    ]
    done = [answer for answer in race(calls) if isinstance(answer, dict)]
    refunded = [refund.amount_minor for refund in desk.charge().refunds.all()]
    assert len(done) == len(refunded)
    assert sum(refunded) == desk.charge().refunded_minor
    # Whichever came first, what is left is less than the smaller of the two.
    assert 5500 - 1700 < sum(refunded) <= 5500
    assert imbalances(desk.tenant.id) == []


def test_an_invoice_is_paid_once_by_whoever_comes_first() -> None:
    desk = make_desk()
    ref = desk.invoice("INV-000001").ref
    calls: list[Request] = []
    for number in range(12):
        calls += [
            (desk.context(f"charge-{number}"), RetryCharge(ref, "card-1", usd(2200))),
            (desk.context(f"void-{number}"), VoidInvoice(ref, "Twice")),
            (desk.context(f"credit-{number}"), ApplyCredit(usd(2200), "Late", ref)),
        ]
    race(calls)
    closed = desk.invoice("INV-000001")
    assert closed.status in ("paid", "void")
    assert imbalances(desk.tenant.id) == []


def test_credit_is_used_once_by_invoices_that_are_made_at_once() -> None:
    desk = make_desk()
    desk.act(ApplyCredit(usd(5000), "Late"))
    race([(desk.context(f"k-{number}"), bill(1000, "Many")) for number in range(20)])
    made = models.Invoice.objects.filter(memo="Many")
    assert sum(invoice.credited_minor for invoice in made) == 5000
    assert desk.dana.credits.get().left_minor == 0
    assert imbalances(desk.tenant.id) == []


def test_invoices_of_all_customers_at_once_have_numbers_without_gaps() -> None:
    desk = make_desk()
    euros = bill(1, "Refused", currency="EUR")
    calls = [
        (desk.context(f"k-{number}", ("dana", "erin")[number % 2]), euros if number % 5 == 0 else bill(100, "Many"))
        for number in range(THREADS)
    ]
    assert kinds(race(calls)) == {"done": 40, "VALIDATION": 10}
    assert numbers(desk) == list(range(1, 44))
    assert models.InvoiceSeries.objects.get().last == 43


def test_everything_at_once_ends_without_a_deadlock_and_with_the_books_in_balance() -> None:
    desk = make_desk()
    charge, invoice = desk.charge().ref, desk.invoice("INV-000001").ref
    desk.act(ApplyCredit(usd(100), "Late"))
    credit = desk.dana.credits.get().ref
    writes: list[Write] = [
        RefundCharge(charge, usd(100), "Late"),
        RetryCharge(invoice, "card-2", usd(2200)),
        ApplyCredit(usd(10), "Late", invoice),
        ReverseCredit(credit, "Twice"),
        ChangePlan("sub-1", "business", 2, now=True),
        ChangePlan("sub-1", "team", 1, now=True),
        bill(300, "More"),
        VoidInvoice(invoice, "Twice"),
        CloseCase("Done."),
    ]
    calls = [
        (desk.context(f"k-{number}", ("dana", "erin")[number // 9 % 2]), writes[number % 9]) for number in range(45)
    ]
    assert kinds(race(calls)).keys() <= {"done", "CONFLICT", "NOT_FOUND"}
    assert numbers(desk) == list(range(1, len(numbers(desk)) + 1))
    assert imbalances(desk.tenant.id) == []


@pytest.mark.parametrize("name", ["refund", "invoice"])
def test_a_write_whose_connection_is_cut_leaves_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = make_desk()
    write: Write = RefundCharge(desk.charge().ref, usd(100), "Late") if name == "refund" else bill(100, "Cut off")
    books = every_row()
    record = embedded.record_result

    def cut(call: Call, result: Result) -> None:
        with ThreadPoolExecutor(1) as other:
            other.submit(_terminate, connection.connection.info.backend_pid).result()
        record(call, result)

    with monkeypatch.context() as patch:
        patch.setattr(embedded, "record_result", cut)
        [answer] = race([(desk.context("k"), write)])
    assert answer is FailureKind.UNAVAILABLE
    assert every_row() == books
    assert billing().outcome(desk.context("k")) is None
    desk.act(write, "k")
    assert numbers(desk) == list(range(1, len(numbers(desk)) + 1))


def _terminate(pid: int) -> None:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
    finally:
        connection.close()


def test_asking_about_a_key_waits_for_the_write_that_is_under_way(monkeypatch: pytest.MonkeyPatch) -> None:
    desk = make_desk()
    write = RefundCharge(desk.charge().ref, usd(100), "Late")
    reached, go_on = Event(), Event()
    record = embedded.record_result

    def hold(call: Call, result: Result) -> None:
        record(call, result)
        reached.set()
        assert go_on.wait(30)

    def ask() -> Result | None:
        try:
            return billing().outcome(desk.context("k"))
        finally:
            connection.close()

    monkeypatch.setattr(embedded, "record_result", hold)
    with ThreadPoolExecutor(2) as pool:
        writing = pool.submit(race, [(desk.context("k"), write)])
        assert reached.wait(30)
        asking = pool.submit(ask)
        _until_somebody_waits()
        assert not asking.done()
        go_on.set()
        assert [asking.result(30)] == writing.result(30)


def _until_somebody_waits() -> None:
    """Return when a connection waits for another one's transaction."""
    for _ in range(3_000):
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)"
                " WHERE NOT granted AND locktype = 'transactionid' AND datname = current_database()"
            )
            if cursor.fetchone()[0]:
                return
            cursor.execute("SELECT pg_sleep(0.01)")
    pytest.fail("nobody waits")
