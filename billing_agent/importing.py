"""Recording the rows of a file as cases."""

from uuid import UUID

from agentops.registry.importing.recording import insert_rows
from agentops.registry.importing.rows import Row
from billing_agent.intake import customer_ids
from billing_agent.models import Case


def insert_cases(tenant_id: UUID, rows: list[Row]) -> int:
    """Record rows as open cases, in the caller's transaction, and return how many were not there yet."""
    return insert_rows(
        tenant_id,
        rows,
        model=Case,
        prefix="C-",
        customers=customer_ids(tenant_id, (row.sender for row in rows)),
        constants={"status": Case.Status.OPEN, "source": Case.Source.IMPORT, "version": 1, "note": ""},
    )
