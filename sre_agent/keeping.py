"""What nobody else looks after: mitigated incidents that are quiet, and samples and log lines of long ago."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from sre_agent.models import Alert, Incident, LogLine, Note, Sample

KEPT_FOR = timedelta(days=14)
"""So long samples and log lines can be looked up."""
BATCH = 1_000
QUIET_FOR = timedelta(minutes=10)
"""An alert that ended so long ago does not flap."""
_BY = "schedule:tidy"
_WORDS = "No alert of it fires any more, and it is mitigated: somebody has to say that it is over."


def tell_of_quiet(tenant_id: UUID, now: datetime, limit: int) -> list[str]:
    """Note once of each mitigated incident that none of its alerts fires any more, and return what was told."""
    alerts = Alert.objects.filter(incident=OuterRef("pk"))
    loud = alerts.filter(ended_at__isnull=True) | alerts.filter(ended_at__gt=now - QUIET_FOR)
    told = Note.objects.filter(incident=OuterRef("pk"), actor=_BY, at__gte=OuterRef("mitigated_at"))
    rows = Incident.objects.filter(tenant_id=tenant_id, status=Incident.Status.MITIGATED)
    rows = rows.filter(mitigated_at__lte=now - QUIET_FOR).exclude(Exists(loud)).exclude(Exists(told))
    with transaction.atomic():
        quiet = list(rows.order_by("pk").select_for_update(of=("self",), skip_locked=True)[: max(limit, 0)])
        Note.objects.bulk_create(
            Note(tenant_id=tenant_id, incident=row, kind=Note.Kind.FOUND, at=now, actor=_BY, text=_WORDS)
            for row in quiet
        )
    return [f"Incident {row.ref} is mitigated, and quiet." for row in quiet]


def delete_old(tenant_id: UUID, now: datetime, limit: int) -> list[str]:
    """Delete samples and log lines older than KEPT_FOR, ``limit`` batches at most, and return what was deleted.

    Each batch is what is oldest of one service, found by an index, in a transaction of its own.
    """
    done: list[str] = []
    for model in (Sample, LogLine):
        for service in _services(tenant_id, model):
            while len(done) < limit:
                count = _delete_batch(tenant_id, model, service, now - KEPT_FOR)
                if not count:
                    break
                done.append(f"{count} old {model._meta.verbose_name_plural} of {service} were deleted.")  # noqa: SLF001 - Django's public name for it
    return done


def _services(tenant_id: UUID, model: type[Sample | LogLine]) -> list[str]:
    """Return the names of services that were seen, one step of the index for each."""
    found: list[str] = []
    rows = model.objects.filter(tenant_id=tenant_id).order_by("service").values_list("service", flat=True)
    following = rows.first()
    while following is not None:
        found.append(following)
        following = rows.filter(service__gt=following).first()
    return found


def _delete_batch(tenant_id: UUID, model: type[Sample | LogLine], service: str, until: datetime) -> int:
    oldest = model.objects.filter(tenant_id=tenant_id, service=service).order_by("tick", "id")
    old = [pk for pk, at in oldest.values_list("pk", "at")[:BATCH] if at < until]
    return model.objects.filter(pk__in=old).delete()[0] if old else 0
