"""Writes on incidents: what is known, opened, over, begun again, with a person. Pure.

What is with a person is theirs: nothing of it is changed but what takes a write back.
"""

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from agentops.registry.preview_parts import Part, TextChange
from agentops.registry.tool import Change, Preview, Result
from sre_agent.connectors.desk_effect import (
    ESCALATED,
    MITIGATED,
    OPEN,
    RESOLVED,
    AlertNow,
    Desk,
    DeskEffect,
    IncidentNow,
    Written,
    clipped,
    said,
)
from sre_agent.connectors.effect import conflict, invalid, missing
from sre_agent.connectors.port import (
    EscalateIncident,
    OpenIncident,
    ReopenIncident,
    ResolveIncident,
    UpdateIncident,
    WithdrawIncident,
)

LEAST_URGENT = 4
MOST_TITLE, MOST_NAME = 300, 64
BEGINS_AGAIN: Mapping[str, Any] = {
    "status": OPEN,
    "resolved_at": None,
    "mitigated_at": None,
    "cause": "",
    "acknowledged_at": None,
    "acknowledged_by": "",
    "held_by": "",
}
"""The fields of an incident that is worked on again."""
_NAMED = 5
"""So many alerts a refusal names."""


IncidentWrite = OpenIncident | WithdrawIncident | UpdateIncident | ResolveIncident | ReopenIncident | EscalateIncident


def planned(desk: Desk, write: IncidentWrite) -> DeskEffect:
    """Return what ``write`` comes to. Raises ToolFailure when it is refused."""
    match write:
        case OpenIncident():
            return plan_open(desk, write)
        case WithdrawIncident():
            return plan_withdraw(desk, write)
        case UpdateIncident():
            return plan_update(desk, write)
        case ResolveIncident():
            return plan_resolve(desk, write)
        case ReopenIncident():
            return plan_reopen(desk, write)
        case EscalateIncident():
            return plan_escalation(desk, write)
        case _:
            assert_never(write)


def plan_open(desk: Desk, write: OpenIncident) -> DeskEffect:
    """Plan another incident, which waits for somebody to take it. Raises ToolFailure."""
    incident = desk.worked_on()
    title = " ".join(said(write.title, "title", most=MOST_TITLE).split())
    summary = said(write.summary, "summary")
    service = said(write.service_ref, "service", most=MOST_NAME)
    priority = _priority(write.priority)
    ref = desk.new_ref("INC")
    made = {
        "ref": ref,
        "title": title,
        "text": summary,
        "service": service,
        "priority": priority,
        "source": "agent",
        "source_key": f"agent:{desk.key}",
        "opened_at": desk.now,
    }
    opened = f"Opened P{priority} for {incident.ref}: {title}"
    preview = _preview(
        incident,
        f"Open a P{priority} incident about {service}: {title}",
        Change("Service", "", service),
        Change("Priority", "", f"P{priority}"),
        parts=(TextChange("Summary", "", summary),),
    )
    notes = (
        Written("opened", clipped(opened), about_other=True),
        Written("changed", clipped(f"Opened {ref} about {service}: {title}")),
    )
    return DeskEffect(preview, {"incident_id": ref}, notes, new_incident=made)


def plan_withdraw(desk: Desk, write: WithdrawIncident) -> DeskEffect:
    """Plan the end of an incident that was a mistake. Raises ToolFailure."""
    mine, other = desk.the_incident(), desk.other
    if other is None:
        raise missing("incident", "incident_id")
    if not other.by_agent:
        raise conflict(f"Incident {other.ref} was not opened by an agent, so none withdraws it.", "incident_id")
    if other.status != OPEN or other.taken:
        raise conflict(f"Work on incident {other.ref} has begun, so it is no longer withdrawn.", "incident_id")
    preview = Preview(
        effect=f"Withdraw incident {other.ref}: {other.title}",
        target=f"incident:{other.ref}",
        changes=(Change("Status", other.status, RESOLVED),),
        versions={f"incident:{other.ref}": other.version},
        measures={"incident_priority": mine.priority},
    )
    ends = {"status": RESOLVED, "resolved_at": max(desk.now, other.opened_at), "cause": "It was opened by mistake."}
    note = Written("resolved", "Withdrawn: it was opened by mistake.", about_other=True)
    return DeskEffect(preview, {"incident_id": other.ref, "status": RESOLVED}, (note,), other=ends)


