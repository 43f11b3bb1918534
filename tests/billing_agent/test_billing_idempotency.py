"""A key has its effect once, and whoever asks is told what became of it."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from django.db import InterfaceError, OperationalError, connection

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from billing_agent import models
from billing_agent.books import imbalances
from billing_agent.connectors import billing
from billing_agent.connectors.port import ApplyCredit, CloseCase, RefundCharge, RetryCharge, Write
from tests.factories.billing import ONE_OF_EACH, Desk, bill, every_row, make_desk, usd
from tests.factories.support import make_tenant


def refund(desk: Desk, minor: int = 1200, reason: str = "Half was not held") -> Write:
    return RefundCharge(desk.charge().ref, usd(minor), reason)


def refused(call: Callable[[], object]) -> ToolFailure:
    with pytest.raises(ToolFailure) as failure:
        call()
    return failure.value


@pytest.mark.django_db
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_the_same_key_again_returns_the_recorded_result_and_does_nothing(name: str) -> None:
    desk = make_desk()
    write = ONE_OF_EACH[name](desk)
    first = desk.act(write, "k")
    books = every_row()
    assert billing().write(desk.context("k"), write) == first
    assert every_row() == books


@pytest.mark.django_db
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_the_outcome_of_a_key_is_told(name: str) -> None:
    desk = make_desk()
    write = ONE_OF_EACH[name](desk)
    count = models.Operation.objects.count()
    assert billing().outcome(desk.context("k")) is None
    result = desk.act(write, "k")
    assert billing().outcome(desk.context("k")) == result
    assert billing().outcome(replace(desk.context("k"), tenant_id=make_tenant("south").id)) is None
    assert models.Operation.objects.count() == count + 1


@pytest.mark.django_db
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_write_that_fails_after_its_effect_leaves_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    desk = make_desk()
    write = ONE_OF_EACH[name](desk)
    books = every_row()
    with monkeypatch.context() as patch:
        patch.setattr("billing_agent.connectors.embedded.record_result", _fail)
        with pytest.raises(RuntimeError, match="struck by lightning"):
            desk.act(write, "k")
    assert every_row() == books
    assert billing().outcome(desk.context("k")) is None
    desk.act(write, "k")
    assert imbalances(desk.tenant.id) == []


def _fail(*_: object) -> None:
    raise RuntimeError("struck by lightning")


@pytest.mark.django_db
@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_database_that_does_not_answer_is_tried_again_later(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = make_desk()
    write = refund(desk)
    books = every_row()

    def lose(*_: object, **__: object) -> None:
        raise error("server closed the connection unexpectedly")

    with monkeypatch.context() as patch:
        patch.setattr("billing_agent.connectors.embedded.record_result", lose)
        assert refused(lambda: desk.act(write, "k")).kind is FailureKind.UNAVAILABLE
    assert every_row() == books
    with monkeypatch.context() as patch:
        patch.setattr("billing_agent.connectors.reading.customer_row", lose)
        for call in (
            lambda: billing().account(desk.context()),
            lambda: billing().invoices(desk.context(), limit=5),
            lambda: billing().invoice(desk.context(), "INV-000001"),
            lambda: billing().plans(desk.context()),
            lambda: billing().preview(desk.context(), write),
        ):
            assert refused(call).kind is FailureKind.UNAVAILABLE


@pytest.mark.django_db(transaction=True)
def test_a_commit_that_nobody_confirmed_is_unknown_until_its_key_is_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    desk = make_desk()
    write = refund(desk)
    commit = connection.commit

    def lose() -> None:
        raise OperationalError("server closed the connection unexpectedly")

    def commit_and_lose() -> None:
        commit()
        lose()

    for lost, took_effect in ((lose, False), (commit_and_lose, True)):
        with monkeypatch.context() as patch:
            patch.setattr(connection, "commit", lost)
            with pytest.raises(OutcomeUnknown):
                billing().write(desk.context("k"), write)
        told = billing().outcome(desk.context("k"))
        assert (told is not None, desk.charge().refunded_minor) == (took_effect, 1200 if took_effect else 0)
    assert imbalances(desk.tenant.id) == []


@pytest.mark.django_db
def test_the_same_key_with_other_arguments_is_a_conflict() -> None:
    desk = make_desk()
    desk.act(refund(desk), "k")
    books = every_row()
    calls: list[tuple[Write, str, str]] = [
        (refund(desk, 1201), "dana", "case-1"),
        (RefundCharge("INV-000001", usd(1200), "Half was not held"), "dana", "case-1"),
        (ApplyCredit(usd(1200), "Half was not held"), "dana", "case-1"),
        (CloseCase("Done."), "dana", "case-1"),
        (refund(desk), "erin", "case-1"),
        (refund(desk), "dana", "case-2"),
    ]
    for write, customer, case in calls:
        context = desk.context("k", customer, case)
        told = refused(lambda context=context, write=write: billing().write(context, write))
        assert (told.kind, told.message) == (FailureKind.CONFLICT, "This idempotency key was used for another call.")
    assert every_row() == books


@pytest.mark.django_db
def test_the_reason_in_other_words_is_the_same_refund() -> None:
    desk = make_desk()
    first = desk.act(refund(desk), "k")
    assert billing().write(desk.context("k"), refund(desk, reason="It was not held.")) == first
    assert desk.charge().refunded_minor == 1200


@pytest.mark.django_db
def test_the_same_words_with_two_keys_are_two_refunds() -> None:
    desk = make_desk()
    for key in ("one", "two"):
        desk.act(refund(desk), key)
    assert desk.charge().refunded_minor == 2400
    assert desk.charge().refunds.values("ref").distinct().count() == 2


@pytest.mark.django_db
def test_keys_of_two_tenants_do_not_meet() -> None:
    for desk in (make_desk(), make_desk(make_tenant("south"))):
        desk.act(refund(desk), "k")
        assert desk.charge().refunded_minor == 1200
        assert imbalances(desk.tenant.id) == []


@pytest.mark.django_db
def test_a_write_without_a_key_is_refused() -> None:
    desk = make_desk()
    books = every_row()
    assert refused(lambda: billing().write(desk.context(), refund(desk))).kind is FailureKind.VALIDATION
    assert every_row() == books


@pytest.mark.django_db
@pytest.mark.parametrize(
    "write", [bill(2**60, "All"), bill(1, "Many", quantity=3_000_000_000), bill(1, "Long" * 100), bill(1, "\0")]
)
def test_what_cannot_be_recorded_is_refused(write: Write) -> None:
    desk = make_desk()
    books = every_row()
    assert refused(lambda: billing().write(desk.context("k"), write)).kind is FailureKind.VALIDATION
    assert every_row() == books


@pytest.mark.django_db
def test_a_refused_write_leaves_its_key_free() -> None:
    desk = make_desk()
    invoice = desk.invoice("INV-000001").ref
    assert refused(lambda: desk.act(RetryCharge(invoice, "card-1", usd(1)), "k")).kind is FailureKind.CONFLICT
    desk.act(RetryCharge(invoice, "card-1", usd(2200)), "k")
    assert desk.invoice("INV-000001").status == "paid"
