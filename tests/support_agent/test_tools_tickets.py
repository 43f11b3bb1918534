"""Replies, notes, the state of a ticket, and the recall of a reply."""

from datetime import timedelta
from typing import Any

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.preview_parts import Mail
from agentops.registry.tool import Change, ToolFailure
from support_agent import models
from support_agent.connectors.recall import Recall, recall_reply
from tests.factories.support import NOW, Shop, act, make_shop, make_tenant, make_ticket, show

pytestmark = pytest.mark.django_db

CALLS: dict[str, dict[str, Any]] = {
    "draft_reply": {"body": "Hello Dana."},
    "send_reply": {"body": "Hello Dana."},
    "update_ticket": {"status": "closed"},
    "escalate_ticket": {"reason": "Nobody knows.", "summary": "Dana asks for the moon."},
}


@pytest.fixture
def shop() -> Shop:
    return make_shop()


def test_a_draft_waits_for_a_person(shop: Shop) -> None:
    preview = show(shop.context(), "draft_reply", body="Hello Dana.")
    assert preview.effect == "Keep a draft reply on ticket T-1; nothing is sent"
    assert act(shop.context("k"), "draft_reply", body="Hello Dana.") == {
        "ticket_id": "T-1",
        "status": "open",
        "draft_id": "k",
    }
    assert _messages() == [("draft", "Hello Dana.", None)]


def test_a_reply_leaves_after_ten_minutes(shop: Shop) -> None:
    preview = show(shop.context(), "send_reply", body="Hello Dana.")
    assert preview.effect == "Send a reply to dana.ruiz@example.com on ticket T-1"
    assert preview.target == "customer:dana"
    assert preview.changes == (Change("Status", "open", "answered"),)
    (mail,) = preview.parts
    assert isinstance(mail, Mail)
    assert (mail.to, mail.cc, mail.text, mail.html) == (("dana.ruiz@example.com",), (), "Hello Dana.", "")
    assert mail.subject.startswith("Re: ")
    assert act(shop.context("k"), "send_reply", body="Hello Dana.") == {
        "ticket_id": "T-1",
        "status": "answered",
        "release_at": "2026-11-02T09:10:00.000000Z",
        "reply_id": "k",
    }
    assert _messages() == [("reply", "Hello Dana.", NOW + timedelta(minutes=10))]
    assert _status() == "answered"


def test_a_ticket_is_closed_with_a_note(shop: Shop) -> None:
    preview = show(shop.context(), "update_ticket", status="closed", note="All done.")
    assert preview.changes == (Change("Status", "open", "closed"), Change("Note", "", "All done."))
    assert act(shop.context("k"), "update_ticket", status="closed", note="All done.") == {
        "ticket_id": "T-1",
        "status": "closed",
        "former_status": "open",
        "change_id": "k",
    }
    assert (_status(), _messages()) == ("closed", [("note", "All done.", None)])


def test_an_escalated_ticket_is_with_a_person(shop: Shop) -> None:
    preview = show(shop.context(), "escalate_ticket", **CALLS["escalate_ticket"])
    assert preview.effect == "Hand ticket T-1 from dana.ruiz@example.com to a person"
    act(shop.context("k"), "escalate_ticket", **CALLS["escalate_ticket"])
    assert (_status(), _messages()) == ("escalated", [("note", "Nobody knows.\n\nDana asks for the moon.", None)])


def test_a_reply_leaves_an_escalated_ticket_with_the_person(shop: Shop) -> None:
    models.Ticket.objects.update(status="escalated")
    assert act(shop.context("k"), "send_reply", body="A colleague will answer.")["status"] == "escalated"
    assert _status() == "escalated"


def test_an_escalated_ticket_is_not_taken_back(shop: Shop) -> None:
    models.Ticket.objects.update(status="escalated")
    with pytest.raises(ToolFailure) as failure:
        act(shop.context("k"), "update_ticket", status="closed")
    assert (failure.value.kind, failure.value.message) == (
        FailureKind.CONFLICT,
        "Ticket T-1 is with a person, who decides when it is done.",
    )


