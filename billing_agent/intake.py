"""Where the role's work comes from: cases of the billing desk, as subjects of sessions.

A sender is a customer when exactly one customer of the tenant has that e-mail address, compared without regard to case
and otherwise exactly. Nothing in a text makes somebody a customer.
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
from billing_agent.models import Case, Customer

KIND = "case"


def load_subject(tenant_id: UUID, subject_id: str) -> Subject | None:
    """Return the case, None when the tenant has no such case."""
    case = Case.objects.filter(tenant_id=tenant_id, ref=subject_id).select_related("customer").first()
    return None if case is None else _subjects(tenant_id, [case])[0]


def waiting_subjects(tenant_id: UUID, limit: int) -> list[Subject]:
    """Return the open cases that nobody has begun, at most ``limit``, those that came first."""
    return _subjects(tenant_id, list(_waiting(tenant_id).select_related("customer")[:limit]))


def take_subjects(tenant_id: UUID, limit: int) -> list[Subject]:
    """Mark waiting cases as begun, in the caller's transaction, and return them, those that came first.

    Cases that another transaction is taking are passed over. Raises TransactionManagementError outside a transaction.
    """
    cases = list(
        _waiting(tenant_id).select_related("customer").select_for_update(skip_locked=True, of=("self",))[:limit]
    )
    Case.objects.filter(id__in=[case.id for case in cases]).update(taken_at=utcnow())
    return _subjects(tenant_id, cases)


def _waiting(tenant_id: UUID) -> QuerySet[Case]:
    rows = Case.objects.filter(tenant_id=tenant_id, status=Case.Status.OPEN, taken_at__isnull=True)
    return rows.order_by("received_at", "id")


def open_subject(tenant_id: UUID, intake: Intake) -> str:
    """Record a request that somebody typed in and return the new case's id. Raises BadIntake.

    It does not wait: whoever types it in starts its session.
    """
    typed = checked_intake(intake)
    key, now = new_id(), utcnow()
    case = Case.objects.create(
        tenant_id=tenant_id,
        ref=short_ref("C", key),
        customer_id=customer_ids(tenant_id, [typed.sender]).get(typed.sender.lower()),
        sender=typed.sender,
        subject=typed.title,
        body=typed.text,
        source=Case.Source.FORM,
        source_key=f"typed:{key}",
        received_at=now,
        taken_at=now,
    )
    return case.ref


def customer_ids(tenant_id: UUID, senders: Iterable[str]) -> dict[str, int]:
    """Return address in lower case to the customer's key, for addresses that belong to exactly one customer.

    No address is nobody's. A deleted customer counts: what they are owed can still be refunded.
    """
    wanted = {sender.lower() for sender in senders if sender}
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


def _subjects(tenant_id: UUID, cases: list[Case]) -> list[Subject]:
    """A case recorded before its sender became a customer is matched when it is loaded."""
    unmatched = [case.sender for case in cases if case.customer_id is None]
    keys = customer_ids(tenant_id, unmatched) if unmatched else {}
    found = {each.pk: each for each in Customer.objects.filter(id__in=keys.values())} if keys else {}
    customers = [case.customer or found.get(keys.get(case.sender.lower(), 0)) for case in cases]
    return [
        Subject(
            kind=KIND,
            id=case.ref,
            title=case.subject,
            text=case.body,
            sender=case.sender,
            customer_id=customer.ref if customer else None,
            received_at=case.received_at,
            customer_email=customer.email if customer else "",
        )
        for case, customer in zip(cases, customers, strict=True)
    ]
