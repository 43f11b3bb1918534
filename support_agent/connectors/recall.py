"""Taking back a reply that has not left yet."""

from datetime import datetime
from enum import StrEnum

from django.db import transaction

from support_agent import models


class Recall(StrEnum):
    """What became of the wish to recall a message."""

    RECALLED = "recalled"
    TOO_LATE = "too late"
    ALREADY = "already recalled"
    NOT_A_REPLY = "not a reply"


def recall_reply(*, message_id: int, now: datetime) -> Recall:
    """Recall a reply before its release, and leave the ticket to a person. Raises TicketMessage.DoesNotExist.

    The ticket does not go back to the waiting ones: somebody found the answer wrong, so the agent does not
    get a second try by itself.
    """
    with transaction.atomic():
        # The ticket before its message, as every write on a ticket locks them.
        tickets = models.Ticket.objects.select_for_update(of=("self",))
        ticket = tickets.get(pk=models.TicketMessage.objects.get(pk=message_id).ticket_id)
        message = models.TicketMessage.objects.select_for_update(of=("self",)).get(pk=message_id)
        if message.kind != models.MessageKind.REPLY or message.release_at is None:
            return Recall.NOT_A_REPLY
        if message.recalled_at is not None:
            return Recall.ALREADY
        if message.release_at <= now:
            return Recall.TOO_LATE
        message.recalled_at = now
        message.save(update_fields=["recalled_at"])
        ticket.taken_back += 1
        if ticket.status == models.TicketStatus.ANSWERED:
            ticket.status, ticket.status_key = models.TicketStatus.ESCALATED, ""
        ticket.save(update_fields=["status", "status_key", "taken_back"])
    return Recall.RECALLED
