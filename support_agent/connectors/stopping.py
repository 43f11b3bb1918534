"""Taking back a refund or credit that has not been paid out yet."""

from datetime import datetime
from enum import StrEnum

from django.db import transaction
from django.db.models import F

from support_agent import models
from support_agent.connectors import reading


class Stop(StrEnum):
    """What became of the wish to stop a payout."""

    STOPPED = "stopped"
    TOO_LATE = "too late"
    ALREADY = "already stopped"
    SPENT = "spent"
    NOT_A_PAYOUT = "not a payout"


def stop_payout(*, operation_id: int, by: str, now: datetime) -> Stop:
    """Reverse a refund or credit before it settles, once, and leave its ticket to a person.

    ``by`` is the name of the person who stops it by hand, for the note on the ticket; it is empty for a session,
    whose own record says who wanted it. What has been bought with a gift card meanwhile is not taken back: then
    nothing changes. The ticket goes to a person in whatever state it is, because the customer may have been
    told that the money comes. Raises DeskOperation.DoesNotExist.
    """
    with transaction.atomic():
        operation = models.DeskOperation.objects.select_for_update(of=("self",)).get(pk=operation_id)
        if operation.settles_at is None:
            return Stop.NOT_A_PAYOUT
        if operation.stopped_at is not None:
            return Stop.ALREADY
        if operation.settles_at <= now:
            return Stop.TOO_LATE
        if not _reverse(operation):
            return Stop.SPENT
        operation.stopped_at = now
        operation.save(update_fields=["stopped_at"])
        _tell_ticket(operation, by, now)
    return Stop.STOPPED


def payout_words(operation: models.DeskOperation) -> str:
    """Return what the operation of a refund or credit gave to whom, for a sentence that says "the" before it."""
    return reading.payout_record(operation).words


def _reverse(operation: models.DeskOperation) -> bool:
    """Undo the effect on card and order, locked in the order of every write; False when the card is too low."""
    told = operation.result
    amount, method_ref = told["amount_minor"], told["payment_method_id"]
    customers = models.Customer.objects.filter(tenant_id=operation.tenant_id, methods__ref=method_ref)
    customer = customers.select_for_update(of=("self",)).get()
    methods = {row.ref: row for row in customer.methods.select_for_update(of=("self",)).order_by("ref")}
    balance = methods[method_ref].balance_minor
    if balance is not None:
        if balance < amount:
            return False
        customer.methods.filter(ref=method_ref).update(balance_minor=balance - amount, version=F("version") + 1)
    if "order_id" in told:
        _reverse_refund(operation, customer)
    return True


def _reverse_refund(operation: models.DeskOperation, customer: models.Customer) -> None:
    order = customer.orders.select_for_update(of=("self",)).get(ref=operation.result["order_id"])
    refund = order.payments.get(operation_key=operation.key, kind=models.PaymentKind.REFUND)
    models.Payment.objects.create(
        tenant_id=operation.tenant_id,
        order=order,
        number=order.payments.count() + 1,
        kind=models.PaymentKind.PAYMENT,
        amount_minor=refund.amount_minor,
        payment_method_ref=refund.payment_method_ref,
        operation_key=operation.key,
        reverses=refund,
    )
    models.Order.objects.filter(pk=order.pk).update(version=F("version") + 1)


def _tell_ticket(operation: models.DeskOperation, by: str, now: datetime) -> None:
    ticket = reading.ticket_row(operation.tenant_id, operation.ticket_ref, lock=True)
    if ticket is None:
        return
    models.Ticket.objects.filter(pk=ticket.pk).update(status=models.TicketStatus.ESCALATED, status_key="")
    what = payout_words(operation)
    told = f"A person, {by}, stopped the {what}" if by else f"The {what} was stopped"
    models.TicketMessage.objects.create(
        tenant_id=operation.tenant_id,
        ticket=ticket,
        kind=models.MessageKind.NOTE,
        body=f"{told} before it was paid out.",
        created_at=now,
    )
