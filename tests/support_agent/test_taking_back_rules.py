"""What exactly is taken back, until when, and what stands in the way: replies, drafts, statuses, money, addresses."""

from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from agentops.gateway.execute import idempotency_key
from agentops.kernel.errors import FailureKind
from agentops.registry.tool import Change
from agentops.tenancy.models import Membership, Role
from support_agent import models
from support_agent.connectors import owner_of
from support_agent.connectors.money_rules import STOP_WINDOW
from support_agent.connectors.recall import recall_reply
from support_agent.connectors.stopping import stop_payout
from support_agent.connectors.ticket_rules import RECALL_WINDOW
from tests.factories.support import ELSEWHERE, Shop, act, look, make_shop, make_tenant, make_ticket, show, tool_named
from tests.support_agent.test_desk_idempotency import ONE_OF_EACH
from tests.support_agent.test_taking_back import done, later, refused, status, undo_of

pytestmark = pytest.mark.django_db

ONE_TICK = timedelta(microseconds=1)


@pytest.fixture
def shop() -> Shop:
    return make_shop()


# Drafts and replies


def test_a_recalled_reply_leaves_the_ticket_to_a_person(shop: Shop) -> None:
    tool, arguments = done(shop, "send_reply")
    preview = show(shop.context(), tool, **arguments)
    assert preview.effect == "Recall the reply to dana.ruiz@example.com on ticket T-1 before it leaves"
    assert preview.target == "customer:dana"
    assert preview.changes == (Change("Reply", "Hello.", ""), Change("Status", "answered", "escalated"))
    assert act(later(shop, RECALL_WINDOW - ONE_TICK), tool, **arguments) == {
        "ticket_id": "T-1",
        "status": "escalated",
        "reply_id": "k",
        "body": "Hello.",
    }
    assert status() == "escalated"
    assert models.TicketMessage.objects.get().recalled_at == shop.context().now + RECALL_WINDOW - ONE_TICK


def test_a_reply_that_has_left_is_not_recalled(shop: Shop) -> None:
    tool, arguments = done(shop, "send_reply")
    words = "The reply on ticket T-1 has left; it could be recalled for 10 minutes."
    for call in (show, act):
        found = refused(partial(call, later(shop, RECALL_WINDOW), tool, **arguments))
        assert found == (FailureKind.CONFLICT, words)


def test_a_reply_that_a_person_recalled_is_not_recalled_again(shop: Shop) -> None:
    tool, arguments = done(shop, "send_reply")
    recall_reply(message_id=models.TicketMessage.objects.get().pk, now=shop.context().now)
    found = refused(lambda: act(shop.context("u"), tool, **arguments))
    assert found == (FailureKind.CONFLICT, "The reply on ticket T-1 was recalled before.")


def test_a_draft_is_deleted_and_can_be_kept_again(shop: Shop) -> None:
    tool, arguments = done(shop, "draft_reply")
    assert show(shop.context(), tool, **arguments).changes == (Change("Draft", "Hello.", ""),)
    result = act(shop.context("u"), tool, **arguments)
    assert (models.TicketMessage.objects.count(), status()) == (0, "open")
    tool, arguments = undo_of("discard_draft", arguments, result)
    act(shop.context("again"), tool, **arguments)
    assert models.TicketMessage.objects.values_list("kind", "body").get() == ("draft", "Hello.")


@pytest.mark.parametrize(
    ("made", "tool", "argument"),
    [("send_reply", "discard_draft", "draft_id"), ("draft_reply", "recall_reply", "reply_id")],
)
def test_a_draft_is_not_recalled_and_a_reply_not_deleted(shop: Shop, made: str, tool: str, argument: str) -> None:
    done(shop, made)
    kind, _ = refused(lambda: act(shop.context("u"), tool, **{argument: "k"}))
    assert kind is FailureKind.NOT_FOUND


@pytest.mark.parametrize("name", ["draft_reply", "send_reply", "update_ticket", "escalate_ticket"])
def test_what_stands_on_another_ticket_is_not_taken_back(shop: Shop, name: str) -> None:
    tool, arguments = done(shop, name)
    make_ticket(shop.tenant, "T-2", shop.dana)
    south = make_shop(make_tenant("south"))
    for context in (shop.context("u", subject_id="T-2"), south.context("u")):
        kind, _ = refused(partial(act, context, tool, **arguments))
        assert kind is FailureKind.NOT_FOUND


def key_of(shop: Shop, name: str, arguments: dict[str, Any]) -> str:
    preview = show(shop.context(), name, **arguments)
    return idempotency_key(tool=tool_named(name), arguments=arguments, preview=preview, context=shop.context())


