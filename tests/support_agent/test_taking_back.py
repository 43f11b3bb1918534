"""Every write that says so is taken back by the call it names: exactly once, in time, and by whom it belongs to."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry import schemas
from agentops.registry.tool import CallContext, ToolFailure, ToolSpec, UndoCall
from support_agent import models
from support_agent.connectors.money_rules import STOP_WINDOW
from support_agent.connectors.recall import recall_reply
from support_agent.connectors.stopping import stop_payout
from support_agent.connectors.ticket_rules import RECALL_WINDOW
from support_agent.tools import TOOLS
from tests.factories.support import (
    Shop,
    act,
    make_shop,
    show,
    tool_named,
)
from tests.support_agent.test_desk_idempotency import ONE_OF_EACH
from tests.support_agent.test_stopping import at_once, books

pytestmark = pytest.mark.django_db

TO_GIFT = ONE_OF_EACH["issue_refund"]
ONE_TICK = timedelta(microseconds=1)
# Each write with an undo, and what takes it back.
UNDONE_BY = {
    "draft_reply": "discard_draft",
    "send_reply": "recall_reply",
    "update_ticket": "restore_ticket_status",
    "escalate_ticket": "restore_ticket_status",
    "issue_refund": "stop_payout",
    "issue_credit": "stop_payout",
    "change_order_address": "change_order_address",
    "change_customer_address": "change_customer_address",
    "recall_reply": "send_reply",
    "discard_draft": "draft_reply",
    "restore_ticket_status": "restore_ticket_status",
}
FIRST = [name for name in UNDONE_BY if name in ONE_OF_EACH]


@pytest.fixture
def shop() -> Shop:
    return make_shop()


def undo_of(name: str, arguments: dict[str, Any], result: dict[str, Any]) -> UndoCall:
    """Return the undo of a call that was made, which fits the schema of its tool."""
    undo_call = tool_named(name).undo_call
    assert undo_call is not None
    call = undo_call(arguments, result)
    assert call is not None
    assert schemas.violations(schemas.validator(tool_named(call[0]).input_schema), call[1]) == []
    return call


def done(shop: Shop, name: str, key: str = "k") -> UndoCall:
    """Make a call and return its undo."""
    return undo_of(name, ONE_OF_EACH[name], act(shop.context(key), name, **ONE_OF_EACH[name]))


def later(shop: Shop, by: timedelta, key: str = "u") -> CallContext:
    context = shop.context(key)
    return replace(context, now=context.now + by)


def refused(call: Callable[[], object]) -> tuple[FailureKind, str]:
    """Return how the call was refused; it changed nothing."""
    before = books()
    with pytest.raises(ToolFailure) as failure:
        call()
    assert books() == before
    return failure.value.kind, failure.value.message


def status(ref: str = "T-1") -> str:
    return models.Ticket.objects.get(ref=ref).status


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.is_write], ids=lambda tool: tool.name)
def test_every_write_is_taken_back_by_a_call_or_is_irreversible(tool: ToolSpec) -> None:
    assert (tool.name in UNDONE_BY) == (tool.undo_call is not None)
    assert (tool.undo_call is None) == tool.irreversible
    windows = {"send_reply": RECALL_WINDOW, "issue_refund": STOP_WINDOW, "issue_credit": STOP_WINDOW}
    assert tool.undo_within == windows.get(tool.name)


@pytest.mark.parametrize("name", FIRST)
def test_the_undo_of_a_call_is_the_declared_one_and_works(shop: Shop, name: str) -> None:
    tool, arguments = done(shop, name)
    assert tool == UNDONE_BY[name]
    act(shop.context("u"), tool, **arguments)
    assert models.DeskOperation.objects.filter(key="u").count() == 1


@pytest.mark.parametrize("name", FIRST)
def test_an_answer_without_what_the_undo_needs_has_none(name: str) -> None:
    """An older version recorded less, and an answer that could not be read is not kept."""
    undo_call = tool_named(name).undo_call
    assert undo_call is not None
    for result in ({}, {"done": True, "unreadable_answer": "x"}, {"ticket_id": "T-1", "status": "closed"}):
        assert undo_call(ONE_OF_EACH[name], result) is None


@pytest.mark.parametrize("name", FIRST)
def test_the_same_key_again_takes_back_nothing_more(shop: Shop, name: str) -> None:
    tool, arguments = done(shop, name)
    first = act(shop.context("u"), tool, **arguments)
    before = books()
    assert tool_named(tool).run(shop.context("u"), arguments) == first
    reconcile = tool_named(tool).reconcile
    assert reconcile is not None
    assert reconcile(shop.context("u")) == first
    assert reconcile(shop.context("never")) is None
    assert books() == before


@pytest.mark.parametrize("name", FIRST)
def test_an_undo_that_fails_after_its_effect_leaves_nothing(
    shop: Shop, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool, arguments = done(shop, name)
    before = books()
    with monkeypatch.context() as patch:
        patch.setattr("support_agent.connectors.embedded.record_result", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            act(shop.context("u"), tool, **arguments)
    assert books() == before
    act(shop.context("u"), tool, **arguments)


@pytest.mark.parametrize("name", FIRST)
def test_a_dry_run_of_an_undo_changes_nothing(shop: Shop, name: str) -> None:
    tool, arguments = done(shop, name)
    before = books()
    assert show(shop.context(), tool, **arguments).effect
    assert books() == before


@pytest.mark.parametrize("name", ["draft_reply", "send_reply", "issue_refund", "issue_credit", "escalate_ticket"])
def test_taking_back_twice_is_refused(shop: Shop, name: str) -> None:
    tool, arguments = done(shop, name)
    act(shop.context("u"), tool, **arguments)
    kind, _ = refused(lambda: act(shop.context("u2"), tool, **arguments))
    assert kind is (FailureKind.NOT_FOUND if name == "draft_reply" else FailureKind.CONFLICT)


# At once


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", ["draft_reply", "send_reply", "escalate_ticket", "issue_refund"])
def test_ten_undos_at_once_take_back_once(name: str) -> None:
    shop = make_shop()
    tool, arguments = done(shop, name)

    results = at_once([partial(_tried, shop, tool, arguments, f"u-{number}") for number in range(10)])
    kind = FailureKind.NOT_FOUND if name == "draft_reply" else FailureKind.CONFLICT
    assert sorted(results) == sorted(["done"] + [kind.value] * 9)


@pytest.mark.django_db(transaction=True)
def test_people_and_sessions_that_take_back_at_once_do_not_deadlock() -> None:
    shop = make_shop()
    for number in range(4):
        act(
            shop.context(f"p-{number}"), "issue_credit", **{**ONE_OF_EACH["issue_credit"], "amount_minor": 100 + number}
        )
        act(shop.context(f"r-{number}"), "send_reply", body=f"Hello {number}.")
    payouts = models.DeskOperation.objects.filter(settles_at__isnull=False).order_by("pk")
    replies = models.TicketMessage.objects.order_by("pk")
    now = shop.context().now
    by_hand: list[Any] = [partial(stop_payout, operation_id=row.pk, by="bob", now=now) for row in payouts]
    by_hand += [partial(recall_reply, message_id=row.pk, now=now) for row in replies]
    by_call = [partial(_tried, shop, "stop_payout", {"payout_id": f"p-{n}"}, f"s-{n}") for n in range(4)]
    by_call += [partial(_tried, shop, "recall_reply", {"reply_id": f"r-{n}"}, f"t-{n}") for n in range(4)]
    assert set(at_once([*by_hand, *by_call])[8:]) <= {"done", FailureKind.CONFLICT.value}
    assert shop.balance("gift-1") == 1000
    assert not models.TicketMessage.objects.filter(kind="reply", recalled_at__isnull=True).exists()
    assert models.TicketMessage.objects.filter(kind="note").count() == 4


def _tried(shop: Shop, tool: str, arguments: dict[str, Any], key: str) -> str:
    try:
        tool_named(tool).run(shop.context(key), arguments)
    except ToolFailure as failure:
        return failure.kind.value
    return "done"
