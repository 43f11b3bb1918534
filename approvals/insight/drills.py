"""Drills: seeded once a tenant, answered once a person, told to that person at once."""

from datetime import datetime
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import Count, Max, Q

from agentops.ledger.append import Event, append_to
from agentops.tenancy.models import Tenant
from approvals.access import rights_of
from approvals.insight.catalogue import CATALOGUE
from approvals.insight.errors import AlreadySaid
from approvals.models import ApprovalQueue, Decision, Drill, DrillAnswer, Verdict

LEAST_CONFIDENCE, MOST_CONFIDENCE = 50, 100
MOST_DWELL_MS = 2**31 - 1


@transaction.atomic
def ensure(tenant: Tenant) -> int:
    """Add the drills of the catalogue that the tenant lacks, to its first queue, and return how many.

    A tenant without a queue gets none. One that was switched off or changed stays as it is.
    """
    queue = ApprovalQueue.objects.filter(tenant=tenant).order_by("pk").first()
    if queue is None:
        return 0
    there = set(Drill.objects.filter(tenant=tenant).values_list("name", flat=True))
    missing = [invented for invented in CATALOGUE if invented.name not in there]
    Drill.objects.bulk_create(
        Drill(tenant=tenant, queue=queue, name=one.name, content=dict(one.content), right=one.right, lesson=one.lesson)
        for one in missing
    )
    if missing:
        event = Event("drills.added", "approvals", {"drills": [one.name for one in missing]})
        append_to(tenant_id=tenant.pk, name="drills", events=[event])
    return len(missing)


def seed_demo() -> None:
    """Add the catalogue to every tenant. One of ``settings.DEMO_SEEDS``."""
    for tenant in Tenant.objects.all():
        ensure(tenant)


def answer(
    *, drill: Drill, person: User, verdict: Verdict, confidence: int, now: datetime, dwell_ms: int | None = None
) -> DrillAnswer:
    """Record what a person says to a drill, once. A drill has no call, so nothing can follow from it.

    ``confidence`` is 50 to 100 per cent. Raises AlreadySaid, or ValueError for another confidence.
    """
    if not LEAST_CONFIDENCE <= confidence <= MOST_CONFIDENCE:
        raise ValueError(f"{confidence} is no confidence between 50 and 100")
    right = verdict == drill.right
    try:
        with transaction.atomic():
            given = DrillAnswer.objects.create(
                drill=drill,
                person=person,
                verdict=verdict,
                confidence=confidence,
                right=right,
                dwell_ms=None if dwell_ms is None else max(0, min(dwell_ms, MOST_DWELL_MS)),
                at=now,
            )
            # What was said stays between the person and the drill: the ledger is read by others.
            event = Event("drill.answered", f"user:{person.get_username()}", {"drill": drill.name[:80]})
            append_to(tenant_id=drill.tenant_id, name="drills", events=[event])
    except IntegrityError as error:
        if "a_person_answers_a_drill_once" not in str(error):
            raise
        raise AlreadySaid("You have answered this drill.") from error
    return given


def answers_of(person: User, tenant_id: UUID) -> list[DrillAnswer]:
    """Return what a person said to drills of the tenant, the last first."""
    found = DrillAnswer.objects.filter(person=person, drill__tenant_id=tenant_id)
    return list(found.select_related("drill").order_by("-at", "-pk"))


def open_for(person: User, tenant_id: UUID) -> list[Drill]:
    """Return the drills that the person has not answered yet, in the order of their age."""
    found = Drill.objects.filter(tenant_id=tenant_id, is_active=True).exclude(answers__person=person)
    return list(found.select_related("queue").order_by("id"))


def due_for(person: User, tenant_id: UUID, now: datetime) -> Drill | None:
    """Return a drill to serve in the queue instead of the next request, None when none is due.

    One for every ``settings.APPROVAL_DRILL_EVERY`` decisions since the last drill, from queues that the person may
    decide; 0 switches it off. Two queries, none when it is off.
    """
    every = settings.APPROVAL_DRILL_EVERY
    if every <= 0:
        return None
    last = DrillAnswer.objects.filter(person=person, drill__tenant_id=tenant_id, at__lte=now).aggregate(at=Max("at"))
    since = Q(at__gt=last["at"]) if last["at"] else Q()
    mine = Decision.objects.filter(since, person=person, request__tenant_id=tenant_id, at__lte=now)
    if mine.aggregate(n=Count("pk"))["n"] < every:
        return None
    found = Drill.objects.filter(tenant_id=tenant_id, is_active=True, queue_id__in=rights_of(person).decide)
    return found.exclude(answers__person=person).order_by("id").first()
