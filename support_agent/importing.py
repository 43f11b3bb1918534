"""Recording the rows of a file as tickets."""

from uuid import UUID

from agentops.kernel.clock import utcnow
from agentops.registry.importing.recording import insert_rows
from agentops.registry.importing.rows import Row
from support_agent.intake import customer_ids
from support_agent.models import Ticket, TicketStatus


def insert_tickets(tenant_id: UUID, rows: list[Row]) -> int:
    """Record rows as open tickets, in the caller's transaction, and return how many were not there yet."""
    return insert_rows(
        tenant_id,
        rows,
        model=Ticket,
        prefix="T-",
        customers=customer_ids(tenant_id, (row.sender for row in rows)),
        constants={"status": TicketStatus.OPEN, "opened_at": utcnow()},
    )
