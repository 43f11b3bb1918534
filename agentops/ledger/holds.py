"""Legal holds: placing and lifting them, and what they forbid."""

from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Event, append_to
from agentops.ledger.keys import lock_subject
from agentops.ledger.vault_models import LegalHold
from agentops.registry.holder import CannotErase
from agentops.registry.subjects import parsed_subject


class CannotHold(AgentOpsError):
    """A legal hold that cannot be placed or lifted."""

    code = "CANNOT_HOLD"
    next_step = "Give the reason, and name the subject as customer:ID, user:NAME or sender:MAIL."


@transaction.atomic
def place_hold(*, tenant_id: UUID, subject: str, reason: str, actor: str) -> LegalHold:
    """Forbid to erase a subject, or with "" anybody of the tenant. Raises CannotHold and BadSubject."""
    reason = reason.strip()
    if not reason or len(reason) > 500:
        raise CannotHold("A legal hold needs a reason of 500 characters at most.")
    subject = parsed_subject(tenant_id, subject) if subject.strip() else ""
    lock_subject(tenant_id, subject)
    made = LegalHold.objects.create(
        tenant_id=tenant_id, subject=subject, reason=reason, placed_by=actor[:150], placed_at=utcnow()
    )
    _tell("hold.placed", made, actor)
    return made


@transaction.atomic
def lift_hold(*, tenant_id: UUID, hold_id: UUID, actor: str) -> LegalHold:
    """Take a hold back. Raises CannotHold when it was lifted already, and LegalHold.DoesNotExist."""
    hold = LegalHold.objects.select_for_update().get(tenant_id=tenant_id, pk=hold_id)
    if hold.lifted_at is not None:
        raise CannotHold("The hold was lifted already.", next_step="Nothing is left to do.")
    hold.lifted_at, hold.lifted_by = max(utcnow(), hold.placed_at), actor[:150]
    hold.save(update_fields=["lifted_at", "lifted_by"])
    _tell("hold.lifted", hold, actor)
    return hold


def _tell(kind: str, hold: LegalHold, actor: str) -> None:
    event = Event(kind, actor, {"subject": hold.subject}, {"hold": str(hold.pk)}, {"reason": hold.reason})
    append_to(tenant_id=hold.tenant_id, name=f"tenant:{hold.tenant_id}", events=[event])


def standing_holds(tenant_id: UUID) -> QuerySet[LegalHold]:
    """Return the tenant's holds that were not lifted, the oldest first."""
    return LegalHold.objects.filter(tenant_id=tenant_id, lifted_at=None).order_by("placed_at", "id")


def require_no_hold(tenant_id: UUID, subject: str) -> None:
    """Raise CannotErase, with the reason, while a hold on the subject or the tenant stands."""
    hold = standing_holds(tenant_id).filter(Q(subject=subject) | Q(subject="")).first()
    if hold is not None:
        since: datetime = hold.placed_at
        raise CannotErase(
            f"A legal hold stands since {since:%Y-%m-%d}: {hold.reason}", next_step="It must be lifted first."
        )