@pytest.mark.parametrize("name", ["send_reply", "draft_reply"])
def test_nothing_is_written_to_the_customer_on_a_closed_ticket(shop: Shop, name: str) -> None:
    models.Ticket.objects.update(status="closed")
    with pytest.raises(ToolFailure) as failure:
        act(shop.context("k"), name, **CALLS[name])
    assert (failure.value.kind, failure.value.message) == (FailureKind.CONFLICT, "Ticket T-1 is closed.")
    assert _messages() == []


@pytest.mark.parametrize("name", ["send_reply", "draft_reply"])
def test_an_empty_reply_is_refused(shop: Shop, name: str) -> None:
    with pytest.raises(ToolFailure) as failure:
        act(shop.context("k"), name, body=" \n ")
    assert (failure.value.kind, failure.value.field) == (FailureKind.VALIDATION, "body")
    assert (_messages(), _status()) == ([], "open")


@pytest.mark.parametrize("status", models.TicketStatus.values)
def test_escalation_is_always_possible(shop: Shop, status: str) -> None:
    models.Ticket.objects.update(status=status)
    act(shop.context("k"), "escalate_ticket", **CALLS["escalate_ticket"])
    assert _status() == "escalated"


def test_a_ticket_of_nobody_is_worked_without_a_customer(shop: Shop) -> None:
    make_ticket(shop.tenant, "T-2", sender="stranger@example.com")
    context = shop.context("k", customer_id=None, subject_id="T-2")
    preview = show(context, "escalate_ticket", **CALLS["escalate_ticket"])
    assert (preview.target, preview.effect) == ("ticket:T-2", "Hand ticket T-2 from stranger@example.com to a person")
    act(context, "escalate_ticket", **CALLS["escalate_ticket"])
    assert models.Ticket.objects.get(ref="T-2").status == "escalated"


@pytest.mark.parametrize("name", CALLS)
def test_a_ticket_of_another_tenant_does_not_exist(shop: Shop, name: str) -> None:
    make_ticket(make_tenant("south"), "T-9")
    with pytest.raises(ToolFailure) as failure:
        act(shop.context("k", subject_id="T-9"), name, **CALLS[name])
    assert failure.value.kind is FailureKind.NOT_FOUND
    assert _messages() == []


def test_a_reply_is_recalled_while_it_has_not_left(shop: Shop) -> None:
    reply = _reply(shop)
    before = NOW + timedelta(minutes=10, microseconds=-1)
    assert recall_reply(message_id=reply.pk, now=before) is Recall.RECALLED
    assert (_status(), models.TicketMessage.objects.get().recalled_at) == ("escalated", before)
    assert recall_reply(message_id=reply.pk, now=before) is Recall.ALREADY


def test_a_reply_that_has_left_is_not_recalled(shop: Shop) -> None:
    reply = _reply(shop)
    assert recall_reply(message_id=reply.pk, now=NOW + timedelta(minutes=10)) is Recall.TOO_LATE
    assert (_status(), models.TicketMessage.objects.get().recalled_at) == ("answered", None)


def test_a_note_is_not_recalled(shop: Shop) -> None:
    act(shop.context("k"), "escalate_ticket", **CALLS["escalate_ticket"])
    assert recall_reply(message_id=models.TicketMessage.objects.get().pk, now=NOW) is Recall.NOT_A_REPLY


def _reply(shop: Shop) -> models.TicketMessage:
    act(shop.context("k"), "send_reply", body="Hello Dana.")
    return models.TicketMessage.objects.get()


def _status() -> str:
    return models.Ticket.objects.get(ref="T-1").status


def _messages() -> list[tuple[str, str, Any]]:
    return list(models.TicketMessage.objects.values_list("kind", "body", "release_at"))
