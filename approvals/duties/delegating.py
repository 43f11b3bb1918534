"""Letting somebody decide in one's place, for a time, and ending that. Each is an event in the ledger."""

from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet

from agentops.kernel.canonical import JSON
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Event, append_to
from approvals.access import rights_of
from approvals.models import ApprovalQueue, Delegation

LONGEST = timedelta(days=30)


class CannotDelegate(AgentOpsError):
    """A delegation that cannot be made: to whom, of what, or for how long. ``field`` is what is wrong."""

    code = "CANNOT_DELEGATE"
    next_step = "Correct it and send it again."

    def __init__(self, message: str, *, field: str) -> None:
        super().__init__(message)
        self.field = field


@transaction.atomic
def delegate(
    *,
    tenant_id: UUID,
    giver: User,
    taker: User,
    queue: ApprovalQueue | None,
    begins: datetime,
    ends: datetime,
    now: datetime,
) -> Delegation:
    """Let ``taker`` decide for ``giver`` in one queue, or all that the giver may decide. Raises CannotDelegate."""
    if taker not in possible_takers(giver, tenant_id):
        raise CannotDelegate("Choose somebody else who works here.", field="taker")
    if not delegable_queues(giver, tenant_id).filter(**({"pk": queue.pk} if queue else {})).exists():
        raise CannotDelegate("You do not decide that yourself.", field="queue")
    if ends <= max(begins, now):
        raise CannotDelegate("It must end later than it begins, and later than now.", field="ends")
    if ends - begins > LONGEST:
        raise CannotDelegate(f"At most {LONGEST.days} days.", field="ends")
    made = Delegation.objects.create(
        tenant_id=tenant_id, giver=giver, taker=taker, queue=queue, begins=begins, ends=ends
    )
    _record("delegation.given", made, giver)
    return made


@transaction.atomic
def revoke(*, tenant_id: UUID, delegation_id: int, person: User, now: datetime) -> bool:
    """End a delegation that the person gave or received, and return whether it was still to end.

    A decision that is just being made in its name is waited for. Raises Delegation.DoesNotExist.
    """
    own = Delegation.objects.filter(Q(giver=person) | Q(taker=person), tenant_id=tenant_id)
    found = own.select_for_update(of=("self",)).select_related("giver", "taker", "queue").get(pk=delegation_id)
    if found.revoked_at is not None or found.ends <= now:
        return False
    found.revoked_at = now
    found.save(update_fields=["revoked_at"])
    _record("delegation.revoked", found, person)
    return True


def possible_takers(giver: User, tenant_id: UUID) -> QuerySet[User]:
    """Return to whom somebody may delegate: everybody else who is active in the tenant."""
    members = User.objects.filter(is_active=True, memberships__tenant_id=tenant_id)
    return members.exclude(pk=giver.pk).distinct().order_by("username")


def delegable_queues(giver: User, tenant_id: UUID) -> QuerySet[ApprovalQueue]:
    """Return the queues that somebody decides by a right of their own; what was lent is not lent on."""
    return ApprovalQueue.objects.filter(tenant_id=tenant_id, pk__in=rights_of(giver).decide)


def delegations_of(person: User, tenant_id: UUID) -> QuerySet[Delegation]:
    """Return what the person gave and received, the newest first."""
    found = Delegation.objects.filter(Q(giver=person) | Q(taker=person), tenant_id=tenant_id)
    return found.select_related("giver", "taker", "queue")


def _record(kind: str, made: Delegation, person: User) -> None:
    facts: dict[str, JSON] = {
        "giver": made.giver.get_username(),
        "taker": made.taker.get_username(),
        "queue": made.queue.slug if made.queue else "",
        "begins": made.begins.isoformat(),
        "ends": made.ends.isoformat(),
    }
    event = Event(kind, f"user:{person.get_username()}", facts, {"delegation": str(made.pk)})
    append_to(tenant_id=made.tenant_id, name=f"person:{made.giver_id}", events=[event])
