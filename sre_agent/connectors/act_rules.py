"""What a person does with an incident: knows of it, takes it over, resolves it, opens it again. Pure.

Other than an agent, a person may end what is with people, and take over from somebody else.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, assert_never

from sre_agent.connectors.desk_effect import ESCALATED, RESOLVED, Desk, IncidentNow, Written, clipped, said
from sre_agent.connectors.desk_rules import BEGINS_AGAIN, require_quiet
from sre_agent.connectors.effect import conflict

CHANGED, FOUND = "changed", "found"


@dataclass(frozen=True)
class Acknowledge:
    """Say that somebody knows of it. Whoever works on it goes on."""

    name: ClassVar[str] = "acknowledge"
    note: str = ""


@dataclass(frozen=True)
class TakeOver:
    """Work on it oneself; no agent begins or changes anything of it any more."""

    name: ClassVar[str] = "take_over"
    reason: str


@dataclass(frozen=True)
class Resolve:
    """End it, with what it was and what ended it. No alert of it may fire."""

    name: ClassVar[str] = "resolve"
    cause: str
    remedy: str


@dataclass(frozen=True)
class Reopen:
    """Open it again, for an agent to begin anew."""

    name: ClassVar[str] = "reopen"
    reason: str


Act = Acknowledge | TakeOver | Resolve | Reopen


@dataclass(frozen=True)
class Acted:
    """What an act sets on the incident and the notes that say so. ``gives_back``: the incident's claims end."""

    fields: Mapping[str, Any]
    notes: tuple[Written, ...]
    gives_back: bool = False


def offered(incident: IncidentNow, person: str, *, worked: bool) -> tuple[str, ...]:
    """Return the names of the acts that an incident allows a person. ``worked``: a session works on it."""
    over = incident.status == RESOLVED
    allowed = {
        Acknowledge.name: not over and not incident.acknowledged_by,
        TakeOver.name: not over and not worked and incident.held_by != person,
        Resolve.name: not over and not worked,
        Reopen.name: not worked and incident.status in (RESOLVED, ESCALATED),
    }
    return tuple(name for name, holds in allowed.items() if holds)


def planned(desk: Desk, act: Act, person: str, at: datetime) -> Acted:
    """Return what an act comes to; ``at`` is now by the wall's clock. Raises ToolFailure when it is refused."""
    incident = desk.the_incident()
    match act:
        case Acknowledge():
            return _acknowledge(desk, incident, act, person)
        case TakeOver():
            return _take_over(desk, incident, act, person)
        case Resolve():
            return _resolve(desk, incident, act)
        case Reopen():
            return _reopen(incident, act, at)
        case _:
            assert_never(act)


def _acknowledge(desk: Desk, incident: IncidentNow, act: Acknowledge, person: str) -> Acted:
    _require_going_on(incident)
    if incident.acknowledged_by:
        raise conflict(f"Incident {incident.ref} was acknowledged already.")
    note = said(act.note, "note", least=0)
    words = f"Acknowledged: {note}" if note else "Acknowledged."
    return Acted(_known(incident, person, desk.now), (Written(CHANGED, clipped(words)),))


def _take_over(desk: Desk, incident: IncidentNow, act: TakeOver, person: str) -> Acted:
    _require_going_on(incident)
    if incident.held_by == person:
        raise conflict(f"Incident {incident.ref} is with you already.")
    reason = said(act.reason, "reason")
    fields = {"status": ESCALATED, "held_by": person, **_known(incident, person, desk.now)}
    return Acted(fields, (Written(ESCALATED, clipped(f"Taken over: {reason}")),), gives_back=True)


def _resolve(desk: Desk, incident: IncidentNow, act: Resolve) -> Acted:
    _require_going_on(incident)
    cause, remedy = said(act.cause, "cause"), said(act.remedy, "remedy")
    require_quiet(incident, desk.firing)
    ends = {"status": RESOLVED, "resolved_at": max(desk.now, incident.opened_at), "cause": cause, "held_by": ""}
    return Acted(ends, (Written(FOUND, cause), Written(RESOLVED, remedy)), gives_back=True)


def _reopen(incident: IncidentNow, act: Reopen, at: datetime) -> Acted:
    if incident.status not in (RESOLVED, ESCALATED):
        raise conflict(f"Incident {incident.ref} is {incident.status} already.")
    # Without the time at which work began it waits for an agent, as a new one does.
    begins = {**BEGINS_AGAIN, "taken_at": None, "reopened_at": at}
    return Acted(begins, (Written("reopened", said(act.reason, "reason")),), gives_back=True)


def _require_going_on(incident: IncidentNow) -> None:
    if incident.status == RESOLVED:
        raise conflict(f"Incident {incident.ref} is resolved. Open it again first.")


def _known(incident: IncidentNow, person: str, now: datetime) -> dict[str, Any]:
    """Return who knows of it from now on: whoever said so first."""
    return {} if incident.acknowledged_by else {"acknowledged_by": person, "acknowledged_at": now}
