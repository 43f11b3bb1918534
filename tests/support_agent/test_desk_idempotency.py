"""A key has its effect once; a record that moved is not written; money never runs ahead of what was paid."""

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier
from typing import Any

import pytest
from django.db import OperationalError, connection

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import CallContext, OutcomeUnknown, ToolFailure
from support_agent import models
from tests.factories.support import act, make_gift_card, make_shop, make_tenant, show, tool_named

REFUND = {
    "order_id": "#W1",
    "amount_minor": 1200,
    "currency": "USD",
    "payment_method_id": "gift-1",
    "reason": "The mug arrived chipped.",
}
ONE_OF_EACH: dict[str, dict[str, Any]] = {
    "draft_reply": {"body": "Hello."},
    "send_reply": {"body": "Hello."},
    "update_ticket": {"status": "closed"},
    "escalate_ticket": {"reason": "Nobody knows.", "summary": "Dana asks for the moon."},
    "issue_refund": REFUND,
    "issue_credit": {"amount_minor": 500, "currency": "USD", "payment_method_id": "gift-1", "reason": "Late."},
    "cancel_pending_order": {"order_id": "#W1", "reason": "no longer needed"},
    "change_order_items": {
        "order_id": "#W1",
        "item_ids": ["L-RED"],
        "new_item_ids": ["L-BLUE"],
        "payment_method_id": "gift-1",
    },
    "change_order_address": {
        "order_id": "#W1",
        "address1": "9 Oak Lane",
        "address2": "",
        "city": "Boise",
        "state": "ID",
        "country": "USA",
        "zip": "83701",
    },
    "change_order_payment": {"order_id": "#W3", "payment_method_id": "card-1"},
    "change_customer_address": {
        "address1": "9 Oak Lane",
        "address2": "",
        "city": "Boise",
        "state": "ID",
        "country": "USA",
        "zip": "83701",
    },
    "return_delivered_items": {"order_id": "#W2", "item_ids": ["M-S"], "payment_method_id": "gift-1"},
    "exchange_delivered_items": {
        "order_id": "#W2",
        "item_ids": ["M-S"],
        "new_item_ids": ["M-L"],
        "payment_method_id": "gift-1",
    },
}
THREADS = 20


def _books() -> dict[str, list[Any]]:
    tables = (models.Order, models.OrderLine, models.Payment, models.PaymentMethod, models.Customer)
    tickets = (models.Ticket, models.TicketMessage, models.DeskOperation)
    return {table.__name__: list(table.objects.order_by("pk").values()) for table in (*tables, *tickets)}


@pytest.mark.django_db
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_the_same_key_again_returns_the_recorded_result_and_does_nothing(name: str) -> None:
    context = make_shop().context("k")
    first = act(context, name, **ONE_OF_EACH[name])
    books = _books()
    assert tool_named(name).run(context, ONE_OF_EACH[name]) == first
    assert _books() == books


@pytest.mark.django_db
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_reconciling_tells_what_became_of_the_key(name: str) -> None:
    context = make_shop().context("k")
    tool = tool_named(name)
    assert tool.reconcile is not None
    assert tool.reconcile(context) is None
    result = act(context, name, **ONE_OF_EACH[name])
    assert tool.reconcile(context) == result
    assert tool.reconcile(replace(context, tenant_id=make_tenant("south").id)) is None
    assert models.DeskOperation.objects.count() == 1


