"""What one step of a held session needs, gathered once per claim."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from agentops.agents.models import AgentVersion
from agentops.agents.queries import Grants
from agentops.gateway.breakers import Breakers
from agentops.gateway.prepare import Refusal
from agentops.kernel.clock import utcnow
from agentops.registry.planner import PlanContext, Planner, Subject
from agentops.registry.role import RoleSpec
from agentops.registry.tool import CallContext, ToolSpec
from agentops.runtime.brief import Brief, brief_of
from agentops.runtime.exposure import Exposure
from agentops.runtime.guards import Limits
from agentops.runtime.session import Held
from agentops.runtime.tracing import Tracing


@dataclass
class Work:
    """A held session with its role, its subject, its planner, and what decides about it."""

    held: Held
    role: RoleSpec
    subject: Subject
    planner: Planner
    _brief: Brief | None = field(default=None, repr=False)
    _tracing: Tracing | None = field(default=None, repr=False)
    benefits: dict[str, bool] = field(default_factory=dict, repr=False)
    """By actor, whether they or who stands behind the session is its customer (``runtime.benefit``)."""

    @property
    def brief(self) -> Brief:
        """What decides about the work at the session's present epoch."""
        if self._brief is None or self._brief.epoch != self.held.epoch:
            self._brief = brief_of(self.held)
            self.held.limits = self._brief.limits
        return self._brief

    @property
    def version(self) -> AgentVersion:
        """The agent's version, which the session keeps to its end."""
        return self.brief.version

    @property
    def limits(self) -> Limits:
        """The budget of the agent's version."""
        return self.brief.limits

    @property
    def grants(self) -> Grants:
        """What the version may do at this moment."""
        return self.brief.grants

    @cached_property
    def agent(self) -> str:
        """The agent as the ledger names it."""
        return f"agent:{self.version.agent.name} v{self.version.number}"

    @property
    def by_planner(self) -> bool:
        """True unless a person proposed the unfinished call, or proposes the next one."""
        return self.held.proposed is None and self.held.proposer in ("", self.agent)

    @property
    def actor(self) -> str:
        """Who proposes the next step, as the ledger names them: the agent, or the person who does it instead."""
        if self.held.proposed is not None:
            return self.held.proposed.actor
        return self.held.proposer or self.agent

    @property
    def tracing(self) -> Tracing:
        """What the session was told so far, and by whom."""
        if self._tracing is None:
            self._tracing = Tracing(self.role, self.subject)
        self._tracing.follow(self.held.history, self.held.approved)
        return self._tracing

    @property
    def breakers(self) -> Breakers:
        """The breakers of the tenant's tools."""
        return self.brief.breakers

    @cached_property
    def _exposure(self) -> Exposure:
        return Exposure(self.role.phases)

    @property
    def withheld(self) -> Mapping[str, Refusal]:
        """The tools that the session has to read something for first, each with how a call of it is refused."""
        return self._exposure.follow(self.held.history)

    def tools(self) -> tuple[ToolSpec, ...]:
        """Return the granted tools that are exposed by now, in the role's order."""
        granted, withheld = self.grants.tools, self.withheld
        return tuple([tool for tool in self.role.tools if tool.name in granted and tool.name not in withheld])

    def plan_context(self) -> PlanContext:
        """Return everything the planner may know."""
        return PlanContext(
            session_id=self.held.id,
            goal=self.role.job_description,
            instructions=self.version.instructions,
            subject=self.subject,
            tools=self.tools(),
            history=tuple(self.held.history),
            now=utcnow(),
        )

    def call_context(self, *, key: str = "", versions: dict[str, int] | None = None) -> CallContext:
        """Return on whose behalf a tool runs."""
        return CallContext(
            tenant_id=self.held.tenant_id,
            session_id=self.held.id,
            subject_id=self.held.subject_id,
            customer_id=self.held.customer_id or None,
            now=utcnow(),
            idempotency_key=key,
            expected_versions=versions or {},
        )
