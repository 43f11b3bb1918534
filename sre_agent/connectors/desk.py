"""The incident desk: incidents, their alerts and drafts of status updates, always kept here.

What people and webhooks do with incidents stands below; agents write through ``EmbeddedDesk``.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime
from uuid import UUID

from django.db import transaction

from agentops.kernel.ids import derived_id, short_ref
from agentops.registry.incoming import subject_of
from agentops.registry.once import Once, call_of, fingerprint_of, require_versions
from agentops.registry.tool import CallContext, Preview, Result
from sre_agent.connectors import desk_alert_rules, desk_rules
from sre_agent.connectors.desk_effect import Desk, DeskEffect, clipped
from sre_agent.connectors.desk_rows import Wanted, apply, read
from sre_agent.connectors.moving import NoEstate, to_present
from sre_agent.connectors.port import (
    DeskWrite,
    DiscardStatus,
    DraftStatus,
    ResolveIncident,
    Silence,
    Unsilence,
    WithdrawIncident,
)
from sre_agent.models import LEAST_URGENT, Alert, Incident, Note, Operation, Source

ONCE = Once(Operation, "incident_ref", "incident desk")

_MOST_TEXT = 20_000
_NAMED = 10


class EmbeddedDesk:
    """Implements ``Desk``. Holds no state."""

    @ONCE.answering()
    def preview(self, context: CallContext, write: DeskWrite) -> Preview:
        """Return what ``write`` would do, doing nothing. Raises ToolFailure when it would be refused."""
        _look(context, write)
        desk, _ = read(context, _wanted(write), lock=False)
        return planned(desk, write).preview

    def write(self, context: CallContext, write: DeskWrite) -> Result:
        """Carry ``write`` out once for the context's key. Raises ToolFailure or OutcomeUnknown.

        The same key with the same arguments returns the recorded result; with others it is a CONFLICT.
        """

        def act() -> Result:
            desk, rows = read(context, _wanted(write), lock=True)
            require_versions(context, desk.versions())
            effect = planned(desk, write)
            apply(call_of(context), desk.now, rows, effect)
            ONCE.record(call_of(context), effect.result)
            return effect.result

        with ONCE.answering():
            _look(context, write)
        return ONCE.write(context, fingerprint_of(context, write), type(write).__name__, act)

    def outcome(self, context: CallContext) -> Result | None:
        """Return the recorded result of the key, None when it took no effect. Waits for a write that is under way."""
        return ONCE.outcome(context)


def planned(desk: Desk, write: DeskWrite) -> DeskEffect:
    """Return what ``write`` comes to. Raises ToolFailure when it is refused."""
    if isinstance(write, Silence | Unsilence | DraftStatus | DiscardStatus):
        return desk_alert_rules.planned(desk, write)
    return desk_rules.planned(desk, write)


@transaction.atomic
def open_incident(  # noqa: PLR0913 - the columns of one row
    *,
    tenant_id: UUID,
    title: str,
    text: str,
    service: str,
    priority: int,
    source: Source,
    source_key: str,
    sender: str = "",
    actor: str,
    now: datetime,
) -> Incident:
    """Return the incident of a source's key, which is opened unless it was before. It waits for somebody to take it.

    Texts come from outside: what is too long is cut, what cannot be stored left out.
    """
    named = subject_of(clipped(title, _MOST_TEXT), clipped(text, _MOST_TEXT))
    incident, is_new = Incident.objects.get_or_create(
        tenant_id=tenant_id,
        source_key=source_key,
        defaults={
            "ref": short_ref("INC", derived_id("sre-incident", str(tenant_id), source_key)),
            "title": named,
            "text": clipped(text, _MOST_TEXT),
            "sender": sender,
            "service": service,
            "priority": min(max(priority, 0), LEAST_URGENT),
            "source": source,
            "opened_at": now,
        },
    )
    if is_new:
        _note(incident, Note.Kind.OPENED, f"Opened P{incident.priority}: {named}", actor, now)
    return incident


@transaction.atomic
def add_alerts(incident: Incident, alerts: Iterable[Alert], now: datetime, actor: str) -> None:
    """Put alerts that belong to no incident yet into one. Those that do already stay where they are."""
    keys = [alert.pk for alert in alerts if alert.tenant_id == incident.tenant_id]
    free = Alert.objects.select_for_update().filter(pk__in=keys, incident__isnull=True).order_by("pk")
    added = list(free)
    if not added:
        return
    Alert.objects.filter(pk__in=[alert.pk for alert in added]).update(incident=incident)
    names = [f"{alert.rule} of {alert.service}" if alert.service else alert.rule for alert in added[:_NAMED]]
    more = f" and {len(added) - _NAMED} more" if len(added) > _NAMED else ""
    _note(incident, Note.Kind.GROUPED, f"Added {len(added)}: {', '.join(names)}{more}", actor, now)


def _note(incident: Incident, kind: str, text: str, actor: str, now: datetime) -> None:
    Note.objects.create(
        tenant_id=incident.tenant_id, incident=incident, kind=kind, at=now, actor=actor, text=clipped(text)
    )


def _look(context: CallContext, write: DeskWrite) -> None:
    """Move an embedded estate on to the present, where it matters which alerts fire, before anything is locked."""
    if isinstance(write, ResolveIncident | Silence):
        with suppress(NoEstate), transaction.atomic():
            to_present(context.tenant_id, context.now)


def _wanted(write: DeskWrite) -> Wanted:
    match write:
        case Silence() | Unsilence():
            return Wanted(alert=write.alert_ref)
        case WithdrawIncident():
            return Wanted(other=write.incident_ref)
        case DiscardStatus():
            return Wanted(update=write.update_ref)
        case ResolveIncident():
            return Wanted(firing=True)
        case _:
            return Wanted()
