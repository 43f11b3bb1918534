"""A refund or credit that is not paid out yet is stopped by a person, exactly once, and stays on record."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse

from agentops.kernel.clock import utcnow
from agentops.registry.preview_parts import Amount
from agentops.registry.tool import ToolFailure
from agentops.tenancy.models import Membership, Role
from support_agent import models
from support_agent.connectors.money_rules import STOP_WINDOW
from support_agent.connectors.stopping import Stop, stop_payout
from tests.factories.support import NOW, Shop, act, look, make_shop, make_tenant, show

pytestmark = pytest.mark.django_db

REFUND = {
    "order_id": "#W1",
    "amount_minor": 2000,
    "currency": "USD",
    "payment_method_id": "card-1",
    "reason": "The lamp arrived broken.",
}
CREDIT = {"amount_minor": 500, "currency": "USD", "payment_method_id": "gift-1", "reason": "A late parcel."}
TO_GIFT = {**REFUND, "payment_method_id": "gift-1"}
THREADS = 10


@pytest.fixture
def shop() -> Shop:
    return make_shop()


@pytest.fixture
def bob(shop: Shop) -> Client:
    """Bob administers the northern shop."""
    return administrator("bob", shop)


def administrator(name: str, shop: Shop) -> Client:
    user = User.objects.create_superuser(name, f"{name}@example.com", name)
    Membership.objects.create(tenant=shop.tenant, user=user, role=Role.ADMIN)
    client = Client()
    client.force_login(user)
    return client


def stop(key: str = "k", after: timedelta = timedelta(hours=1)) -> Stop:
    operation = models.DeskOperation.objects.get(key=key)
    return stop_payout(operation_id=operation.pk, by="bob", now=NOW + after)


def settle_in(key: str, delay: timedelta) -> None:
    models.DeskOperation.objects.filter(key=key).update(settles_at=utcnow() + delay)


def versions(shop: Shop) -> tuple[int, int, int]:
    """Return the version of the order, the card and the gift card."""
    methods = dict(shop.dana.methods.values_list("ref", "version"))
    return shop.order("#W1").version, methods["card-1"], methods["gift-1"]


def notes() -> list[tuple[str, str]]:
    return list(models.TicketMessage.objects.filter(kind="note").values_list("ticket__ref", "body"))


def test_a_stopped_refund_leaves_its_entry_and_one_that_takes_it_back(shop: Shop) -> None:
    act(shop.context("k"), "issue_refund", **REFUND)
    assert stop() is Stop.STOPPED
    assert shop.history("#W1") == [
        ("payment", 4500, "card-1"),
        ("refund", 2000, "card-1"),
        ("payment", 2000, "card-1"),
    ]
    refund, reversal = shop.order("#W1").payments.order_by("number")[1:]
    assert (reversal.number, reversal.reverses, reversal.operation_key) == (3, refund, "k")
    assert versions(shop) == (3, 1, 1)
    assert shop.balance("gift-1") == 1000
    assert models.DeskOperation.objects.get().stopped_at == NOW + timedelta(hours=1)


def test_a_stopped_refund_to_a_gift_card_takes_the_balance_back(shop: Shop) -> None:
    act(shop.context("k"), "issue_refund", **TO_GIFT)
    assert (shop.balance("gift-1"), versions(shop)) == (3000, (2, 1, 2))
    assert stop() is Stop.STOPPED
    assert (shop.balance("gift-1"), versions(shop)) == (1000, (3, 1, 3))
    assert shop.history("#W1")[1:] == [("refund", 2000, "gift-1"), ("payment", 2000, "gift-1")]


def test_a_stopped_credit_takes_the_balance_back_and_touches_no_order(shop: Shop) -> None:
    act(shop.context("k"), "issue_credit", **CREDIT)
    assert stop() is Stop.STOPPED
    assert (shop.balance("gift-1"), versions(shop)) == (1000, (1, 1, 3))
    assert models.Payment.objects.filter(operation_key="k").count() == 0


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("issue_refund", REFUND, "refund of $20.00 for order #W1 to card-1"),
        ("issue_credit", CREDIT, "credit of $5.00 to gift-1"),
    ],
)
@pytest.mark.parametrize("status", ["open", "answered", "escalated", "closed"])
def test_the_ticket_says_who_stopped_it_and_goes_to_a_person(
    shop: Shop, tool: str, arguments: dict[str, Any], words: str, status: str
) -> None:
    act(shop.context("k"), tool, **arguments)
    models.Ticket.objects.update(status=status)
    stop()
    assert notes() == [("T-1", f"A person, bob, stopped the {words} before it was paid out.")]
    assert models.Ticket.objects.get().status == "escalated"


@pytest.mark.parametrize(("tool", "arguments"), [("issue_refund", TO_GIFT), ("issue_credit", CREDIT)])
def test_stopping_twice_is_refused_and_does_nothing(shop: Shop, tool: str, arguments: dict[str, Any]) -> None:
    act(shop.context("k"), tool, **arguments)
    stop()
    before = books()
    assert stop(after=timedelta(hours=2)) is Stop.ALREADY
    assert stop(after=timedelta(days=2)) is Stop.ALREADY
    assert books() == before


def test_the_window_is_open_until_the_moment_of_the_payout(shop: Shop) -> None:
    act(shop.context("k"), "issue_refund", **REFUND)
    assert timedelta(hours=24) == STOP_WINDOW
    before = books()
    assert stop(after=STOP_WINDOW) is Stop.TOO_LATE
    assert books() == before
    assert stop(after=STOP_WINDOW - timedelta(microseconds=1)) is Stop.STOPPED


@pytest.mark.parametrize(
    ("tool", "arguments", "back"), [("issue_refund", TO_GIFT, 2000), ("issue_credit", CREDIT, 500)]
)
def test_money_that_was_spent_from_a_gift_card_is_not_taken_back(
    shop: Shop, tool: str, arguments: dict[str, Any], back: int
) -> None:
    act(shop.context("k"), tool, **arguments)
    models.PaymentMethod.objects.filter(ref="gift-1").update(balance_minor=back - 1)
    before = books()
    assert stop() is Stop.SPENT
    assert books() == before
    models.PaymentMethod.objects.filter(ref="gift-1").update(balance_minor=back)
    assert stop() is Stop.STOPPED
    assert shop.balance("gift-1") == 0


def test_after_a_stop_the_money_can_be_refunded_again_and_not_a_cent_more(shop: Shop) -> None:
    act(shop.context("k"), "issue_refund", **REFUND)
    stop()
    assert look(shop.context(), "lookup_order", order_id="#W1")["refundable_minor"] == 4500
    preview = show(shop.context(), "issue_refund", **{**REFUND, "amount_minor": 4500})
    sums = (("Refunded on order #W1", 0, 4500), ("Can still be refunded", 4500, 0))
    assert preview.parts == (Amount("Refund", 4500, "USD", sums),)
    with pytest.raises(ToolFailure, match=r"only \$45\.00 can still be refunded"):
        act(shop.context("k2"), "issue_refund", **{**REFUND, "amount_minor": 4501})
    told = act(shop.context("k3"), "issue_refund", **{**REFUND, "amount_minor": 4500})
    assert (told["refunded_minor"], told["refundable_minor"]) == (4500, 0)
    with pytest.raises(ToolFailure, match="has been given back already"):
        act(shop.context("k4"), "issue_refund", **{**REFUND, "amount_minor": 1})


def test_a_cancellation_after_a_stop_gives_everything_back(shop: Shop) -> None:
    act(shop.context("k"), "issue_refund", **TO_GIFT)
    stop()
    act(shop.context("c"), "cancel_pending_order", order_id="#W1", reason="no longer needed")
    assert shop.history("#W1")[3:] == [("refund", 4500, "card-1")]
    assert shop.balance("gift-1") == 1000


def test_the_key_of_a_stopped_refund_does_not_pay_again(shop: Shop) -> None:
    first = act(shop.context("k"), "issue_refund", **REFUND)
    stop()
    before = books()
    assert act(shop.context("k"), "issue_refund", **REFUND) == first
    assert books() == before


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("cancel_pending_order", {"order_id": "#W1", "reason": "no longer needed"}),
        ("update_ticket", {"status": "closed"}),
    ],
)
def test_other_writes_are_not_stopped(shop: Shop, tool: str, arguments: dict[str, Any]) -> None:
    act(shop.context("k"), tool, **arguments)
    before = books()
    assert stop() is Stop.NOT_A_PAYOUT
    assert books() == before


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("tool", "arguments"), [("issue_refund", TO_GIFT), ("issue_credit", CREDIT)])
def test_ten_people_at_once_stop_it_once(tool: str, arguments: dict[str, Any]) -> None:
    shop = make_shop()
    act(shop.context("k"), tool, **arguments)
    results = at_once([stop] * THREADS)
    assert sorted(results) == sorted([Stop.STOPPED] + [Stop.ALREADY] * (THREADS - 1))
    assert (shop.balance("gift-1"), len(notes())) == (1000, 1)
    assert models.Payment.objects.filter(reverses__isnull=False).count() == (tool == "issue_refund")


@pytest.mark.django_db(transaction=True)
def test_stops_and_refunds_at_once_neither_deadlock_nor_lose_money() -> None:
    shop = make_shop()
    keys = [f"k-{number}" for number in range(5)]
    arguments = {**TO_GIFT, "amount_minor": 900}
    for key in keys:
        act(shop.context(key), "issue_refund", **arguments)
    refunds = [lambda number=number: refund(shop.context(f"r-{number}"), arguments) for number in range(5)]
    stops = [lambda key=key: stop(key) for key in keys]
    results = at_once([*refunds, *stops])
    assert results[5:] == [Stop.STOPPED] * 5
    paid = results[:5].count("paid")
    assert results[:5].count("refused") == 5 - paid
    assert shop.balance("gift-1") == 1000 + 900 * paid
    assert look(shop.context(), "lookup_order", order_id="#W1")["refundable_minor"] == 4500 - 900 * paid


def refund(context: Any, arguments: dict[str, Any]) -> str:
    try:
        act(context, "issue_refund", **arguments)
    except ToolFailure:
        return "refused"
    return "paid"


def at_once(calls: list[Any]) -> list[Any]:
    """Run all calls at once, each on its own connection."""
    barrier = Barrier(len(calls))

    def run(call: Any) -> Any:
        try:
            barrier.wait(30)
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def books() -> list[list[Any]]:
    tables = (models.Order, models.Payment, models.PaymentMethod, models.Customer)
    tickets = (models.Ticket, models.TicketMessage, models.DeskOperation)
    return [list(table.objects.order_by("pk").values()) for table in (*tables, *tickets)]


def test_the_database_takes_a_refund_back_once_and_by_a_payment(shop: Shop) -> None:
    act(shop.context("k"), "issue_refund", **REFUND)
    stop()
    refund = models.Payment.objects.get(operation_key="k", kind="refund")
    again = {"tenant": shop.tenant, "order": refund.order, "amount_minor": 1, "payment_method_ref": "card-1"}
    with pytest.raises(IntegrityError, match="reverses_id"), transaction.atomic():
        models.Payment.objects.create(**again, number=4, kind="payment", reverses=refund)
    with pytest.raises(IntegrityError, match="a_payment_alone_reverses_a_refund"):
        models.Payment.objects.filter(pk=refund.pk).update(reverses=shop.order("#W3").payments.get())


def test_the_database_refuses_a_stop_after_the_payout(shop: Shop) -> None:
    act(shop.context("k"), "issue_refund", **REFUND)
    with pytest.raises(IntegrityError, match="a_payout_is_stopped_before_it_settles"):
        models.DeskOperation.objects.update(stopped_at=NOW + STOP_WINDOW)


def test_the_database_refuses_to_stop_what_never_settles(shop: Shop) -> None:
    act(shop.context("k"), "update_ticket", status="closed")
    with pytest.raises(IntegrityError, match="a_payout_is_stopped_before_it_settles"):
        models.DeskOperation.objects.update(stopped_at=NOW)


def test_a_refund_is_stopped_on_its_payment(shop: Shop, bob: Client) -> None:
    act(shop.context("k"), "issue_refund", **REFUND)
    settle_in("k", timedelta(hours=3))
    refund = models.Payment.objects.get(operation_key="k")
    what = "The refund of $20.00 for order #W1 to card-1"
    assert f"{what} was stopped; ticket T-1 is now with a person." in on_payment(bob, refund)
    assert shop.history("#W1")[1:] == [("refund", 2000, "card-1"), ("payment", 2000, "card-1")]
    assert notes()[0][1].startswith("A person, bob, stopped the refund of $20.00")
    assert f"{what} was stopped before." in on_payment(bob, refund)
    assert len(shop.history("#W1")) == 3
    log = bob.get(reverse("admin:support_agent_payment_history", args=[refund.pk])).content.decode()
    assert log.count("Stopped the refund of $20.00 for order #W1 to card-1.") == 1


def test_a_refund_that_is_paid_out_is_not_stopped(shop: Shop, bob: Client) -> None:
    act(shop.context("k"), "issue_refund", **REFUND)
    settle_in("k", timedelta(seconds=-1))
    told = on_payment(bob, models.Payment.objects.get(operation_key="k"))
    assert "The refund of $20.00 for order #W1 to card-1 cannot be stopped any more: it has been paid out." in told
    assert len(shop.history("#W1")) == 2


def test_a_payment_a_reversal_and_the_refund_of_a_cancellation_are_not_stopped(shop: Shop, bob: Client) -> None:
    act(shop.context("k"), "issue_refund", **REFUND)
    stop()
    act(shop.context("c"), "cancel_pending_order", order_id="#W1", reason="no longer needed")
    before = books()
    payment, _, reversal, cancelled = shop.order("#W1").payments.order_by("number")
    for row in (payment, reversal, cancelled):
        assert f"{row} is neither a refund nor a credit that was given on a ticket" in on_payment(bob, row)
    assert books() == before


def test_a_credit_is_stopped_on_its_operation(shop: Shop, bob: Client) -> None:
    act(shop.context("k"), "issue_credit", **CREDIT)
    settle_in("k", timedelta(hours=3))
    operation = models.DeskOperation.objects.get()
    told = on_operation(bob, operation)
    assert "The credit of $5.00 to gift-1 was stopped; ticket T-1 is now with a person." in told
    assert shop.balance("gift-1") == 1000
    assert "The credit of $5.00 to gift-1 was stopped before." in on_operation(bob, operation)


def test_a_credit_that_was_spent_is_not_stopped(shop: Shop, bob: Client) -> None:
    act(shop.context("k"), "issue_credit", **CREDIT)
    settle_in("k", timedelta(hours=3))
    models.PaymentMethod.objects.filter(ref="gift-1").update(balance_minor=499)
    told = on_operation(bob, models.DeskOperation.objects.get())
    assert "The credit of $5.00 to gift-1 cannot be stopped: the gift card no longer holds that much." in told
    assert shop.balance("gift-1") == 499


def test_a_refund_of_another_tenant_is_not_stopped(shop: Shop) -> None:
    charlie = administrator("charlie", make_shop(make_tenant("south")))
    act(shop.context("k"), "issue_refund", **REFUND)
    settle_in("k", timedelta(hours=3))
    before = books()
    on_payment(charlie, models.Payment.objects.get(operation_key="k"))
    on_operation(charlie, models.DeskOperation.objects.get())
    assert books() == before


@pytest.mark.parametrize(
    ("model", "action"), [(models.Payment, "stop_refunds"), (models.DeskOperation, "stop_payouts")]
)
def test_a_stop_needs_the_permission(shop: Shop, model: type[models.Owned], action: str) -> None:
    act(shop.context("k"), "issue_refund", **REFUND)
    settle_in("k", timedelta(hours=3))
    before = books()
    dora = User.objects.create_user("dora", "dora@example.com", "dora", is_staff=True)
    Membership.objects.create(tenant=shop.tenant, user=dora, role=Role.SUPPORT)
    client = Client()
    client.force_login(dora)
    row = model.objects.get(**{"operation_key" if model is models.Payment else "key": "k"})  # type: ignore[attr-defined]
    address = reverse(f"admin:support_agent_{model.__name__.lower()}_changelist")
    assert client.post(address, {"action": action, "_selected_action": [row.pk]}).status_code == 403
    assert books() == before


def on_payment(client: Client, payment: models.Payment) -> str:
    data = {"action": "stop_refunds", "_selected_action": [payment.pk]}
    return client.post(reverse("admin:support_agent_payment_changelist"), data, follow=True).content.decode()


def on_operation(client: Client, operation: models.DeskOperation) -> str:
    data = {"action": "stop_payouts", "_selected_action": [operation.pk]}
    return client.post(reverse("admin:support_agent_deskoperation_changelist"), data, follow=True).content.decode()
