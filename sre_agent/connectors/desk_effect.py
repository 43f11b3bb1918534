"""What a write on the incident desk or the embedded pager comes to, and the records it is computed from. Pure."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from agentops.registry.incoming import is_storable
from agentops.registry.tool import Preview, Result
from sre_agent.connectors.effect import conflict, invalid, missing
from sre_agent.connectors.records import OnCall

OPEN, MITIGATED, RESOLVED, ESCALATED = "open", "mitigated", "resolved", "escalated"
DRAFT, DISCARDED = "draft", "discarded"
MOST_TEXT = 2_000
AGENT = "agent"
"""Who writes a note for a call; the call's key says which session it was."""


@dataclass(frozen=True)
class IncidentNow:
    """An incident as it stands. ``by_agent``: an agent opened it. ``taken``: work on it began.

    ``acknowledged_by`` and ``held_by`` are people, empty when nobody did.
    """

    ref: str
    version: int
    title: str
    status: str
    service: str
    priority: int
    summary: str
    opened_at: datetime
    by_agent: bool
    taken: bool
    mitigated_at: datetime | None = None
    acknowledged_by: str = ""
    held_by: str = ""


@dataclass(frozen=True)
class AlertNow:
    """An alert of the session's incident as it stands."""

    ref: str
    version: int
    rule: str
    service: str
    fires: bool
    silenced_until: datetime | None = None

    def __str__(self) -> str:
        about = f" of {self.service}" if self.service else ""
        return f"{self.ref} ({self.rule}{about})"


@dataclass(frozen=True)
class UpdateNow:
    """A status update of the session's incident as it stands."""

    ref: str
    version: int
    state: str
    text: str


@dataclass(frozen=True)
class PageNow:
    """A call to a person about the session's incident."""

    ref: str
    version: int
    person: str
    paged_at: datetime
    acknowledged: bool
    withdrawn: bool


@dataclass(frozen=True)
class Desk:
    """The records that a write is about, as far as they exist.

    ``key`` is the operation's own, empty for a dry run. ``incident`` is the session's, ``other`` one that is named;
    ``firing`` are the session's alerts that fire; ``on_call`` who is on call now, by level and time.
    """

    now: datetime
    key: str = ""
    incident: IncidentNow | None = None
    other: IncidentNow | None = None
    alert: AlertNow | None = None
    update: UpdateNow | None = None
    page: PageNow | None = None
    firing: Sequence[AlertNow] = ()
    pages: Sequence[PageNow] = ()
    on_call: Sequence[OnCall] = ()

    def versions(self) -> dict[str, int]:
        """Return the versions of the records that the write is about, by kind and id."""
        kinds = {"alert": self.alert, "update": self.update, "page": self.page}
        found = {f"{kind}:{each.ref}": each.version for kind, each in kinds.items() if each is not None}
        incidents = [each for each in (self.incident, self.other) if each is not None]
        return found | {f"incident:{each.ref}": each.version for each in incidents}

    def new_ref(self, prefix: str) -> str:
        """Return the id of what the write makes: the same for the same key, empty in a dry run."""
        return f"{prefix}-{hashlib.sha256(self.key.encode()).hexdigest()[:10].upper()}" if self.key else ""

    def the_incident(self) -> IncidentNow:
        """Return the session's incident. Raises ToolFailure NOT_FOUND."""
        if self.incident is None:
            raise missing("incident", "incident_id")
        return self.incident

    def worked_on(self) -> IncidentNow:
        """Return the session's incident while it is an agent's to work on. Raises ToolFailure."""
        incident = self.the_incident()
        if incident.status == RESOLVED:
            raise conflict(f"Incident {incident.ref} is resolved. Open it again first.")
        if incident.status == ESCALATED:
            raise conflict(f"Incident {incident.ref} is with a person, who decides what happens next.")
        return incident


@dataclass(frozen=True)
class Written:
    """A note to be written about the session's incident, or about the other one that is opened or withdrawn."""

    kind: str
    text: str
    about_other: bool = False


@dataclass(frozen=True)
class DeskEffect:
    """What a write shows, returns and changes.

    ``incident``, ``other``, ``alert``, ``update`` and ``page`` are fields to set on those records of the snapshot, the
    ``new_`` ones fields of rows to make. ``gives_back``: the incident's claims end.
    """

    preview: Preview
    result: Result
    notes: tuple[Written, ...]
    incident: Mapping[str, Any] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)
    alert: Mapping[str, Any] = field(default_factory=dict)
    update: Mapping[str, Any] = field(default_factory=dict)
    page: Mapping[str, Any] = field(default_factory=dict)
    new_incident: Mapping[str, Any] | None = None
    new_update: Mapping[str, Any] | None = None
    new_page: Mapping[str, Any] | None = None
    gives_back: bool = False


def said(text: str, name: str, *, most: int = MOST_TEXT, least: int = 1) -> str:
    """Return a text without the space around it. Raises ToolFailure VALIDATION when it cannot be recorded."""
    trimmed = text.strip()
    if not is_storable(trimmed):
        raise invalid("The text holds characters that cannot be stored.", name)
    if not least <= len(trimmed) <= most:
        raise invalid(f"The text has {least} to {most} characters.", name)
    return trimmed


def clipped(text: str, most: int = MOST_TEXT) -> str:
    """Return as much of a text as a record holds, without what cannot be stored."""
    kept = "".join(character for character in text if is_storable(character)).strip()
    return kept if len(kept) <= most else f"{kept[: most - 1]}…"