@pytest.mark.django_db
@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_a_write_that_fails_after_its_effect_leaves_nothing(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    context = make_shop().context("k")
    books = _books()
    with monkeypatch.context() as patch:
        patch.setattr("support_agent.connectors.embedded.record_result", _fail)
        with pytest.raises(RuntimeError, match="struck by lightning"):
            act(context, name, **ONE_OF_EACH[name])
    assert _books() == books
    act(context, name, **ONE_OF_EACH[name])
    assert models.DeskOperation.objects.count() == 1


def _fail(*_: object) -> None:
    raise RuntimeError("struck by lightning")


@pytest.mark.django_db
def test_a_database_that_does_not_answer_is_tried_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    shop = make_shop()
    books = _books()
    with monkeypatch.context() as patch:
        patch.setattr("support_agent.connectors.embedded.record_result", _lose_connection)
        with pytest.raises(ToolFailure) as failure:
            act(shop.context("k"), "issue_refund", **REFUND)
    assert failure.value.kind is FailureKind.UNAVAILABLE
    assert _books() == books


@pytest.mark.django_db(transaction=True)
def test_a_commit_that_nobody_confirmed_is_unknown_until_its_key_is_asked_about(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shop = make_shop()
    commit = connection.commit
    for lost in (_lose_connection, lambda: (commit(), _lose_connection())):
        with monkeypatch.context() as patch:
            patch.setattr(connection, "commit", lost)
            with pytest.raises(OutcomeUnknown):
                tool_named("issue_refund").run(shop.context("k"), REFUND)
        done = shop.history("#W1")[1:]
        reconcile = tool_named("issue_refund").reconcile
        assert reconcile is not None
        told = reconcile(shop.context("k"))
        assert done == ([] if told is None else [("refund", 1200, "gift-1")])
    assert told is not None
    assert told["refunded_minor"] == 1200


def _lose_connection(*_: object) -> None:
    raise OperationalError("server closed the connection unexpectedly")


@pytest.mark.django_db
def test_the_same_key_with_other_arguments_is_a_conflict() -> None:
    shop = make_shop()
    act(shop.context("k"), "issue_refund", **REFUND)
    books = _books()
    others: list[tuple[str, dict[str, Any]]] = [
        ("issue_refund", {**REFUND, "amount_minor": 1201}),
        ("send_reply", {"body": "Hello."}),
    ]
    for name, arguments in others:
        with pytest.raises(ToolFailure) as failure:
            tool_named(name).run(shop.context("k"), arguments)
        assert failure.value.kind is FailureKind.CONFLICT
        assert failure.value.message == "This idempotency key was used for another call."
    assert _books() == books


@pytest.mark.django_db
def test_the_reason_in_other_words_is_the_same_refund() -> None:
    shop = make_shop()
    first = act(shop.context("k"), "issue_refund", **REFUND)
    assert tool_named("issue_refund").run(shop.context("k"), {**REFUND, "reason": "A chip in the mug."}) == first
    assert shop.history("#W1") == [("payment", 4500, "card-1"), ("refund", 1200, "gift-1")]


@pytest.mark.django_db
def test_keys_of_two_tenants_do_not_meet() -> None:
    north, south = make_shop(), make_shop(make_tenant("south"))
    for shop in (north, south):
        act(shop.context("k"), "issue_refund", **REFUND)
        assert shop.balance("gift-1") == 2200


@pytest.mark.django_db
def test_a_write_without_a_key_is_refused() -> None:
    shop = make_shop()
    with pytest.raises(ToolFailure) as failure:
        act(shop.context(), "issue_refund", **REFUND)
    assert failure.value.kind is FailureKind.VALIDATION
    assert shop.history("#W1") == [("payment", 4500, "card-1")]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "touch"),
    [
        ("issue_refund", lambda: models.Order.objects.filter(ref="#W1").update(version=2)),
        ("issue_refund", lambda: models.PaymentMethod.objects.filter(ref="gift-1").update(version=2)),
        ("change_customer_address", lambda: models.Customer.objects.filter(ref="dana").update(version=2)),
        ("change_order_items", lambda: models.Variant.objects.filter(ref="L-BLUE").update(price_minor=2349)),
        ("exchange_delivered_items", lambda: models.Variant.objects.filter(ref="M-L").update(price_minor=821)),
        (
            "issue_refund",
            lambda: models.Order.objects.filter(ref="#W1").update(customer=models.Customer.objects.get(ref="erin")),
        ),
    ],
)
def test_a_record_that_moved_since_the_preview_is_not_written(name: str, touch: Callable[[], object]) -> None:
    shop = make_shop()
    arguments = ONE_OF_EACH[name]
    versions = show(shop.context(), name, **arguments).versions
    touch()
    books = _books()
    with pytest.raises(ToolFailure) as failure:
        tool_named(name).run(replace(shop.context("k"), expected_versions=versions), arguments)
    assert failure.value.kind is FailureKind.CONFLICT
    assert "has changed since this was decided" in failure.value.message
    assert _books() == books


