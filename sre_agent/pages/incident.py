"""One incident: its alerts, what was done and said about it, and who was called."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agentops.registry.call_record import call_record
from agentops.registry.made import OpenSession
from agentops.registry.pages import Status
from sre_agent import queries
from sre_agent.act_forms import Tried
from sre_agent.forms import PublishForm
from sre_agent.models import Alert, Incident, Page, StatusUpdate
from sre_agent.pages.acts import ActControl, acts_of
from sre_agent.pages.parts import lasted, status_of
from sre_agent.timeline import ROLE, Entry, entries

_PAUSE = "not yet"


@dataclass(frozen=True)
class Update:
    """A draft or a published update. ``form`` publishes it, None for who may not or when it is published."""

    row: StatusUpdate
    form: PublishForm | None


@dataclass(frozen=True)
class IncidentPage:
    """Everything about one incident. Texts are from outside. ``error`` belongs to the update or page ``about``.

    ``session`` works on it now, None without one. ``kept`` are the words of an act that is not offered any more.
    """

    row: Incident
    status: Status
    alerts: Sequence[Alert]
    more_alerts: bool
    updates: Sequence[Update]
    pages: Sequence[Page]
    timeline: Sequence[Entry]
    session: OpenSession | None
    acts: Sequence[ActControl]
    lasted: str
    acknowledged_after: str
    mitigated_after: str
    resolved_after: str
    may_tell: bool
    about: str = ""
    error: str = ""
    kept: Sequence[str] = ()


@dataclass(frozen=True)
class Attempt:
    """What was tried on the page and not done: ``form`` or ``error`` of the update or page ``about``, or an act."""

    about: str = ""
    form: PublishForm | None = None
    error: str = ""
    tried: Tried | None = None


NOTHING_TRIED = Attempt()


def incident_page(
    incident: Incident, *, person: str, may_tell: bool, now: datetime, attempt: Attempt = NOTHING_TRIED
) -> IncidentPage:
    """Return the page as ``person`` sees it, and what stands against what they tried."""
    alerts, more = queries.alerts_of(incident)
    session = call_record().open_session(incident.tenant_id, ROLE, incident.ref)
    tried = attempt.tried
    acts = acts_of(incident, person, worked=session is not None, tried=tried) if may_tell else ()
    drafts = queries.updates_of(incident)
    return IncidentPage(
        row=incident,
        status=status_of(incident),
        alerts=alerts,
        more_alerts=more,
        updates=[_update(row, may_tell, attempt.form if row.ref == attempt.about else None) for row in drafts],
        pages=queries.pages_of(incident),
        timeline=entries(incident.tenant_id, incident),
        session=session,
        acts=acts,
        lasted=lasted((incident.resolved_at or now) - incident.opened_at),
        acknowledged_after=_after(incident, incident.acknowledged_at),
        mitigated_after=_after(incident, incident.mitigated_at),
        resolved_after=_after(incident, incident.resolved_at),
        may_tell=may_tell,
        about=attempt.about,
        error=attempt.error,
        kept=() if tried is None or any(act.name == tried.name for act in acts) else tried.words,
    )


def _after(incident: Incident, at: datetime | None) -> str:
    return _PAUSE if at is None else lasted(at - incident.opened_at)


def _update(row: StatusUpdate, may_tell: bool, form: PublishForm | None) -> Update:
    draft = row.state == StatusUpdate.State.DRAFT
    shown = (form or PublishForm(initial={"text": row.text}, update=row.ref)) if draft and may_tell else None
    return Update(row, shown)