def plan_update(desk: Desk, write: UpdateIncident) -> DeskEffect:
    """Plan what is known of the incident. Raises ToolFailure, also when that would change nothing."""
    incident = desk.worked_on()
    before = {
        "summary": incident.summary,
        "priority": incident.priority,
        "mitigated": incident.status == MITIGATED,
    }
    wanted: dict[str, Any] = {
        "summary": None if write.summary is None else said(write.summary, "summary", least=0),
        "priority": None if write.priority is None else _priority(write.priority),
        "mitigated": write.mitigated,
    }
    changed = {name: value for name, value in wanted.items() if value is not None and value != before[name]}
    if not changed:
        raise conflict(f"Incident {incident.ref} says so already.")
    lines = tuple(_line(name, before[name], changed[name]) for name in ("priority", "mitigated") if name in changed)
    parts = (TextChange("Summary", incident.summary, changed["summary"]),) if "summary" in changed else ()
    effect = f"Change {', '.join(changed)} of incident {incident.ref}"
    result: Result = {"incident_id": incident.ref, "version": incident.version + 1, "before": before}
    notes = [Written("changed", f"{line.label}: {line.before} → {line.after}") for line in lines]
    if "summary" in changed:
        notes.append(Written("found", changed["summary"] or "The summary was taken back."))
    return DeskEffect(
        _preview(incident, effect, *lines, parts=parts), result, tuple(notes), incident=_fields(desk, changed)
    )


def plan_resolve(desk: Desk, write: ResolveIncident) -> DeskEffect:
    """Plan the end of the incident. Raises ToolFailure, also while an alert of it fires."""
    incident = desk.worked_on()
    cause, remedy = said(write.cause, "cause"), said(write.remedy, "remedy")
    require_quiet(incident, desk.firing)
    preview = _preview(
        incident,
        f"Resolve incident {incident.ref}: {incident.title}",
        Change("Status", incident.status, RESOLVED),
        parts=(TextChange("Cause", "", cause), TextChange("Remedy", "", remedy)),
    )
    ends = {"status": RESOLVED, "resolved_at": max(desk.now, incident.opened_at), "cause": cause}
    notes = (Written("found", cause), Written("resolved", remedy))
    return DeskEffect(preview, _status(incident, RESOLVED), notes, incident=ends, gives_back=True)


def require_quiet(incident: IncidentNow, firing: Sequence[AlertNow]) -> None:
    """Raise ToolFailure CONFLICT while an alert of the incident fires."""
    if firing:
        named = ", ".join(map(str, firing[:_NAMED]))
        more = len(firing) - _NAMED
        rest = f" and {more} more" if more > 0 else ""
        raise conflict(f"Incident {incident.ref} is not over: {named}{rest} still fires.")


def plan_reopen(desk: Desk, write: ReopenIncident) -> DeskEffect:
    """Plan that an incident is worked on again. Raises ToolFailure."""
    incident = desk.the_incident()
    if incident.status not in (RESOLVED, ESCALATED):
        raise conflict(f"Incident {incident.ref} is {incident.status} already.")
    if incident.held_by:
        raise conflict(f"Incident {incident.ref} was taken over by a person, who decides what happens next.")
    reason = said(write.reason, "reason")
    preview = _preview(
        incident,
        f"Open incident {incident.ref} again: {incident.title}",
        Change("Status", incident.status, OPEN),
        parts=(TextChange("Reason", "", reason),),
    )
    notes = (Written("reopened", reason),)
    return DeskEffect(preview, _status(incident, OPEN), notes, incident=BEGINS_AGAIN, gives_back=True)


def plan_escalation(desk: Desk, write: EscalateIncident) -> DeskEffect:
    """Plan the hand-over to a person, however much is said. Raises ToolFailure when nobody needs it."""
    incident = desk.worked_on()
    reason, summary = clipped(write.reason), clipped(write.summary)
    preview = _preview(
        incident,
        f"Hand incident {incident.ref} to a person: {incident.title}",
        Change("Status", incident.status, ESCALATED),
        parts=(TextChange("Reason", "", reason), TextChange("Summary", "", summary)),
    )
    found = (Written("found", summary),) if summary else ()
    notes = (*found, Written("escalated", reason or "A person is needed."))
    return DeskEffect(preview, _status(incident, ESCALATED), notes, incident={"status": ESCALATED}, gives_back=True)


def _fields(desk: Desk, changed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is set on the incident for what is to be changed of it."""
    fields = {name: value for name, value in changed.items() if name != "mitigated"}
    if "mitigated" in changed:
        begun = bool(changed["mitigated"])
        fields |= {"status": MITIGATED if begun else OPEN, "mitigated_at": desk.now if begun else None}
    return fields


def _line(name: str, before: Any, after: Any) -> Change:
    if name == "priority":
        return Change("Priority", f"P{before}", f"P{after}")
    return Change("Mitigated", *("yes" if each else "no" for each in (before, after)))


def _priority(priority: int) -> int:
    if not 0 <= priority <= LEAST_URGENT:
        raise invalid(f"A priority is 0, the most urgent, to {LEAST_URGENT}.", "priority")
    return priority


def _status(incident: IncidentNow, status: str) -> Result:
    return {"incident_id": incident.ref, "status": status}


def _preview(incident: IncidentNow, effect: str, *changes: Change, parts: tuple[Part, ...] = ()) -> Preview:
    return Preview(
        effect=effect,
        target=f"incident:{incident.ref}",
        changes=changes,
        versions={f"incident:{incident.ref}": incident.version},
        measures={"incident_priority": incident.priority},
        parts=parts,
    )
