"""Writes on the alerts and status updates of an incident. Pure.

An agent drafts words for customers and throws drafts away; only people publish them.
"""

from datetime import datetime, timedelta
from typing import assert_never

from agentops.kernel.clock import isoformat
from agentops.registry.preview_parts import TextChange
from agentops.registry.tool import Change, Preview
from sre_agent.connectors.desk_effect import DISCARDED, DRAFT, AlertNow, Desk, DeskEffect, UpdateNow, Written, said
from sre_agent.connectors.effect import conflict, invalid, missing
from sre_agent.connectors.port import DiscardStatus, DraftStatus, Silence, Unsilence

SHORTEST, LONGEST = 5, 240
MOST_WORDS = 1_000


def planned(desk: Desk, write: Silence | Unsilence | DraftStatus | DiscardStatus) -> DeskEffect:
    """Return what ``write`` comes to. Raises ToolFailure when it is refused."""
    match write:
        case Silence():
            return plan_silence(desk, write)
        case Unsilence():
            return plan_unsilence(desk, write)
        case DraftStatus():
            return plan_draft(desk, write)
        case DiscardStatus():
            return plan_discard(desk, write)
        case _:
            assert_never(write)


def plan_silence(desk: Desk, write: Silence) -> DeskEffect:
    """Plan that nobody is called about an alert for a while. Raises ToolFailure."""
    desk.worked_on()
    alert = _alert(desk)
    if not SHORTEST <= write.minutes <= LONGEST:
        raise invalid(f"An alert is silenced for {SHORTEST} to {LONGEST} minutes.", "minutes")
    if not alert.fires:
        raise conflict(f"Alert {alert} does not fire any more.", "alert_id")
    until = desk.now + timedelta(minutes=write.minutes)
    preview = _of_alert(desk, alert, f"Silence alert {alert} for {write.minutes} minutes", _moment(until))
    note = Written("changed", f"Silenced {alert} until {_moment(until)}.")
    result = {"alert_id": alert.ref, "silenced_until": isoformat(until)}
    return DeskEffect(preview, result, (note,), alert={"silenced_until": until})


def plan_unsilence(desk: Desk, write: Unsilence) -> DeskEffect:
    """Plan that people are called about an alert again. Raises ToolFailure."""
    alert = _alert(desk)
    if alert.silenced_until is None or alert.silenced_until <= desk.now:
        raise conflict(f"Alert {alert} is not silenced.", "alert_id")
    preview = _of_alert(desk, alert, f"Call people about alert {alert} again", "")
    note = Written("changed", f"Ended the silence of {alert}.")
    return DeskEffect(preview, {"alert_id": alert.ref}, (note,), alert={"silenced_until": None})


def plan_draft(desk: Desk, write: DraftStatus) -> DeskEffect:
    """Plan a draft of words for customers, which people publish or not. Raises ToolFailure."""
    incident = desk.worked_on()
    text = said(write.text, "text", most=MOST_WORDS)
    ref = desk.new_ref("SU")
    preview = Preview(
        effect=f"Draft a status update about incident {incident.ref} for people to publish",
        target=f"incident:{incident.ref}",
        versions={f"incident:{incident.ref}": incident.version},
        measures={"incident_priority": incident.priority},
        parts=(TextChange("Status update", "", text),),
    )
    note = Written("changed", f"Drafted status update {ref}.")
    made = {"ref": ref, "text": text, "drafted_at": desk.now}
    return DeskEffect(preview, {"update_id": ref}, (note,), new_update=made)


def plan_discard(desk: Desk, write: DiscardStatus) -> DeskEffect:
    """Plan that a draft is thrown away. Raises ToolFailure."""
    incident, update = desk.the_incident(), desk.update
    if update is None:
        raise missing("status update", "update_id")
    require_draft(update)
    preview = Preview(
        effect=f"Throw away the draft {update.ref}",
        target=f"update:{update.ref}",
        changes=(Change("State", update.state, DISCARDED),),
        versions={f"update:{update.ref}": update.version},
        measures={"incident_priority": incident.priority},
        parts=(TextChange("Status update", update.text, ""),),
    )
    note = Written("changed", f"Threw away status update {update.ref}.")
    return DeskEffect(preview, {"update_id": update.ref}, (note,), update={"state": DISCARDED})


def require_draft(update: UpdateNow) -> None:
    """Raise ToolFailure CONFLICT unless nobody has published an update or thrown it away."""
    if update.state != DRAFT:
        raise conflict(f"Status update {update.ref} is {update.state} already.", "update_id")


def _alert(desk: Desk) -> AlertNow:
    desk.the_incident()
    if desk.alert is None:
        raise missing("alert", "alert_id")
    return desk.alert


def _of_alert(desk: Desk, alert: AlertNow, effect: str, after: str) -> Preview:
    silenced = alert.silenced_until is not None and alert.silenced_until > desk.now
    before = _moment(alert.silenced_until) if silenced and alert.silenced_until else ""
    return Preview(
        effect=effect,
        target=f"alert:{alert.ref}",
        changes=(Change("Silenced until", before, after),),
        versions={f"alert:{alert.ref}": alert.version},
        measures={"incident_priority": desk.the_incident().priority},
    )


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC"
