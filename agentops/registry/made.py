"""What a role may ask the control plane about calls that were made, and have it put on record. Pure.

So a role needs to know neither sessions, approvals nor the ledger; ``call_record`` says who answers.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from agentops.kernel.canonical import JSON
from agentops.kernel.money import Money

MOST_TOLD = 500
"""Calls of one piece of work that are told of."""


class Stand(StrEnum):
    """What is known of a call that was begun: it runs, it took effect, or nobody knows."""

    UNDER_WAY = "under way"
    DONE = "done"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class MadeCall:
    """A write that was begun and did not fail.

    ``money`` is what its dry run said that moves, None for a call that moves none. ``position`` is its step in the
    session. What was done and then taken back by another call is done.
    """

    key: str
    tool: str
    stand: Stand
    money: Money | None
    at: datetime
    session_id: UUID
    position: int


@dataclass(frozen=True)
class Approval:
    """The request by which people allowed a call; ``code`` is its short name."""

    request_id: UUID
    code: str


class Became(StrEnum):
    """What became of a call that was proposed."""

    WAITS = "waits"
    REFUSED = "refused"
    UNDER_WAY = "under way"
    DONE = "done"
    FAILED = "failed"
    UNKNOWN = "unknown"
    UNDONE = "undone"


@dataclass(frozen=True)
class ToldCall:
    """A call of a piece of work: a write, a look-up, or what was refused. ``key`` is empty where the call holds none.

    ``preview`` is its dry run as JSON, empty when it never came to one. ``result`` is what the tool answered, or why
    it did not: ``code``, ``message``, ``next_step``; empty while nobody knows. ``actor`` and ``approvers`` are named as
    in the ledger. ``at`` is when it was proposed, ``made_at`` when it was made, None when it never was. ``position`` is
    its step in the session. ``undo`` is the call that takes it back, as ``tool`` and ``arguments``, None without one.
    """

    key: str
    tool: str
    became: Became
    arguments: Mapping[str, JSON]
    preview: Mapping[str, JSON]
    result: Mapping[str, JSON]
    actor: str
    approvers: tuple[str, ...]
    at: datetime
    made_at: datetime | None
    session_id: UUID
    position: int
    undo: Mapping[str, JSON] | None = None


@dataclass(frozen=True)
class OpenSession:
    """The session that works on a piece of work and has not ended. ``taken_by``: the person who does its steps."""

    session_id: UUID
    code: str
    taken_by: str


@dataclass(frozen=True)
class PersonAct:
    """What a person did with a piece of work of a role, or tried: ``refused`` says why it was not done.

    ``what`` is the act's name and ``subject_id`` the work. ``facts`` stay for good; ``words`` are what the person
    wrote, which can be erased.
    """

    role: str
    what: str
    subject_id: str
    actor: str
    facts: Mapping[str, JSON]
    words: Mapping[str, JSON]
    refused: str = ""


class CallRecord(Protocol):
    """The control plane's record of calls. Whatever belongs to another tenant does not exist."""

    def made(self, tenant_id: UUID, role: str, since: datetime, until: datetime) -> Sequence[MadeCall]:
        """Return the calls of a role that were begun from ``since`` up to, not including, ``until``."""

    def by_key(self, tenant_id: UUID, keys: Collection[str]) -> Mapping[str, MadeCall]:
        """Return the calls with these idempotency keys; a key that no call holds is left out."""

    def approvals(self, tenant_id: UUID, keys: Collection[str]) -> Mapping[str, Approval]:
        """Return the requests that were approved for the calls with these keys; most calls need none."""

    def of_subject(
        self, tenant_id: UUID, role: str, subject_id: str, *, reads: Collection[str] = ()
    ) -> Sequence[ToldCall]:
        """Return the writes of a role's sessions about a piece of work, and what was refused, the earliest first.

        ``reads`` are tools whose look-ups are told as well. Where there are more than MOST_TOLD calls, those are the
        latest.
        """

    def note_export(self, tenant_id: UUID, *, role: str, actor: str, facts: Mapping[str, JSON]) -> None:
        """Record that somebody takes a copy of records out. What cannot be recorded must not be handed out."""

    def note_act(self, tenant_id: UUID, act: PersonAct) -> None:
        """Record what a person did, in the transaction that makes the change, or that it was refused."""

    def open_session(self, tenant_id: UUID, role: str, subject_id: str) -> OpenSession | None:
        """Return the session that works on a piece of work at this moment, None when there is none."""
