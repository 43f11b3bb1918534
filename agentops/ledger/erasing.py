"""Erasing what is held about a person, and telling it to them. docs/retention.md says what is erased and what stays.

One transaction: holders erase their rows, the keys of the person's payloads are destroyed, and a tombstone goes into
the tenant's stream. Payload rows stay as they are; what they hold cannot be read any more, and every leaf still fits.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import OperationalError, connection, transaction
from django.utils.module_loading import import_string
from psycopg.errors import DeadlockDetected

from agentops.kernel.canonical import JSON, storable
from agentops.kernel.clock import utcnow
from agentops.ledger.append import Event, append_to
from agentops.ledger.holds import require_no_hold
from agentops.ledger.keys import lock_subject
from agentops.ledger.models import LedgerEvent, Payload
from agentops.ledger.payloads import Opened, read_payloads
from agentops.ledger.vault_models import Destroyed, LedgerKey
from agentops.registry import roles
from agentops.registry.holder import CannotErase, SubjectHolder
from agentops.registry.subjects import parsed_subject
from agentops.tenancy.switchboard import bump_epoch

MOST_REASON = 500
_TRIES = 3


@dataclass(frozen=True)
class Erasure:
    """What an erasure did: keys that were destroyed, and rows that changed by holder."""

    subject: str
    at: datetime
    keys: int
    rows: Mapping[str, int]


def holders() -> Iterator[SubjectHolder]:
    """Yield everything that keeps data about people: the settings' holders in their order, then those of roles."""
    for path in settings.SUBJECT_HOLDERS:
        yield import_string(path)()
    for role in roles.all_roles():
        if role.holder is not None:
            yield role.holder


def _again_after_deadlock(erase: Any) -> Any:
    """A worker may have held a row and waited for the subject: then one of both is told to begin again."""

    @wraps(erase)
    def repeated(**given: Any) -> Erasure:
        for left in reversed(range(_TRIES)):
            try:
                done: Erasure = erase(**given)
            except OperationalError as error:
                if not left or connection.in_atomic_block or not isinstance(error.__cause__, DeadlockDetected):
                    raise
            else:
                return done
        raise AssertionError

    return repeated


@_again_after_deadlock
@transaction.atomic
def erase(*, tenant_id: UUID, subject: str, actor: str, reason: str = "") -> Erasure:
    """Erase what is held about a subject, in all of it or not at all. Raises CannotErase and BadSubject.

    What is written about the same subject afterwards is sealed with new keys, and stays.
    """
    subject = parsed_subject(tenant_id, subject)
    lock_subject(tenant_id, "")  # A hold on the whole tenant is placed before, or after.
    lock_subject(tenant_id, subject)
    require_no_hold(tenant_id, subject)
    rows = {holder.name: holder.erase(tenant_id, subject) for holder in holders()}
    at = utcnow()
    keys = LedgerKey.objects.filter(tenant_id=tenant_id, subject=subject, destroyed_at=None)
    destroyed = keys.update(wrapped=None, destroyed_at=at, destroyed_by=Destroyed.ERASURE)
    if not destroyed and not any(rows.values()):
        raise CannotErase("Nothing is held about this subject.", next_step="Check the id, and the tenant.")
    event = Event(
        "subject.erased",
        actor,
        {"subject": subject, "keys": destroyed, "rows": {name: count for name, count in rows.items() if count}},
        {},
        {"reason": storable(reason.strip(), most=MOST_REASON)},
    )
    append_to(tenant_id=tenant_id, name=f"tenant:{tenant_id}", events=[event], subject="")
    bump_epoch()
    return Erasure(subject, at, destroyed, rows)


@transaction.atomic
def export(*, tenant_id: UUID, subject: str, actor: str) -> dict[str, JSON]:
    """Return what is held about a subject: the rows of each holder, and every payload under the subject's keys.

    That it was taken out goes on record. Raises BadSubject.
    """
    subject = parsed_subject(tenant_id, subject)
    event = Event("subject.exported", actor, {"subject": subject})
    append_to(tenant_id=tenant_id, name=f"tenant:{tenant_id}", events=[event])
    return {
        "tenant": str(tenant_id),
        "subject": subject,
        "held": {holder.name: found for holder in holders() if (found := holder.held(tenant_id, subject))},
        "records": list(_records(tenant_id, subject)),
    }


_BATCH = 500


def _records(tenant_id: UUID, subject: str) -> Iterator[JSON]:
    keys = LedgerKey.objects.filter(tenant_id=tenant_id, subject=subject, destroyed_at=None)
    for key in keys.order_by("created_at", "id").values_list("pk", flat=True):
        yield from _records_under(key)


def _records_under(key: UUID) -> Iterator[JSON]:
    """Yield the events whose payload a key seals. Reads the table of payloads through: this is asked for rarely."""
    found = Payload.objects.extra(where=["substring(body FOR 17) = %s"], params=[b"\x02" + key.bytes])
    rows = list(found.order_by("stream", "position").values_list("stream", "position", "body"))
    for start in range(0, len(rows), _BATCH):
        part = rows[start : start + _BATCH]
        events = {
            (event.stream, event.position): event
            for event in LedgerEvent.objects.filter(stream__in={row[0] for row in part})
        }
        for (stream, position, _), read in zip(part, read_payloads(part), strict=True):
            event = events[stream, position]
            yield {
                "stream": str(stream),
                "position": position,
                "at": event.at.isoformat(),
                "type": event.type,
                "payload": read.value if isinstance(read, Opened) else None,
            }
