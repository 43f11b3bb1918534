"""What PagerDuty says of people and incidents, and what is sent there. Pure."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sre_agent.connectors.hostile_text import visible
from sre_agent.connectors.records import OnCall
from sre_agent.connectors.vendor_schema import PagerDuty

Obj = Mapping[str, Any]
LEVELS = (1, 2, 3)
ALWAYS = timedelta(days=7)
"""So far ahead somebody is shown as on call whom no schedule ever relieves."""
MOST_PERSON, MOST_CONTACT, MOST_TITLE = 150, 320, 250
RESOLVED = "resolved"


def incident_key(tenant_id: UUID, page_ref: str) -> str:
    """Return the key of a page's incident at PagerDuty.

    A page's id comes from the idempotency key of its call. PagerDuty refuses a second open incident with the same key,
    and finds incidents by it, also those that are over: so nobody is called twice, and what became of it can be asked.
    """
    return f"agentops/{tenant_id}/{page_ref}"


def on_call_of(entries: Iterable[Obj], now: datetime) -> dict[str, OnCall]:
    """Return who is on call at levels 1 to 3, by the id of the user, by level; each person once, where called first."""
    found: dict[str, OnCall] = {}
    for entry in sorted(entries, key=_order):
        user, level = entry.get("user"), entry.get("escalation_level")
        ends = moment_of(entry.get("end")) or now + ALWAYS
        if level in LEVELS and isinstance(user, dict) and isinstance(user.get("id"), str) and ends > now:
            found.setdefault(user["id"], OnCall(person_of(user), contact_of(user), int(level), ends))
    return found


def _order(entry: Obj) -> tuple[str, str, str]:
    user = entry.get("user")
    return str(entry.get("escalation_level")), str(entry.get("start") or ""), str(user)


def person_of(user: Obj) -> str:
    """Return what a user is called."""
    return visible(str(user.get("name") or user.get("summary") or user.get("id")), MOST_PERSON)


def contact_of(user: Obj) -> str:
    """Return a user's address, empty when it is not told."""
    return visible(str(user.get("email") or ""), MOST_CONTACT)


def calling(config: PagerDuty, key: str, user_id: str, title: str, words: str) -> Obj:
    """Return the body that opens an incident for one user."""
    return {
        "incident": {
            "type": "incident",
            "title": title if len(title) <= MOST_TITLE else f"{title[: MOST_TITLE - 1]}…",
            "service": {"id": config.service, "type": "service_reference"},
            "urgency": "high",
            "incident_key": key,
            "body": {"type": "incident_body", "details": words},
            "assignments": [{"assignee": {"id": user_id, "type": "user_reference"}}],
        }
    }


def withdrawing(words: str) -> Obj:
    """Return the body that resolves an incident, with a note that says why."""
    return {"incident": {"type": "incident_reference", "status": RESOLVED, "resolution": words}}


def first_called(entries: Iterable[Obj]) -> str:
    """Return the id of the user whom the first assignment in an incident's log names, empty without one."""
    assigned = [each for each in entries if each.get("type") == "assign_log_entry"]
    for entry in sorted(assigned, key=lambda each: str(each.get("created_at"))):
        for user in entry.get("assignees") or ():
            if isinstance(user, dict) and isinstance(user.get("id"), str):
                return str(user["id"])
    return ""


def moment_of(told: object) -> datetime | None:
    """Return a moment with its zone, in UTC; None for anything else."""
    try:
        found = datetime.fromisoformat(told) if isinstance(told, str) else None
        return None if found is None or found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
