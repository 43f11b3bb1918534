"""What the desk keeps about a customer or a sender: told, and erased. Orders keep what was bought and paid."""

from collections.abc import Sequence
from uuid import UUID

from django.db.models import Q

from agentops.kernel.canonical import JSON
from agentops.registry.holder import ERASED, bare
from agentops.registry.subjects import CUSTOMER, SENDER, sender_subject
from support_agent.models import Customer, DeskOperation, Order, PaymentMethod, Ticket, TicketMessage

_ADDRESS = ("address1", "address2", "city", "state", "zip")


class Desk:
    """Customers, their ways to pay and orders, tickets and what was written on them."""

    name = "support desk"

    def held(self, tenant_id: UUID, subject: str) -> JSON:
        """Return the customer's record, orders and tickets; empty when the desk knows nothing."""
        customer, tickets = _customer(tenant_id, subject), _tickets(tenant_id, subject)
        told: dict[str, JSON] = {}
        if customer is not None:
            told["customer"] = {
                "ref": customer.ref,
                "name": f"{customer.first_name} {customer.last_name}",
                "email": customer.email,
                **_address(customer),
            }
            told["methods"] = [
                {"ref": one.ref, "kind": one.kind, "brand": one.brand, "last_four": one.last_four}
                for one in customer.methods.all()
            ]
            told["orders"] = [
                {"ref": one.ref, "status": one.status, "cancel_reason": one.cancel_reason, **_address(one)}
                for one in customer.orders.all()
            ]
        if tickets:
            told["tickets"] = [_told(ticket) for ticket in tickets]
        return told

    def erase(self, tenant_id: UUID, subject: str) -> int:
        """Blank name, addresses and words. What was bought, when, and for how much, stays."""
        customer, tickets = _customer(tenant_id, subject), _tickets(tenant_id, subject)
        rows = _erase_tickets(tenant_id, tickets)
        if customer is None:
            return rows
        gone = dict.fromkeys(_ADDRESS, "")
        rows += Customer.objects.filter(pk=customer.pk).update(first_name=ERASED, last_name="", email="", **gone)
        rows += PaymentMethod.objects.filter(customer=customer).update(brand="", last_four="")
        rows += Order.objects.filter(customer=customer).update(cancel_reason="", **gone)
        return rows


def _customer(tenant_id: UUID, subject: str) -> Customer | None:
    kind, _, ref = subject.partition(":")
    return Customer.objects.filter(tenant_id=tenant_id, ref=ref).first() if kind == CUSTOMER else None


def _tickets(tenant_id: UUID, subject: str) -> Sequence[Ticket]:
    """Return a customer's tickets, those from the customer's address among them; or those of an unknown sender."""
    tickets = Ticket.objects.filter(tenant_id=tenant_id).order_by("id")
    if subject.startswith(f"{SENDER}:"):
        unknown = tickets.filter(customer=None)
        senders = set(unknown.order_by().values_list("sender", flat=True))
        return list(unknown.filter(sender__in=[one for one in senders if sender_subject(tenant_id, one) == subject]))
    customer = _customer(tenant_id, subject)
    if customer is None:
        return []
    by_address = Q(customer=None, sender__iexact=customer.email) if customer.email else Q(pk=None)
    return list(tickets.filter(Q(customer=customer) | by_address))


def _told(ticket: Ticket) -> JSON:
    return {
        "ref": ticket.ref,
        "sender": ticket.sender,
        "subject": ticket.subject,
        "body": ticket.body,
        "received_at": ticket.received_at.isoformat(),
        "written": [{"kind": one.kind, "body": one.body} for one in ticket.messages.all()],
    }


def _address(record: Customer | Order) -> dict[str, JSON]:
    return {name: getattr(record, name) for name in (*_ADDRESS, "country")}


def _erase_tickets(tenant_id: UUID, tickets: Sequence[Ticket]) -> int:
    """Blank tickets and what was written on them; one that waits is not begun any more."""
    keys = [ticket.pk for ticket in tickets]
    waiting = Ticket.objects.filter(pk__in=keys, status="open")
    waiting.update(status="closed")
    rows = Ticket.objects.filter(pk__in=keys).update(sender=ERASED, subject=ERASED, body="")
    rows += TicketMessage.objects.filter(ticket__in=keys).update(body=ERASED)
    refs = [ticket.ref for ticket in tickets]
    for made in DeskOperation.objects.filter(tenant_id=tenant_id, ticket_ref__in=refs).exclude(ticket_ref=""):
        made.result = bare(made.result)
        made.save(update_fields=["result"])
        rows += 1
    return rows