@pytest.mark.parametrize("name", ["draft_reply", "send_reply", "update_ticket", "escalate_ticket"])
def test_what_was_taken_back_may_be_done_again_and_what_was_not_may_not(shop: Shop, name: str) -> None:
    arguments = ONE_OF_EACH[name]
    fresh = key_of(shop, name, arguments)
    tool, undo = done(shop, name)
    if name != "update_ticket":  # a closed ticket is not closed again
        assert key_of(shop, name, arguments) == fresh
    act(shop.context("u"), tool, **undo)
    again = key_of(shop, name, arguments)
    assert again != fresh
    act(shop.context(again), name, **arguments)
    assert key_of(shop, name, arguments) == again if name != "update_ticket" else True


def test_a_reply_that_was_previewed_before_a_recall_is_not_sent_after_it(shop: Shop) -> None:
    done(shop, "send_reply")
    recall_reply(message_id=models.TicketMessage.objects.get().pk, now=shop.context().now)
    versions = show(shop.context(), "send_reply", body="Hello.").versions
    act(shop.context("k2"), "send_reply", body="Hello again.")
    act(shop.context("u"), "recall_reply", reply_id="k2")
    context = replace(shop.context("k3"), expected_versions=versions)
    kind, _ = refused(lambda: tool_named("send_reply").run(context, {"body": "Hello."}))
    assert kind is FailureKind.CONFLICT


# The status of a ticket


def test_a_ticket_is_taken_back_from_the_person_it_was_handed_to(shop: Shop) -> None:
    tool, arguments = done(shop, "escalate_ticket")
    preview = show(shop.context(), tool, **arguments)
    assert preview.effect == "Set ticket T-1 back from escalated to open"
    result = act(shop.context("u"), tool, **arguments)
    assert result == {"ticket_id": "T-1", "status": "open", "former_status": "escalated", "change_id": "u"}
    notes = models.TicketMessage.objects.values_list("body", flat=True)
    assert (status(), notes[1]) == ("open", "Set back from escalated to open.")
    tool, arguments = undo_of(tool, arguments, result)
    act(shop.context("u2"), tool, **arguments)
    assert status() == "escalated"


def test_a_change_that_changed_nothing_has_no_undo(shop: Shop) -> None:
    act(shop.context("k1"), "escalate_ticket", **ONE_OF_EACH["escalate_ticket"])
    again = {"reason": "Still nobody knows.", "summary": "The moon."}
    result = act(shop.context("k2"), "escalate_ticket", **again)
    undo_call = tool_named("escalate_ticket").undo_call
    assert undo_call is not None
    assert undo_call(again, result) is None
    found = refused(lambda: act(shop.context("u"), "restore_ticket_status", change_id="k2"))
    assert found == (FailureKind.CONFLICT, "The status of ticket T-1 was set again since; it is escalated now.")


def test_only_the_last_change_of_the_status_is_taken_back(shop: Shop) -> None:
    tool, arguments = done(shop, "update_ticket")
    act(shop.context("k2"), "escalate_ticket", **ONE_OF_EACH["escalate_ticket"])
    assert refused(lambda: act(shop.context("u"), tool, **arguments))[0] is FailureKind.CONFLICT
    act(shop.context("u2"), "restore_ticket_status", change_id="k2")
    assert status() == "closed"


def test_a_status_that_a_person_set_is_not_taken_back(shop: Shop) -> None:
    """Also when it is the one that the agent had set before."""
    tool, arguments = done(shop, "escalate_ticket")
    user = User.objects.create_superuser("bob", "bob@example.com", "bob")
    Membership.objects.create(tenant=shop.tenant, user=user, role=Role.ADMIN)
    client = Client()
    client.force_login(user)
    page = reverse("admin:support_agent_ticket_change", args=[shop.ticket.pk])
    inline = {"messages-TOTAL_FORMS": "0", "messages-INITIAL_FORMS": "0"}
    for wanted in ("open", "escalated"):
        assert client.post(page, {"status": wanted, **inline}).status_code == 302
        assert status() == wanted
    assert refused(lambda: act(shop.context("u"), tool, **arguments))[0] is FailureKind.CONFLICT


def test_the_recall_of_a_reply_is_no_change_that_is_set_back(shop: Shop) -> None:
    tool, arguments = done(shop, "send_reply")
    act(shop.context("u"), tool, **arguments)
    kind, _ = refused(lambda: act(shop.context("u2"), "restore_ticket_status", change_id="u"))
    assert kind is FailureKind.NOT_FOUND


# Money


