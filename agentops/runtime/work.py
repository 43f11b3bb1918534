"""What one step of a held session needs, gathered once per claim."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from agentops.agents.models import AgentVersion
from agentops.agents.queries import Grants, grants_of
from agentops.kernel.clock import utcnow
from agentops.registry.planner import PlanContext, Planner, Subject, Turn
from agentops.registry.role import RoleSpec
from agentops.registry.tool import CallContext, ToolSpec
from agentops.runtime.answers import Closing
from agentops.runtime.guards import Limits
from agentops.runtime.session import Held


@dataclass(frozen=True)
class Work:
    """A held session with its role, its agent's version, its subject and its planner."""

    held: Held
    role: RoleSpec
    version: AgentVersion
    subject: Subject
    planner: Planner

    @property
    def limits(self) -> Limits:
        """The budget of the agent's version."""
        return Limits(self.version.max_steps, self.version.max_seconds, self.version.max_cost_micro)

    @property
    def actor(self) -> str:
        """How the agent is named in the ledger."""
        return f"agent:{self.version.agent.name} v{self.version.number}"

    def grants(self) -> Grants:
        """Return what the version may do at this moment."""
        return grants_of(self.version.pk)

    def active_planner(self) -> Planner:
        """Return the planner, or the closing one once the session is being stopped."""
        if not self.held.stop_code:
            return self.planner
        return Closing(self.held.stop_code, self.role.fallback(self.held.stop_code))

    def tools(self, grants: Grants) -> tuple[ToolSpec, ...]:
        """Return the granted tools, in the role's order."""
        return tuple(tool for tool in self.role.tools if tool.name in grants.tools)

    def plan_context(self, grants: Grants) -> PlanContext:
        """Return everything the planner may know."""
        return PlanContext(
            session_id=self.held.id,
            goal=self.role.job_description,
            instructions=self.version.instructions,
            subject=self.subject,
            tools=self.tools(grants),
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


@dataclass(frozen=True)
class Proposed:
    """A planner's turn with what it was shown: enough to record the step."""

    turn: Turn
    seen: dict[str, Any]
    began: float
    at: datetime
