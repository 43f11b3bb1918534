"""What a role declares so that the fault drill (``agentops.chaos``) can work it and compare its books."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from agentops.kernel.crashpoints import CrashPoint
from agentops.registry.planner import Planner
from agentops.registry.process import ProcessSpec
from agentops.registry.tool import ToolSpec

Action = tuple[str, str]
"""What the system of record knows a piece of business as: what is done, and to what."""


class Verdict(StrEnum):
    """What the drill's person does about a call. ``ASKED``: asks the agent first, and approves after its answer."""

    APPROVED = "approved"
    REJECTED = "rejected"
    ASKED = "asked"
    EDITED = "edited"
    IGNORED = ""


@dataclass(frozen=True)
class Piece:
    """A piece of work. ``script`` names what is done about it; ``by_hand``: no intake takes it, a person begins it."""

    tenant_id: UUID
    ref: str
    script: str
    by_hand: bool


@dataclass(frozen=True)
class Effect:
    """An effect as the system of record's own log has it.

    ``key`` is the idempotency key that it was made with, empty for none. ``minor`` is the money that it moved, in minor
    units, None when the log does not say.
    """

    action: Action
    key: str
    minor: int | None = None


@dataclass(frozen=True)
class DrillSpec:
    """How a role is drilled.

    ``planner`` follows scripts, within the charts of ``processes``. ``way(tool, attempts)`` returns the tool on a way
    to the system of record that fails as scripts say; ``attempts(key)`` counts, over all workers, how often something
    was tried, from 1.
    ``scripts_for(point)`` names scripts whose sessions lead past a crash point.
    ``prepare(tenant_id)`` makes what all work of a tenant needs, ``feed(pieces)`` puts work before the role; both in
    the caller's transaction.
    ``verdict(tool, arguments)`` is what the person does about a call, ``edited(tool, arguments)`` what they make of it.
    ``action(tool, arguments, subject_id)`` names a call as ``effects()`` does, which returns every effect there is;
    ``made(action)`` is what a person sees who looks for one.
    ``faults(tenant_ids)`` returns, in words, where the books of the system of record do not agree with themselves.
    ``serving()`` runs the system of record for as long as the drill takes and gives its address, ``connect(address)``
    is called in every worker.
    """

    planner: Callable[[], Planner]
    processes: tuple[ProcessSpec, ...]
    way: Callable[[ToolSpec, Callable[[str], int]], ToolSpec]
    scripts_for: Callable[[CrashPoint], tuple[str, ...]]
    prepare: Callable[[UUID], None]
    feed: Callable[[Sequence[Piece]], None]
    verdict: Callable[[str, Mapping[str, Any]], Verdict]
    edited: Callable[[str, Mapping[str, Any]], dict[str, Any]]
    action: Callable[[str, Mapping[str, Any], str], Action]
    effects: Callable[[], Sequence[Effect]]
    made: Callable[[Action], bool]
    faults: Callable[[Sequence[UUID]], Sequence[str]]
    serving: Callable[[], AbstractContextManager[str]]
    connect: Callable[[str], None]
