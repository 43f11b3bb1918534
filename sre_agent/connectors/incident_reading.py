"""The session's incident with all that was told and written about it, and who else works on a service."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from django.db.models import F

from agentops.kernel.clock import isoformat
from agentops.registry.tool import CallContext
from sre_agent.connectors.effect import missing
from sre_agent.models import Alert, Incident, Note, Page, StatusUpdate

MOST_ALERTS, MOST_NOTES, MOST_PAGES, MOST_DRAFTS = 50, 50, 20, 20


def incident_of(context: CallContext) -> dict[str, Any]:
    """Return the session's incident as JSON. Raises ToolFailure NOT_FOUND."""
    row = Incident.objects.filter(tenant_id=context.tenant_id, ref=context.subject_id).first()
    if row is None:
        raise missing("incident", "incident_id")
    firing_first = row.alerts.order_by(F("ended_at").desc(nulls_first=True), "-began_at", "-id")
    latest = reversed(row.notes.order_by("-at", "-id")[:MOST_NOTES])
    return {
        "incident_id": row.ref,
        "title": row.title,
        "priority": row.priority,
        "status": row.status,
        "service": row.service,
        "opened_at": isoformat(row.opened_at),
        "summary": row.summary,
        "version": row.version,
        "alerts": [_alert(alert) for alert in firing_first[:MOST_ALERTS]],
        "notes": [_note(note) for note in latest],
        "pages": _pages(row.pages.filter(withdrawn_at=None)[:MOST_PAGES]),
        "drafts": _drafts(row.updates.filter(state=StatusUpdate.State.DRAFT)[:MOST_DRAFTS]),
    }


def _alert(alert: Alert) -> dict[str, Any]:
    return {
        "alert_id": alert.ref,
        "rule": alert.rule,
        "service": alert.service,
        "priority": alert.priority,
        "words": alert.words,
        "times": alert.times,
        "began_at": isoformat(alert.began_at),
        "ended_at": _maybe(alert.ended_at),
        "silenced_until": _maybe(alert.silenced_until),
    }


def _note(note: Note) -> dict[str, Any]:
    return {"at": isoformat(note.at), "actor": note.actor, "kind": note.kind, "text": note.text}


def _pages(rows: Iterable[Page]) -> list[dict[str, Any]]:
    return [
        {"page_id": row.ref, "person": row.person, "words": row.words, "paged_at": isoformat(row.paged_at)}
        for row in rows
    ]


def _drafts(rows: Iterable[StatusUpdate]) -> list[dict[str, Any]]:
    return [{"update_id": row.ref, "text": row.text, "state": row.state} for row in rows]


def _maybe(at: datetime | None) -> str:
    return "" if at is None else isoformat(at)
