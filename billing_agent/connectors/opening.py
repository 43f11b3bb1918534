"""Cases that nobody typed in: opened once for what they are about, to wait for a session."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from agentops.kernel.canonical import storable
from agentops.registry.importing.recording import short_digest
from agentops.registry.incoming import subject_of
from billing_agent.models import Case, Customer

MOST_BODY = 4_000


@dataclass(frozen=True)
class Opening:
    """A case to open. ``key`` tells it from every other of the tenant, ``lines`` say what is known.

    ``sender`` is the address that it is matched by when ``customer`` is None; empty matches nobody.
    """

    source: Case.Source
    key: str
    customer: Customer | None
    sender: str
    subject: str
    lines: Sequence[str]
    at: datetime


@dataclass(frozen=True)
class Opened:
    """The case of a key, and whether it is new."""

    case: Case
    is_new: bool


def open_case(tenant_id: UUID, opening: Opening) -> Opened:
    """Open a case in the caller's transaction, to wait for a session, unless its key has one; return the key's."""
    rows = Case.objects.filter(tenant_id=tenant_id, source_key=opening.key)
    ref = f"C-{short_digest(opening.key)}"
    if not rows.exists():
        customer = opening.customer
        case = Case(
            tenant_id=tenant_id,
            ref=ref,
            customer=customer,
            sender=customer.email if customer else opening.sender,
            subject=subject_of(storable(opening.subject, most=250), ""),
            body=storable("\n".join(opening.lines), most=MOST_BODY),
            source=opening.source,
            source_key=opening.key,
            received_at=opening.at,
        )
        # Somebody may open it at the same time: then this one waits for them, and theirs is the case.
        Case.objects.bulk_create([case], ignore_conflicts=True)
        made = rows.get()
        return Opened(made, is_new=True)
    return Opened(rows.get(), is_new=False)
