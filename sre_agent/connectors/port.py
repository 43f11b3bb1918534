"""What the SRE role asks of the systems around it, and the writes as values: a dry run and the write take the same one.

A port answers with records (``connectors.records``). It raises ToolFailure when something certainly had no effect,
OutcomeUnknown when nobody can say. ``outcome`` says what became of the context's idempotency key: the recorded result,
None when it certainly took no effect; it raises OutcomeUnknown when the other side cannot tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from uuid import UUID

from agentops.registry.tool import CallContext, Preview, Result
from sre_agent.connectors.records import LogLine, Node, OnCall, Point, Release, Service, Verified


@dataclass(frozen=True)
class Restart:
    """Start every replica of a service anew, a few at a time."""

    service_ref: str


@dataclass(frozen=True)
class HaltRestart:
    """Leave the replicas that a restart has not reached yet as they are."""

    service_ref: str


@dataclass(frozen=True)
class Scale:
    """Run another number of replicas, one at least."""

    service_ref: str
    replicas: int


@dataclass(frozen=True)
class Stop:
    """Run no replica of a service any more."""

    service_ref: str


@dataclass(frozen=True)
class DeleteReplica:
    """Delete one replica, with whatever it alone knew. Another one is started in its place."""

    service_ref: str
    replica: str


@dataclass(frozen=True)
class RollBack:
    """Deploy a release once more that was deployed before."""

    service_ref: str
    version: str


@dataclass(frozen=True)
class Drain:
    """Place nothing more on a node, and move what runs there to others."""

    node_ref: str


@dataclass(frozen=True)
class Uncordon:
    """Use a node again."""

    node_ref: str


@dataclass(frozen=True)
class RunBook:
    """Run an allow-listed procedure on a service."""

    service_ref: str
    book: str


ServiceWrite = Restart | HaltRestart | Scale | Stop | DeleteReplica | RollBack | RunBook
NodeWrite = Drain | Uncordon
PlatformWrite = ServiceWrite | NodeWrite


class Platform(Protocol):
    """Where services run."""

    def services(self, context: CallContext) -> Sequence[Service]:
        """Return every service as it is now, by tier and name."""

    def nodes(self, context: CallContext) -> Sequence[Node]:
        """Return every node as it is now, by name."""

    def deploys(self, context: CallContext, service_ref: str, since: datetime) -> Sequence[Release]:
        """Return what was deployed of a service since a moment, the latest first. Raises ToolFailure NOT_FOUND."""

    def preview(self, context: CallContext, write: PlatformWrite) -> Preview:
        """Return what ``write`` would do, doing nothing. Raises ToolFailure when it would be refused."""

    def write(self, context: CallContext, write: PlatformWrite) -> Result:
        """Carry ``write`` out once for the context's key. Raises ToolFailure or OutcomeUnknown."""

    def outcome(self, context: CallContext) -> Result | None:
        """Return what became of the context's key."""

    def verified(self, context: CallContext, target: str) -> Verified:
        """Return whether the gate of the latest write on ``target`` holds.

        ``target`` is ``service:NAME`` or ``node:NAME``. Raises ToolFailure NOT_FOUND without such a write, and NotYet
        before the time of its gate.
        """


class Observatory(Protocol):
    """Where logs and metrics are kept. Both raise ToolFailure NOT_FOUND for a service that is not known."""

    def logs(
        self, context: CallContext, service_ref: str, since: datetime, *, containing: str, limit: int
    ) -> Sequence[LogLine]:
        """Return the latest lines of a service since a moment that contain a text, the latest first."""

    def metrics(self, context: CallContext, service_ref: str, since: datetime, *, points: int) -> Sequence[Point]:
        """Return how a service did since a moment, in at most ``points`` equal pieces, the earliest first."""


@dataclass(frozen=True)
class PagePerson:
    """Call whoever is on call at ``level`` about the session's incident."""

    level: int
    words: str


@dataclass(frozen=True)
class WithdrawPage:
    """Tell whoever was called that it is no longer needed."""

    page_ref: str


PagerWrite = PagePerson | WithdrawPage


class Pager(Protocol):
    """Who is called, and by what."""

    def on_call(self, context: CallContext) -> Sequence[OnCall]:
        """Return who is on call now, by level."""

    def preview(self, context: CallContext, write: PagerWrite) -> Preview:
        """Return what ``write`` would do."""

    def write(self, context: CallContext, write: PagerWrite) -> Result:
        """Carry it out once for the context's key."""

    def outcome(self, context: CallContext) -> Result | None:
        """Return what became of the context's key."""


@dataclass(frozen=True)
class Silence:
    """Let nobody be called about an alert for a while; it goes on firing."""

    alert_ref: str
    minutes: int


@dataclass(frozen=True)
class Unsilence:
    """Call people about an alert again."""

    alert_ref: str


@dataclass(frozen=True)
class OpenIncident:
    """Open another incident, about something that the session's own is not."""

    service_ref: str
    title: str
    summary: str
    priority: int


@dataclass(frozen=True)
class WithdrawIncident:
    """Resolve an incident that an agent opened and nobody has begun, as a mistake."""

    incident_ref: str


@dataclass(frozen=True)
class UpdateIncident:
    """Write down what is known of the session's incident; None leaves as it is. ``mitigated`` starts or ends that."""

    summary: str | None = None
    priority: int | None = None
    mitigated: bool | None = None


@dataclass(frozen=True)
class ResolveIncident:
    """End the session's incident. No alert of it may fire."""

    cause: str
    remedy: str


@dataclass(frozen=True)
class ReopenIncident:
    """Work on the session's incident again."""

    reason: str


@dataclass(frozen=True)
class EscalateIncident:
    """Give the session's incident to a person."""

    reason: str
    summary: str


@dataclass(frozen=True)
class DraftStatus:
    """Draft words for customers about the session's incident, for people to publish."""

    text: str


@dataclass(frozen=True)
class DiscardStatus:
    """Throw a draft away."""

    update_ref: str


DeskWrite = (
    Silence
    | Unsilence
    | OpenIncident
    | WithdrawIncident
    | UpdateIncident
    | ResolveIncident
    | ReopenIncident
    | EscalateIncident
    | DraftStatus
    | DiscardStatus
)


class Desk(Protocol):
    """Where incidents, alerts and status updates are kept."""

    def preview(self, context: CallContext, write: DeskWrite) -> Preview:
        """Return what ``write`` would do."""

    def write(self, context: CallContext, write: DeskWrite) -> Result:
        """Carry it out once for the context's key."""

    def outcome(self, context: CallContext) -> Result | None:
        """Return what became of the context's key."""


class Board(Protocol):
    """Where status updates are published and people are told. Called by people's pages, never by an agent."""

    def publish(self, tenant_id: UUID, update_ref: str, words: str, thread: str) -> str:
        """Post words once for ``update_ref``, into the thread of an incident if there is one, and return the thread."""
