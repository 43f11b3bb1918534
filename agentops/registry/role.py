"""What a role app declares: a job description, tools, an autonomy setting, budgets and a success metric."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from agentops.kernel.errors import IncidentCode
from agentops.registry.drill import DrillSpec
from agentops.registry.flow import Intent
from agentops.registry.holder import SubjectHolder
from agentops.registry.phase import Phase
from agentops.registry.planner import Planner, Subject
from agentops.registry.process import ProcessSpec
from agentops.registry.reconcile import Reconciliation
from agentops.registry.scenario import Scenario
from agentops.registry.schedule import ScheduleSpec
from agentops.registry.screens import Screens
from agentops.registry.tool import Dial, ToolSpec
from agentops.registry.webhook import WebhookSource

Fallback = Callable[[str], tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class ThresholdDefault:
    """A limit as data, in the vocabulary of ``policy.rules``: ``fact`` is a path into the facts.

    ``value`` is an integer in the fact's unit (money: minor units of ``currency``), ``effect`` is ``ask``
    or ``forbid``, ``words`` says it to a person.
    """

    fact: str
    op: str
    value: int
    effect: str
    words: str
    currency: str = ""


@dataclass(frozen=True)
class GrantDefault:
    """A tool as a fresh agent of the role gets it."""

    tool: str
    dial: Dial
    thresholds: tuple[ThresholdDefault, ...] = ()


@dataclass(frozen=True)
class Budget:
    """The most that one session may take: steps, seconds of its own work, micro-dollars, tokens of model calls.

    ``max_identical``: how often the same call may give the same result before it counts as going in circles.
    """

    max_steps: int
    max_seconds: int
    max_cost_micro: int
    max_tokens: int = 400_000
    max_identical: int = 3


@dataclass(frozen=True)
class QueueDefault:
    """An approval queue that the role's tools name."""

    slug: str
    name: str
    description: str


Rule = Mapping[str, Any]
"""One rule of a rule set as data, in the form that an admin writes: see docs/design/policy.md."""


@dataclass(frozen=True)
class Intake:
    """A request typed in by staff: who asks, and what. All of it is text from outside."""

    sender: str
    title: str
    text: str


@dataclass(frozen=True)
class Disputed:
    """A call whose effect somebody outside contests, such as by a chargeback. ``key`` is its idempotency key."""

    tenant_id: UUID
    key: str
    at: datetime
    words: str


@dataclass(frozen=True)
class RoleSpec:
    """One role.

    ``load_subject(tenant_id, subject_id)`` returns the work, or None when the tenant has no such thing.
    ``open_subject(tenant_id, intake)`` records a new piece of work and returns its id.
    ``waiting_subjects(tenant_id, limit)`` lists work that nobody has begun, oldest first.
    ``take_subjects(tenant_id, limit)`` marks such work as begun, in the caller's transaction, and returns it;
    work that another transaction is taking is passed over.
    ``owner_of(tenant_id, kind, record_id)`` returns the customer a record belongs to, or None.
    ``fallback(reason)`` returns tool name and arguments of the soft write that hands a session which was
    stopped to a person.
    ``disputed(since, limit)`` returns calls whose effects were contested since a moment, the latest first.
    ``screens`` are pages of its own. ``reconcile(tenant_id, since, until)`` compares the calls of a period with its
    books and the vendor.
    ``webhooks`` are the senders that may tell it something, ``schedules`` what it has to do by the calendar.
    ``credentials`` are capabilities that work of the role needs outside the calls of its tools; tenants consent to them
    as to those of tools.
    ``intents`` are the words of a request that ask for what its tools can do; a call that no word asked for goes to a
    person.
    ``phases`` withhold tools from a session until it has read what they need.
    ``holder`` tells and erases what the role keeps about people, None when it keeps nothing.
    ``drill`` is how the fault drill works the role, None when it cannot.
    ``scenarios`` are worked by ``manage.py scenarios`` and say what must come of each.

    ``rules`` come into the rule set of a tenant that employs its first agent of the role: rules about the role's own
    tools and queues, which the tenant edits from then on. Their ids begin with the role's name.

    ``version`` grows when sessions begun under the code before must not go on under this one; ``continues``
    names the older versions whose sessions this code may go on with all the same.
    """

    name: str
    title: str
    job_description: str
    instructions: str
    success_metric: str
    subject_kind: str
    tools: tuple[ToolSpec, ...]
    grants: tuple[GrantDefault, ...]
    queues: tuple[QueueDefault, ...]
    budget: Budget
    playbook: Callable[[], Planner]
    load_subject: Callable[[UUID, str], Subject | None]
    open_subject: Callable[[UUID, Intake], str]
    waiting_subjects: Callable[[UUID, int], list[Subject]]
    take_subjects: Callable[[UUID, int], list[Subject]]
    owner_of: Callable[[UUID, str, str], str | None]
    fallback: Fallback
    processes: tuple[ProcessSpec, ...] = ()
    phases: tuple[Phase, ...] = ()
    intents: tuple[Intent, ...] = ()
    webhooks: tuple[WebhookSource, ...] = ()
    schedules: tuple[ScheduleSpec, ...] = ()
    credentials: tuple[str, ...] = ()
    disputed: Callable[[datetime, int], Sequence[Disputed]] | None = None
    rules: tuple[Rule, ...] = ()
    holder: SubjectHolder | None = None
    screens: Screens | None = None
    reconcile: Callable[[UUID, datetime, datetime], Reconciliation] | None = None
    drill: DrillSpec | None = None
    scenarios: tuple[Scenario, ...] = ()
    version: int = 1
    continues: frozenset[int] = frozenset()

    def tool(self, name: str) -> ToolSpec | None:
        """Return the tool of that name, or None."""
        return next((tool for tool in self.tools if tool.name == name), None)


def hands_over(tool: str, summary: str) -> Fallback:
    """Return the ``fallback`` that calls ``tool`` with the incident code in words as ``reason``, and with ``summary``.

    A reason that is no incident code is told as it is, in its first 300 characters.
    """

    def hand_over(reason: str) -> tuple[str, Mapping[str, Any]]:
        try:
            words = IncidentCode(reason).words
        except ValueError:
            words = reason
        return tool, {"reason": words[:300] or "The session was stopped.", "summary": summary}

    return hand_over
