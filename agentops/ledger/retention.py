"""The end of records: keys of a class and quarter are destroyed once their days are over. Part of the sweep.

Rows stay, and so do the facts of events; what a payload said can no longer be read. A legal hold on the subject or the
tenant keeps its keys.
"""

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet

from agentops.ledger.append import Event, append_to
from agentops.ledger.keys import lock_subject, period_of
from agentops.ledger.vault_models import Destroyed, LedgerKey, LegalHold, RetentionClass
from agentops.tenancy.switchboard import bump_epoch

ACTOR = "sweep"


def run_out(now: datetime, limit: int) -> int:
    """Destroy keys whose days are over, ``limit`` at most, and return how many."""
    return sum(_run_out(now, RetentionClass(name), limit) for name in settings.RETENTION_DAYS)


def _run_out(now: datetime, retention: RetentionClass, limit: int) -> int:
    # A quarter is over when the one of that moment is a later one; names of quarters sort as they follow each other.
    before = period_of(now - timedelta(days=settings.RETENTION_DAYS[retention]))
    due = _unheld(LedgerKey.objects.filter(retention=retention, period__lt=before, destroyed_at=None))
    tenants = due.order_by("tenant_id").values_list("tenant_id", flat=True).distinct()
    return sum(_destroy(tenant, due.filter(tenant_id=tenant), now, retention, limit) for tenant in list(tenants))


def _unheld(keys: QuerySet[LedgerKey]) -> QuerySet[LedgerKey]:
    holds = LegalHold.objects.filter(tenant_id=OuterRef("tenant_id"), lifted_at=None)
    return keys.exclude(Exists(holds.filter(Q(subject="") | Q(subject=OuterRef("subject")))))


@transaction.atomic
def _destroy(tenant: UUID, due: QuerySet[LedgerKey], now: datetime, retention: RetentionClass, limit: int) -> int:
    # Holds are placed under these locks: none is placed while it is not seen here.
    lock_subject(tenant, "")
    for subject in sorted(set(due.values_list("subject", flat=True).order_by()[:limit])):
        if subject:
            lock_subject(tenant, subject)
    rows = list(due.select_for_update(skip_locked=True, of=("self",)).order_by("period", "id")[:limit])
    if not rows:
        return 0
    done = LedgerKey.objects.filter(pk__in=[row.pk for row in rows], destroyed_at=None).update(
        wrapped=None, destroyed_at=now, destroyed_by=Destroyed.RETENTION
    )
    facts = {"class": retention.value, "keys": done, "through": max(row.period for row in rows)}
    append_to(tenant_id=tenant, name=f"tenant:{tenant}", events=[Event("records.ran_out", ACTOR, facts)])
    bump_epoch()
    return done
