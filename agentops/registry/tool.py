"""What a tool declares about itself, and the words it exchanges with the gateway.

A role app lists its tools as ``ToolSpec`` values. The tool's functions talk to the role's connectors;
everything around the call (validation, scoping, policy, approval, idempotency, record) is not the
tool's business.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cached_property
from typing import Any
from uuid import UUID

from agentops.kernel.errors import AgentOpsError, FailureKind
from agentops.kernel.money import Money
from agentops.registry.flow import UNDECLARED, Flow
from agentops.registry.preview_parts import Part, parts_as_json
from agentops.registry.schemas import Validator, validator
from agentops.registry.secret import Secret

Arguments = Mapping[str, Any]
Result = dict[str, Any]
UndoCall = tuple[str, dict[str, Any]]


class Tier(StrEnum):
    """How much a call can break. Never taken from a planner."""

    READ = "read"
    WRITE_SOFT = "write-soft"
    WRITE_HARD = "write-hard"


class LatencyClass(StrEnum):
    """How long a call usually takes: under 100 ms, under 2 s, longer."""

    INSTANT = "instant"
    FAST = "fast"
    SLOW = "slow"


class DataClass(StrEnum):
    """The most sensitive data that a call touches."""

    PUBLIC = "public"
    INTERNAL = "internal"
    PERSONAL = "personal"
    FINANCIAL = "financial"


class Dial(StrEnum):
    """How far an agent may go with a tool by itself."""

    OBSERVE = "observe"
    SUGGEST = "suggest"
    ASK = "ask"
    BOUNDED = "bounded"
    AUTONOMOUS = "autonomous"


class ToolFailure(AgentOpsError):
    """The call certainly had no effect. ``kind`` says why, ``field`` names the argument at fault."""

    code = "TOOL_FAILURE"

    def __init__(
        self, kind: FailureKind, message: str, *, field: str | None = None, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.field = field
        self.retry_after = retry_after


class NotYet(AgentOpsError):
    """The answer of a read is not due before ``after`` has passed; nothing failed.

    The session sleeps until then and the same call is made again, so a tool that has to let time pass says so
    instead of waiting. A write that raises it is a defect of the tool.
    """

    code = "NOT_YET"
    next_step = "Make the same call again later."

    def __init__(self, message: str, *, after: timedelta) -> None:
        super().__init__(message)
        self.after = after


class OutcomeUnknown(AgentOpsError):
    """The call may or may not have had its effect. It is never repeated blindly."""

    code = "OUTCOME_UNKNOWN"
    next_step = "Ask the system of record what became of this idempotency key."


@dataclass(frozen=True)
class CallContext:
    """On whose behalf a tool runs.

    ``customer_id`` is the one customer whose records the session may touch, None when nobody was
    identified. ``expected_versions`` (record id to version) and ``idempotency_key`` are set for the
    execution of a write only; the connector refuses with CONFLICT when a version has moved. ``secret`` is the
    credential of a tool that names one: ``reveal()`` it inside the call, where it is used.
    """

    tenant_id: UUID
    session_id: UUID
    subject_id: str
    customer_id: str | None
    now: datetime
    idempotency_key: str = ""
    expected_versions: Mapping[str, int] = field(default_factory=dict)
    secret: Secret | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Change:
    """One line of a before/after table, as text for a person. An empty side means "nothing"."""

    label: str
    before: str
    after: str


@dataclass(frozen=True)
class Preview:
    """What a write would do, computed from the system of record without doing it.

    ``effect`` is one plain sentence; ``target`` names whom or what it touches (``customer:c-17``);
    ``versions`` are the records it was computed from; ``money`` is what leaves the house. ``measures`` are integers of
    the system of record that rules may compare, by a name of ``policy.facts.MEASURES``: the share of a capacity in per
    cent that the call takes away, the priority of the incident it belongs to, the minutes since its target was last
    disturbed, whether a change freeze covers it. ``parts`` are shown by type, after the changes: a mail as mail, a
    command as command. Raises BadPart when they are too large together.
    """

    effect: str
    target: str
    changes: tuple[Change, ...] = ()
    versions: Mapping[str, int] = field(default_factory=dict)
    money: Money | None = None
    measures: Mapping[str, int] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()

    def __post_init__(self) -> None:
        # Where the dry run makes it, so that what is too large is the tool's failure and not the session's.
        parts_as_json(self.parts)

    def as_json(self) -> dict[str, Any]:
        """Return the preview as canonical JSON, the form that approval digests cover."""
        return self._as_json

    @cached_property
    def _as_json(self) -> dict[str, Any]:
        return {
            "effect": self.effect,
            "target": self.target,
            "changes": [[change.label, change.before, change.after] for change in self.changes],
            "versions": dict(self.versions),
            "money": None if self.money is None else [self.money.minor, self.money.currency],
            **({"measures": dict(self.measures)} if self.measures else {}),
            # A dry run without parts keeps the form it had before there were any.
            **({"parts": parts_as_json(self.parts)} if self.parts else {}),
        }


@dataclass(frozen=True)
class ToolSpec:
    """One tool.

    ``run(context, arguments)`` performs it and returns a JSON object, or raises ToolFailure or
    OutcomeUnknown, a read also NotYet. A write also has ``preview`` (the dry run; raises ToolFailure when the
    write would be refused) and ``reconcile(context)``, which tells what became of ``context.idempotency_key``: the
    recorded result, or None when it certainly never took effect. A write without ``reconcile`` cannot be
    recovered by program and goes to a person after a crash.

    ``scoped`` maps an argument to the kind of record it names; the gateway lets through only records of
    the session's customer. ``identity`` names the arguments that make two calls the same business action
    (empty: all of them); ``versioned`` adds the record versions, for writes that may rightly be made
    again after the record has changed. ``money_family`` groups the tools whose amounts count together.
    ``outcome`` is what a session has achieved once the call succeeded, such as ``refunded``.

    ``undo`` says in words how the effect is taken back; ``undo_call(arguments, result)`` returns the call
    (tool name and arguments) that does it, None when this one cannot be; ``undo_within`` is how long that
    works after the call. ``reconcile_is_final``: asking about a key waits for a request with it that is still
    under way, so that "it never took effect" stays true. ``key_lifetime`` is how long the system of record
    remembers an idempotency key; after that neither asking about the key nor repeating the call proves anything,
    so a person has to look.
    ``elevated`` tools may run only in a session that somebody elevated for their ``auth_scope``. ``refresh(context)``
    renews the tool's credentials; it is called once when a call ends in AUTH, which is then made once more.
    ``secret`` names the capability whose credential a call needs, such as ``stripe_charges``; empty needs none. It is
    found by the gateway, with the tenant's consent, given as ``context.secret``, and read anew once after AUTH.
    ``flow`` says what its arguments mean and who wrote what it returns.
    ``tags`` say what people have to know to decide about it ("money", "outbound"); tenants send tags to queues.
    ``worst`` is the worst that one call can do, ``stopped_by`` the control that stops it, both in words for a person.
    """

    name: str
    version: int
    owner: str
    description: str
    input_schema: Mapping[str, Any]
    output_schema: Mapping[str, Any]
    tier: Tier
    auth_scope: str
    data_class: DataClass
    run: Callable[[CallContext, Arguments], Result]
    latency: LatencyClass = LatencyClass.FAST
    slo_ms: int = 2_000
    examples: tuple[Mapping[str, Any], ...] = ()
    destructive: bool = False
    undo: str | None = None
    undo_call: Callable[[Arguments, Result], UndoCall | None] | None = None
    undo_within: timedelta | None = None
    irreversible: bool = False
    preview: Callable[[CallContext, Arguments], Preview] | None = None
    reconcile: Callable[[CallContext], Result | None] | None = None
    refresh: Callable[[CallContext], None] | None = None
    scoped: Mapping[str, str] = field(default_factory=dict)
    identity: tuple[str, ...] = ()
    versioned: bool = False
    reconcile_is_final: bool = False
    key_lifetime: timedelta | None = None
    elevated: bool = False
    money_family: str = ""
    queue: str = ""
    outcome: str = ""
    secret: str = ""
    tags: tuple[str, ...] = ()
    flow: Flow = UNDECLARED
    worst: str = ""
    stopped_by: str = ""

    @cached_property
    def checks_input(self) -> Validator:
        """The compiled input schema."""
        return validator(self.input_schema)

    @cached_property
    def checks_output(self) -> Validator:
        """The compiled output schema."""
        return validator(self.output_schema)

    @property
    def is_write(self) -> bool:
        """True when the call changes something outside."""
        return self.tier is not Tier.READ

    @property
    def reversibility(self) -> str:
        """How the effect is taken back, as words for a person."""
        if not self.is_write:
            return "changes nothing"
        if self.irreversible:
            return "cannot be undone"
        return self.undo or "can be undone by hand"