@pytest.mark.django_db
def test_a_version_of_a_record_that_the_write_does_not_touch_is_a_conflict() -> None:
    context = replace(make_shop().context("k"), expected_versions={"order:#W404": 1})
    with pytest.raises(ToolFailure) as failure:
        tool_named("issue_refund").run(context, REFUND)
    assert failure.value.kind is FailureKind.CONFLICT


@pytest.mark.django_db(transaction=True)
def test_twenty_threads_with_one_key_refund_once() -> None:
    shop = make_shop()
    results = _race([(shop.context("k"), "issue_refund", REFUND)] * THREADS)
    assert len(results) == THREADS
    assert all(result == results[0] and isinstance(result, dict) for result in results)
    assert shop.history("#W1") == [("payment", 4500, "card-1"), ("refund", 1200, "gift-1")]
    assert (shop.balance("gift-1"), models.DeskOperation.objects.count()) == (2200, 1)


@pytest.mark.django_db(transaction=True)
def test_racing_refunds_never_exceed_what_was_paid() -> None:
    shop = make_shop()
    calls = [
        (shop.context(f"k-{n}"), "issue_refund", {**REFUND, "payment_method_id": ("card-1", "gift-1")[n % 2]})
        for n in range(THREADS)
    ]
    results = _race(calls)
    kinds = Counter("done" if isinstance(result, dict) else result for result in results)
    assert kinds == {"done": 3, FailureKind.CONFLICT: THREADS - 3}
    history = shop.history("#W1")
    assert [(kind, amount) for kind, amount, _ in history] == [("payment", 4500)] + [("refund", 1200)] * 3
    to_gift = sum(method == "gift-1" for kind, _, method in history if kind == "refund")
    assert shop.balance("gift-1") == 1000 + to_gift * 1200


@pytest.mark.django_db(transaction=True)
def test_a_refund_racing_a_cancellation_gives_back_what_was_paid() -> None:
    shop = make_shop()
    calls: list[tuple[CallContext, str, dict[str, Any]]] = [
        (shop.context(f"r-{n}"), "issue_refund", {**REFUND, "payment_method_id": "card-1"}) for n in range(6)
    ]
    _race([*calls, (shop.context("c"), "cancel_pending_order", ONE_OF_EACH["cancel_pending_order"])])
    assert sum(amount for kind, amount, _ in shop.history("#W1") if kind == "refund") == 4500


@pytest.mark.django_db(transaction=True)
def test_gift_cards_that_change_places_do_not_deadlock() -> None:
    shop = make_shop()
    make_gift_card(shop.dana, "gift-0", 100_000)
    credit = {"amount_minor": 100, "currency": "USD", "reason": "Late."}
    calls = [
        (shop.context(f"k-{n}"), "issue_credit", {**credit, "payment_method_id": ("gift-0", "gift-1")[n % 2]})
        for n in range(THREADS)
    ]
    assert all(isinstance(result, dict) for result in _race(calls))
    assert (shop.balance("gift-0"), shop.balance("gift-1")) == (101_000, 2_000)


def _race(calls: list[tuple[CallContext, str, dict[str, Any]]]) -> list[dict[str, Any] | FailureKind]:
    """Run all calls at once, each on its own connection, and return results or failure kinds."""
    barrier = Barrier(len(calls))

    def run(call: tuple[CallContext, str, dict[str, Any]]) -> dict[str, Any] | FailureKind:
        context, name, arguments = call
        try:
            barrier.wait(30)
            return tool_named(name).run(context, arguments)
        except ToolFailure as failure:
            return failure.kind
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
