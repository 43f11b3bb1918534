"""What a role declares as scenarios: how things stand, what is asked, what people say, and what must come of it.

A scenario is worked by the real runtime, with the role's own planner, in a tenant of its own (``manage.py scenarios``).
What is expected follows from what the role is for, not from what its planner happens to do.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from agentops.kernel.errors import FailureKind
from agentops.registry.planner import PlanContext, Proposal

PEOPLE = ("ada", "ben", "cleo")
"""The people of every scenario, each of whom may decide about everything. Their mailboxes: ``mailbox``."""


def mailbox(person: str) -> str:
    """Return the address of one of the people."""
    return f"{person}@house.example"


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a person does about a call of ``tool`` that waits for them; each is used once, in their order.

    ``by`` is one of PEOPLE, "" for whoever may. ``meanwhile(tenant_id)`` happens before, while the call waits.
    ``after_s`` are the seconds that the person takes, in the scenario's world.
    """

    tool: str
    by: str = ""
    meanwhile: Callable[[UUID], None] | None = None
    after_s: int = 60


@dataclass(frozen=True, kw_only=True)
class Approves(Reply):
    """Approve it: so many different people, 0 for as many as it takes."""

    people: int = 0


@dataclass(frozen=True, kw_only=True)
class Rejects(Reply):
    """Reject it, for a reason."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Edits(Reply):
    """Propose it with other values for some arguments, for somebody else to decide."""

    changes: Mapping[str, Any]
    reason: str


@dataclass(frozen=True, kw_only=True)
class LetsExpire(Reply):
    """Nobody decides in time."""


@dataclass(frozen=True)
class Answers:
    """A person answers what the planner asked; with "" nobody does in time. ``after_s`` is as in Reply."""

    words: str
    after_s: int = 60


Said = Reply | Answers


@dataclass(frozen=True)
class Fails:
    """The next ``times`` calls of a tool fail without effect."""

    tool: str
    kind: FailureKind
    times: int = 1


@dataclass(frozen=True)
class LosesAnswer:
    """The answer to the next call of a write is lost. ``acts``: it took effect.

    ``tells``: the system of record can be asked afterwards what became of it; otherwise nobody knows.
    """

    tool: str
    acts: bool = True
    tells: bool = True


Disturbance = Fails | LosesAnswer


@dataclass(frozen=True)
class Made:
    """A write that took effect, with these arguments among others."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """A call that was put to people, with these arguments among others, who needed so many approvals.

    ``refused`` are the codes with which people were told that it is not theirs to decide.
    """

    tool: str
    people: int = 1
    arguments: Mapping[str, Any] = field(default_factory=dict)
    refused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Expected:
    """What must come of a scenario.

    ``outcome`` is what the last session achieved, in the runtime's words (``refunded``, ``changed``, ``answered``,
    ``escalated``, ``no action``); ``stopped`` is its incident code, "" when it came to its own end. ``made`` are all
    hard writes that took effect, and whichever soft ones matter; ``not_made`` are soft writes that must not. ``asked``
    is everything that people were asked to decide, in order; ``questions`` is how often the planner asked something.
    ``records`` are facts of the system of record afterwards, of which there may be others.
    """

    outcome: str
    stopped: str = ""
    made: tuple[Made, ...] = ()
    not_made: tuple[str, ...] = ()
    asked: tuple[Asked, ...] = ()
    questions: int = 0
    records: Mapping[str, Any] = field(default_factory=dict)


Script = Callable[[PlanContext], Proposal]
"""A planner of the scenario's own. The same context gives the same proposal."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """A request as it comes in, or with ``subject_id`` one that ``before`` made; ``script`` plans it, if given.

    ``subject_id`` may be a function of the tenant's id, where ids are not known before.

    ``by`` is which of PEOPLE typed it in and began it, "" for nobody who is a person here.

    Scripts are for planners that are wrong or were talked into something: they show that walls hold without a planner's
    help. Everything else is worked by the role's playbook, or by a model.
    """

    sender: str = ""
    title: str = ""
    text: str = ""
    subject_id: str | Callable[[UUID], str] = ""
    by: str = ""
    script: Script | None = None


@dataclass(frozen=True)
class Scenario:
    """One scenario; ``name`` is unique in its role.

    ``before(tenant_id)`` makes the system of record in an empty tenant. ``work`` is worked in its order, each to its
    end. ``records(tenant_id)`` returns facts of the system of record. ``rules`` is a rule set
    of the tenant's own, which is active in the place of the role's.

    ``passes(tenant_id, seconds)`` lets time go by in a system of record that moves by itself: as long as a session
    sleeps, and before a person replies. ``figures(tenant_id)`` returns whole numbers that are reported with the result
    and compared with nothing.
    """

    name: str
    title: str
    before: Callable[[UUID], None]
    work: tuple[Work, ...]
    expected: Expected
    replies: tuple[Said, ...] = ()
    disturbed: tuple[Disturbance, ...] = ()
    records: Callable[[UUID], Mapping[str, Any]] | None = None
    rules: Mapping[str, Any] | None = None
    passes: Callable[[UUID, int], None] | None = None
    figures: Callable[[UUID], Mapping[str, int]] | None = None

    @property
    def is_scripted(self) -> bool:
        """Whether some of its work has a planner of its own."""
        return any(work.script is not None for work in self.work)

    @property
    def tools(self) -> frozenset[str]:
        """The tools that it speaks of."""
        expected = self.expected
        spoken = [reply for reply in self.replies if isinstance(reply, Reply)]
        return frozenset(each.tool for each in (*spoken, *self.disturbed, *expected.made, *expected.asked)) | frozenset(
            expected.not_made
        )
