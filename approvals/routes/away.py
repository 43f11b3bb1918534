"""Saying that one is away, and back early."""

from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from agentops.kernel.canonical import JSON
from agentops.kernel.clock import isoformat
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Event, append_to
from agentops.tenancy.models import Membership
from approvals.models import Absence

MOST_ABSENCES = 20


class AwayThen(AgentOpsError):
    """The person has said already that they are away then."""

    code = "AWAY_THEN"
    next_step = "Remove the other absence first, or choose times that do not overlap it."


class TooManyAbsences(AgentOpsError):
    """More absences than anybody plans."""

    code = "TOO_MANY_ABSENCES"
    next_step = "Remove one that is not needed."


def absences_of(person: User, tenant_id: UUID, now: datetime) -> list[Absence]:
    """Return a person's absences that are not over, the next one first."""
    found = Absence.objects.filter(person=person, tenant_id=tenant_id, ends__gt=now)
    return list(found.select_related("stand_in").order_by("begins")[:MOST_ABSENCES])


def colleagues(person: User, tenant_id: UUID) -> list[User]:
    """Return who may stand in for a person."""
    members = User.objects.filter(is_active=True, memberships__tenant_id=tenant_id).exclude(pk=person.pk)
    return list(members.distinct().order_by("username")[:500])


@transaction.atomic
def note_absence(
    *, tenant_id: UUID, person: User, begins: datetime, ends: datetime, stand_in: User | None, now: datetime
) -> Absence:
    """Record that a person is away. Their claims go back by the sweep. Raises AwayThen or TooManyAbsences."""
    # Two forms sent at the same moment are checked one after the other.
    list(Membership.objects.select_for_update().filter(user=person, tenant_id=tenant_id))
    known = Absence.objects.filter(person=person, tenant_id=tenant_id, ends__gt=now)
    if known.filter(begins__lt=ends, ends__gt=begins).exists():
        raise AwayThen("You have said already that you are away then.")
    if known.count() >= MOST_ABSENCES:
        raise TooManyAbsences(f"You have {MOST_ABSENCES} absences ahead.")
    absence = Absence.objects.create(tenant_id=tenant_id, person=person, begins=begins, ends=ends, stand_in=stand_in)
    _record(absence, "absence.added")
    return absence


@transaction.atomic
def end_absence(*, absence_id: int, tenant_id: UUID, person: User, now: datetime) -> bool:
    """End one's own absence now, or remove it when it has not begun. False when there is none any more."""
    rows = Absence.objects.select_for_update(of=("self",)).select_related("stand_in", "person")
    absence = rows.filter(pk=absence_id, tenant_id=tenant_id, person=person, ends__gt=now).first()
    if absence is None:
        return False
    if absence.begins < now:
        absence.ends = now
        absence.save(update_fields=["ends"])
        _record(absence, "absence.ended")
    else:
        _record(absence, "absence.removed")
        absence.delete()
    return True


def _record(absence: Absence, kind: str) -> None:
    facts: dict[str, JSON] = {
        "begins": isoformat(absence.begins),
        "ends": isoformat(absence.ends),
        "stand_in": absence.stand_in.get_username() if absence.stand_in else "",
    }
    event = Event(kind, f"user:{absence.person.get_username()}", facts, {"absence": str(absence.pk)})
    append_to(tenant_id=absence.tenant_id, name=f"person:{absence.person_id}", events=[event])
