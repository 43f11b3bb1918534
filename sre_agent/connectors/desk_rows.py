"""The rows behind writes on the incident desk: read as a snapshot, locked where they are to change, and changed.

Rows are locked in one order (operation key, incidents by id, alert, status update, page, claims), so two writes wait
for each other and never deadlock.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar
from uuid import UUID

from django.db.models import F, Model, QuerySet

from agentops.registry.once import Call
from agentops.registry.tool import CallContext
from sre_agent.connectors import claiming
from sre_agent.connectors.clock import present
from sre_agent.connectors.desk_effect import AGENT, AlertNow, Desk, DeskEffect, IncidentNow, PageNow, UpdateNow, Written
from sre_agent.connectors.records import OnCall
from sre_agent.models import Alert, Incident, Note, Page, Shift, Source, StatusUpdate

M = TypeVar("M", bound=Model)


@dataclass(frozen=True)
class Wanted:
    """What a write needs to see besides the session's incident: what it names, and lists that cost a query."""

    other: str = ""
    alert: str = ""
    update: str = ""
    page: str = ""
    firing: bool = False
    people: bool = False


@dataclass(frozen=True)
class Rows:
    """The rows of a snapshot, None where there is none."""

    incident: Incident | None = None
    other: Incident | None = None
    alert: Alert | None = None
    update: StatusUpdate | None = None
    page: Page | None = None


def read(context: CallContext, wanted: Wanted, *, lock: bool) -> tuple[Desk, Rows]:
    """Return the records that a write is about; what is not of the session's incident does not exist."""
    now = present(context.tenant_id, context.now)
    named = {context.subject_id, wanted.other} - {""}
    found = Incident.objects.filter(tenant_id=context.tenant_id, ref__in=named).order_by("id")
    incidents = {row.ref: row for row in (found.select_for_update() if lock else found)}
    incident = incidents.get(context.subject_id)
    if incident is None:
        return Desk(now, context.idempotency_key), Rows()
    rows = Rows(
        incident=incident,
        other=incidents.get(wanted.other),
        alert=_named(incident.alerts.all(), wanted.alert, lock),
        update=_named(incident.updates.all(), wanted.update, lock),
        page=_named(incident.pages.all(), wanted.page, lock),
    )
    firing = incident.alerts.filter(ended_at__isnull=True).order_by("priority", "id") if wanted.firing else ()
    pages = incident.pages.filter(withdrawn_at__isnull=True, acknowledged_at__isnull=True) if wanted.people else ()
    return Desk(
        now=now,
        key=f"{context.tenant_id}/{context.idempotency_key}" if context.idempotency_key else "",
        incident=incident_now(incident),
        other=None if rows.other is None else incident_now(rows.other),
        alert=None if rows.alert is None else _alert(rows.alert),
        update=None if rows.update is None else UpdateNow(*_of(rows.update), rows.update.state, rows.update.text),
        page=None if rows.page is None else _page(rows.page),
        firing=tuple(map(_alert, firing)),
        pages=tuple(map(_page, pages)),
        on_call=on_call(context.tenant_id, now) if wanted.people else (),
    ), rows


def on_call(tenant_id: UUID, now: datetime) -> tuple[OnCall, ...]:
    """Return who is on call now, by level, and by time at each level."""
    shifts = Shift.objects.filter(tenant_id=tenant_id, starts_at__lte=now, ends_at__gt=now)
    ordered = shifts.order_by("level", "starts_at", "id")
    return tuple(OnCall(shift.person, shift.contact, shift.level, shift.ends_at) for shift in ordered)


def apply(call: Call, now: datetime, rows: Rows, effect: DeskEffect) -> None:
    """Change the locked rows as a write's effect says, and write its notes."""
    changes: tuple[tuple[Model | None, object], ...] = (
        (rows.incident, effect.incident),
        (rows.other, effect.other),
        (rows.alert, effect.alert),
        (rows.update, effect.update),
        (rows.page, effect.page),
    )
    for row, fields in changes:
        if row is not None and isinstance(fields, dict) and fields:
            type(row)._default_manager.filter(pk=row.pk).update(**fields, version=F("version") + 1)  # noqa: SLF001 - Django's public interface to a model
    incident = rows.incident
    if incident is None:
        return
    opened = None
    if effect.new_incident is not None:
        opened = Incident.objects.create(tenant_id=call.tenant_id, **effect.new_incident)
    if effect.new_update is not None:
        StatusUpdate.objects.create(tenant_id=call.tenant_id, incident=incident, drafted_by=AGENT, **effect.new_update)
    if effect.new_page is not None:
        Page.objects.create(tenant_id=call.tenant_id, incident=incident, **effect.new_page)
    _write_notes(call, now, effect.notes, incident, opened or rows.other)
    if effect.gives_back:
        claiming.give_back(call.tenant_id, incident.ref, now)


def _write_notes(
    call: Call, now: datetime, notes: Iterable[Written], incident: Incident, other: Incident | None
) -> None:
    Note.objects.bulk_create(
        Note(
            tenant_id=call.tenant_id,
            incident=(other or incident) if note.about_other else incident,
            kind=note.kind,
            at=now,
            actor=AGENT,
            text=note.text,
            operation_key=call.key,
        )
        for note in notes
    )


def _named(rows: QuerySet[M], ref: str, lock: bool) -> M | None:
    if not ref:
        return None
    found = rows.filter(ref=ref)
    return (found.select_for_update() if lock else found).first()


def _of(row: StatusUpdate | Page | Alert) -> tuple[str, int]:
    return row.ref, row.version


def incident_now(row: Incident) -> IncidentNow:
    """Return an incident as it stands."""
    return IncidentNow(
        ref=row.ref,
        version=row.version,
        title=row.title,
        status=row.status,
        service=row.service,
        priority=row.priority,
        summary=row.summary,
        opened_at=row.opened_at,
        by_agent=row.source == Source.AGENT,
        taken=row.taken_at is not None,
        mitigated_at=row.mitigated_at,
        acknowledged_by=row.acknowledged_by,
        held_by=row.held_by,
    )


def _alert(row: Alert) -> AlertNow:
    return AlertNow(*_of(row), row.rule, row.service, row.ended_at is None, row.silenced_until)


def _page(row: Page) -> PageNow:
    return PageNow(
        *_of(row),
        person=row.person,
        paged_at=row.paged_at,
        acknowledged=row.acknowledged_at is not None,
        withdrawn=row.withdrawn_at is not None,
    )
