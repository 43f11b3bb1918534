"""One incident: its alerts, what was done and said about it, and who was called."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agentops.registry.pages import Status
from sre_agent import queries
from sre_agent.forms import PublishForm
from sre_agent.models import Alert, Incident, Page, StatusUpdate
from sre_agent.pages.parts import lasted, status_of
from sre_agent.timeline import Entry, entries

_PAUSE = "not yet"


@dataclass(frozen=True)
class Update:
    """A draft or a published update. ``form`` publishes it, None for who may not or when it is published."""

    row: StatusUpdate
    form: PublishForm | None


@dataclass(frozen=True)
class IncidentPage:
    """Everything about one incident. Texts are from outside. ``error`` belongs to the update or page ``about``."""

    row: Incident
    status: Status
    alerts: Sequence[Alert]
    more_alerts: bool
    updates: Sequence[Update]
    pages: Sequence[Page]
    timeline: Sequence[Entry]
    lasted: str
    mitigated_after: str
    resolved_after: str
    may_tell: bool
    about: str = ""
    error: str = ""


def incident_page(
    incident: Incident,
    *,
    may_tell: bool,
    now: datetime,
    form: PublishForm | None = None,
    about: str = "",
    error: str = "",
) -> IncidentPage:
    """Return the page; ``form`` is one that was filled in, about the update ``about``."""
    alerts, more = queries.alerts_of(incident)
    return IncidentPage(
        row=incident,
        status=status_of(incident),
        alerts=alerts,
        more_alerts=more,
        updates=[_update(row, may_tell, form if row.ref == about else None) for row in queries.updates_of(incident)],
        pages=queries.pages_of(incident),
        timeline=entries(incident.tenant_id, incident),
        lasted=lasted((incident.resolved_at or now) - incident.opened_at),
        mitigated_after=_after(incident, incident.mitigated_at),
        resolved_after=_after(incident, incident.resolved_at),
        may_tell=may_tell,
        about=about,
        error=error,
    )


def _after(incident: Incident, at: datetime | None) -> str:
    return _PAUSE if at is None else lasted(at - incident.opened_at)


def _update(row: StatusUpdate, may_tell: bool, form: PublishForm | None) -> Update:
    draft = row.state == StatusUpdate.State.DRAFT
    shown = (form or PublishForm(initial={"text": row.text}, update=row.ref)) if draft and may_tell else None
    return Update(row, shown)
