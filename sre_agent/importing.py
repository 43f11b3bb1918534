"""Recording the rows of a file as incidents."""

from uuid import UUID

from agentops.registry.importing.rows import Row
from sre_agent.connectors.desk import open_incident
from sre_agent.intake import meant
from sre_agent.models import Incident, Source


def insert_incidents(tenant_id: UUID, rows: list[Row]) -> int:
    """Open an incident for each row, in the caller's transaction, and return how many were not there yet.

    Its text says what it is about and how urgent it is as one that is typed in does.
    """
    first = {row.source_key: row for row in reversed(rows)}
    rows_of = Incident.objects.filter(tenant_id=tenant_id, source_key__in=first)
    known = set(rows_of.values_list("source_key", flat=True))
    new = [row for key, row in first.items() if key not in known]
    for row in sorted(new, key=lambda row: row.line):
        service, priority = meant(tenant_id, row.subject, row.body)
        open_incident(
            tenant_id=tenant_id,
            title=row.subject,
            text=row.body,
            sender=row.sender,
            service=service,
            priority=priority,
            source=Source.FORM,
            source_key=row.source_key,
            actor="import",
            now=row.received_at,
        )
    return len(new)
