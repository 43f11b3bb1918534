"""Where the role's work comes from: tickets of the desk, as subjects of sessions.

A sender is a customer when exactly one customer of the tenant has that e-mail address, compared without
regard to case and otherwise exactly. Nothing in a text makes somebody a customer.
"""

from collections.abc import Iterable
from uuid import UUID

from django.db.models import QuerySet
from django.db.models.functions import Lower

from agentops.kernel.clock import utcnow
from agentops.kernel.ids import new_id, short_ref
from agentops.registry.incoming import checked_intake
from agentops.registry.planner import Subject
from agentops.registry.role import Intake
from support_agent.models import Customer, Ticket, TicketStatus

KIND = "ticket"


def load_subject(tenant_id: UUID, subject_id: str) -> Subject | None:
    """Return the ticket, None when the tenant has no such ticket."""
    ticket = Ticket.objects.filter(tenant_id=tenant_id, ref=subject_id).select_related("customer").first()
    return None if ticket is None else _subjects(tenant_id, [ticket])[0]


def waiting_subjects(tenant_id: UUID, limit: int) -> list[Subject]:
    """Return the open tickets that nobody has begun, at most ``limit``, those that came first."""
    return _subjects(tenant_id, list(_waiting(tenant_id).select_related("customer")[:limit]))


def take_subjects(tenant_id: UUID, limit: int) -> list[Subject]:
    """Mark waiting tickets as begun, in the caller's transaction, and return them, those that came first.

    Tickets that another transaction is taking are passed over. Raises TransactionManagementError outside a
    transaction.
    """
    tickets = list(
        _waiting(tenant_id).select_related("customer").select_for_update(skip_locked=True, of=("self",))[:limit]
    )
    Ticket.objects.filter(id__in=[ticket.id for ticket in tickets]).update(taken_at=utcnow())
    return _subjects(tenant_id, tickets)


def _waiting(tenant_id: UUID) -> QuerySet[Ticket]:
    rows = Ticket.objects.filter(tenant_id=tenant_id, status=TicketStatus.OPEN, taken_at__isnull=True)
    return rows.order_by("received_at", "id")


def open_subject(tenant_id: UUID, intake: Intake) -> str:
    """Record a request that somebody typed in and return the new ticket's id. Raises BadIntake.

    It does not wait: whoever types it in starts its session.
    """
    typed = checked_intake(intake)
    key, now = new_id(), utcnow()
    ticket = Ticket.objects.create(
        tenant_id=tenant_id,
        ref=short_ref("T", key),
        customer_id=customer_ids(tenant_id, [typed.sender]).get(typed.sender.lower()),
        sender=typed.sender,
        subject=typed.title,
        body=typed.text,
        received_at=now,
        taken_at=now,
        source_key=f"typed:{key}",
    )
    return ticket.ref


def customer_ids(tenant_id: UUID, senders: Iterable[str]) -> dict[str, int]:
    """Return address in lower case to the customer's key, for addresses that belong to exactly one customer."""
    wanted = {sender.lower() for sender in senders}
    rows = (
        Customer.objects.filter(tenant_id=tenant_id)
        .annotate(address=Lower("email"))
        .filter(address__in=wanted)
        .values_list("address", "id")
    )
    found: dict[str, list[int]] = {}
    for address, key in rows:
        found.setdefault(address, []).append(key)
    return {address: keys[0] for address, keys in found.items() if len(keys) == 1}


def _subjects(tenant_id: UUID, tickets: list[Ticket]) -> list[Subject]:
    """A ticket recorded before its sender became a customer is matched when it is loaded."""
    unmatched = [ticket.sender for ticket in tickets if ticket.customer_id is None]
    keys = customer_ids(tenant_id, unmatched) if unmatched else {}
    found = {each.pk: each for each in Customer.objects.filter(id__in=keys.values())} if keys else {}
    customers = [ticket.customer or found.get(keys.get(ticket.sender.lower(), 0)) for ticket in tickets]
    return [
        Subject(
            kind=KIND,
            id=ticket.ref,
            title=ticket.subject,
            text=ticket.body,
            sender=ticket.sender,
            customer_id=customer.ref if customer else None,
            received_at=ticket.received_at,
            customer_email=customer.email if customer else "",
        )
        for ticket, customer in zip(tickets, customers, strict=True)
    ]