def test_a_stopped_refund_is_previewed_precisely_and_gone(shop: Shop) -> None:
    tool, arguments = done(shop, "issue_refund")
    preview = show(shop.context(), tool, **arguments)
    assert preview.effect == "Stop the refund of $12.00 for order #W1 to gift-1, before it is paid out to Dana Ruiz"
    assert (preview.target, preview.money) == ("customer:dana", None)
    assert preview.changes == (
        Change("Refunded on order #W1", "$12.00", "$0.00"),
        Change("Can still be refunded", "$33.00", "$45.00"),
        Change("Balance of gift card gift-1", "$22.00", "$10.00"),
        Change("Ticket T-1", "", "goes to a person"),
    )
    assert preview.versions == {"order:#W1": 2, "payment_method:gift-1": 2}
    assert act(later(shop, STOP_WINDOW - ONE_TICK), tool, **arguments) == {
        "payout_id": "k",
        "order_id": "#W1",
        "payment_method_id": "gift-1",
        "amount_minor": 1200,
        "currency": "USD",
    }
    assert shop.history("#W1")[1:] == [("refund", 1200, "gift-1"), ("payment", 1200, "gift-1")]
    assert (shop.balance("gift-1"), status()) == (1000, "escalated")
    assert look(shop.context(), "lookup_order", order_id="#W1")["refundable_minor"] == 4500
    note = models.TicketMessage.objects.get().body
    assert note == "The refund of $12.00 for order #W1 to gift-1 was stopped before it was paid out."


def test_a_stopped_credit_is_off_the_card(shop: Shop) -> None:
    tool, arguments = done(shop, "issue_credit")
    assert "order_id" not in act(shop.context("u"), tool, **arguments)
    assert shop.balance("gift-1") == 1000
    assert shop.order("#W1").version == 1


@pytest.mark.parametrize("name", ["issue_refund", "issue_credit"])
def test_money_that_is_paid_out_or_spent_is_not_stopped(shop: Shop, name: str) -> None:
    tool, arguments = done(shop, name)
    kind, words = refused(lambda: act(later(shop, STOP_WINDOW), tool, **arguments))
    assert kind is FailureKind.CONFLICT
    assert words.endswith("has been paid out; it could be stopped for 24 hours.")
    models.PaymentMethod.objects.filter(ref="gift-1").update(balance_minor=499)
    kind, words = refused(lambda: show(shop.context("u"), tool, **arguments))
    assert (kind, words.startswith("The gift card gift-1 holds $4.99, less than")) == (FailureKind.CONFLICT, True)


def test_a_payout_that_a_person_stopped_is_not_stopped_again(shop: Shop) -> None:
    tool, arguments = done(shop, "issue_refund")
    stop_payout(operation_id=models.DeskOperation.objects.get().pk, by="bob", now=shop.context().now)
    kind, words = refused(lambda: act(shop.context("u"), tool, **arguments))
    assert (kind, words) == (FailureKind.CONFLICT, "The refund of $12.00 for order #W1 to gift-1 was stopped before.")


def test_a_payout_belongs_to_the_customer_of_its_method(shop: Shop) -> None:
    tool, arguments = done(shop, "issue_refund")
    act(shop.context("other"), "update_ticket", status="closed")
    south = make_shop(make_tenant("south"))
    assert owner_of(shop.tenant.id, "payout", "k") == "dana"
    assert owner_of(shop.tenant.id, "payout", "other") is None
    assert owner_of(south.tenant.id, "payout", "k") is None
    for context in (shop.context("u", customer_id="erin"), shop.context("u", customer_id=None), south.context("u")):
        kind, _ = refused(partial(act, context, tool, **arguments))
        assert kind is FailureKind.NOT_FOUND
    assert refused(lambda: act(shop.context("u"), tool, payout_id="other"))[0] is FailureKind.NOT_FOUND


def test_a_stop_that_was_decided_on_another_balance_is_refused(shop: Shop) -> None:
    tool, arguments = done(shop, "issue_credit")
    versions = show(shop.context(), tool, **arguments).versions
    act(shop.context("k2"), "issue_credit", **{**ONE_OF_EACH["issue_credit"], "amount_minor": 100})
    context = replace(shop.context("u"), expected_versions=versions)
    assert refused(lambda: tool_named(tool).run(context, arguments))[0] is FailureKind.CONFLICT


# Addresses


@pytest.mark.parametrize("name", ["change_order_address", "change_customer_address"])
def test_the_former_address_is_set_again(shop: Shop, name: str) -> None:
    tool, arguments = done(shop, name)
    act(shop.context("u"), tool, **arguments)
    row = shop.order("#W1") if name == "change_order_address" else models.Customer.objects.get(ref="dana")
    assert (row.address1, row.address2, row.city, row.zip) == ("1 Elm Street", "", "Denver", "80279")


def test_a_former_address_that_no_call_can_set_has_no_undo(shop: Shop) -> None:
    models.Customer.objects.filter(ref="dana").update(zip=" ")
    result = act(shop.context("k"), "change_customer_address", **ELSEWHERE)
    undo_call = tool_named("change_customer_address").undo_call
    assert undo_call is not None
    assert undo_call(ELSEWHERE, result) is None
