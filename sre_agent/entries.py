"""What a timeline of an incident is made of, as values. Pure."""

from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Protocol

ALERT, PAGE, STATUS, CALL, VERIFIED = "alert", "page", "status", "call", "verified"
"""Kinds of entries besides those of notes."""


@dataclass(frozen=True)
class Entry:
    """One thing that happened. ``words`` and ``output`` may come from anybody.

    ``command`` is what was run, or the request that was made, as the dry run showed it; ``output`` what came back.
    ``url`` leads to the step of the session. ``became`` says how a call ended, ``undo`` which call takes it back.
    ``sound`` says of a verification whether what had to hold did.
    """

    at: datetime
    actor: str
    kind: str
    words: str
    command: str = ""
    output: str = ""
    url: str = ""
    approvers: tuple[str, ...] = ()
    became: str = ""
    undo: str = ""
    sound: bool = False

    @property
    def commands(self) -> tuple[str, ...]:
        """What was run, line by line."""
        return tuple(line for line in self.command.splitlines() if line.strip())


@dataclass(frozen=True)
class Figures:
    """What a post-mortem counts. ``zone`` is the tenant's; ``failed_requests`` None: nobody knows."""

    zone: tzinfo
    zone_name: str
    services: tuple[str, ...] = ()
    failed_requests: int | None = None
    base_url: str = ""


class Told(Protocol):
    """An incident, as ``models.Incident`` has it."""

    ref: str
    title: str
    status: str
    priority: int
    summary: str
    cause: str
    opened_at: datetime
    mitigated_at: datetime | None
    resolved_at: datetime | None
