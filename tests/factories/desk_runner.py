"""Works a ticket or a case with a planner and a role's real tools, without the rest of the control plane."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from agentops.kernel.clock import utcnow
from agentops.kernel.ids import derived_id
from agentops.registry.planner import (
    FinalAnswer,
    Observation,
    ObservationStatus,
    PlanContext,
    Planner,
    Subject,
    ToolCall,
)
from agentops.registry.role import RoleSpec
from agentops.registry.schemas import validator, violations
from agentops.registry.tool import Arguments, CallContext, Tier, ToolFailure, ToolSpec
from support_agent.role import ROLE as SUPPORT

Verdict = Callable[[ToolSpec, Arguments], ObservationStatus]


def allow_all(tool: ToolSpec, arguments: Arguments) -> ObservationStatus:
    """Everything goes through."""
    return ObservationStatus.OK


def hard_writes_end_as(status: ObservationStatus) -> Verdict:
    """Reads and soft writes go through; hard writes end as ``status``."""
    return lambda tool, arguments: status if tool.tier is Tier.WRITE_HARD else ObservationStatus.OK


def reads_fail(tool: ToolSpec, arguments: Arguments) -> ObservationStatus:
    """Every look-up fails."""
    return ObservationStatus.FAILED if tool.tier is Tier.READ else ObservationStatus.OK


@dataclass(frozen=True)
class Worked:
    """A session at its end."""

    role: RoleSpec
    history: tuple[Observation, ...]
    answer: FinalAnswer

    def calls(self, *tools: str, status: ObservationStatus = ObservationStatus.OK) -> list[Arguments]:
        """Return the arguments of the calls of ``tools`` that ended as ``status``."""
        return [seen.arguments for seen in self.history if seen.tool in tools and seen.status is status]

    @property
    def hard_writes(self) -> list[str]:
        """The hard writes that took effect."""
        hard = {tool.name for tool in self.role.tools if tool.tier is Tier.WRITE_HARD}
        return [seen.tool for seen in self.history if seen.tool in hard and seen.status is ObservationStatus.OK]

    @property
    def reply(self) -> str:
        """The reply that was sent, empty when there was none."""
        return "".join(str(call["body"]) for call in self.calls("send_reply"))

    @property
    def proposals(self) -> int:
        """How many proposals the planner made, the final answer included."""
        return len(self.history) + 1


def work(
    tenant_id: UUID,
    subject: Subject,
    verdict: Verdict = allow_all,
    *,
    role: RoleSpec = SUPPORT,
    tools: tuple[ToolSpec, ...] | None = None,
    planner: Planner | None = None,
) -> Worked:
    """Work ``subject`` to the end. Fails when that takes more steps than the role has."""
    planner = planner or role.playbook()
    tools = role.tools if tools is None else tools
    history: list[Observation] = []
    session_id = derived_id("test", subject.id)
    for step in range(1, role.budget.max_steps + 2):
        context = PlanContext(session_id, "", "", subject, tools, tuple(history), utcnow())
        proposal = planner.propose(context).proposal
        assert planner.propose(context).proposal == proposal, "the same context gave another proposal"
        if isinstance(proposal, FinalAnswer):
            return Worked(role, tuple(history), proposal)
        assert isinstance(proposal, ToolCall)
        assert isinstance(proposal.arguments, dict)
        tool = next(tool for tool in tools if tool.name == proposal.tool)
        history.append(_perform(step, tool, proposal.arguments, tenant_id, subject, verdict, role))
    raise AssertionError(f"{subject.id} took too many steps: {[seen.tool for seen in history]}")


def _perform(
    step: int,
    tool: ToolSpec,
    arguments: Arguments,
    tenant_id: UUID,
    subject: Subject,
    verdict: Verdict,
    role: RoleSpec,
) -> Observation:
    assert violations(validator(tool.input_schema), arguments) == [], tool.name
    status = verdict(tool, arguments)
    if status is not ObservationStatus.OK:
        return Observation(step, tool.name, arguments, status, {"code": "TEST", "message": "words", "next_step": ""})
    context = CallContext(
        tenant_id=tenant_id,
        session_id=derived_id("test", subject.id),
        subject_id=subject.id,
        customer_id=subject.customer_id,
        now=utcnow(),
    )
    for argument, kind in tool.scoped.items():
        if argument in arguments and role.owner_of(tenant_id, kind, arguments[argument]) != (
            subject.customer_id or object()
        ):
            told = {"code": "NOT_FOUND", "message": "There is no such record for this customer.", "next_step": ""}
            return Observation(step, tool.name, arguments, ObservationStatus.REFUSED, told)
    try:
        return Observation(step, tool.name, arguments, ObservationStatus.OK, _run(tool, context, arguments, step))
    except ToolFailure as failure:
        told = {"code": failure.kind.value, "message": failure.message, "next_step": ""}
        return Observation(step, tool.name, arguments, ObservationStatus.REFUSED, told)


def _run(tool: ToolSpec, context: CallContext, arguments: Arguments, step: int) -> dict[str, object]:
    if tool.preview is None:
        result = tool.run(context, arguments)
    else:
        preview = tool.preview(context, arguments)
        write = CallContext(
            tenant_id=context.tenant_id,
            session_id=context.session_id,
            subject_id=context.subject_id,
            customer_id=context.customer_id,
            now=context.now,
            idempotency_key=f"{context.session_id}:{step}",
            expected_versions=preview.versions,
        )
        result = tool.run(write, arguments)
    assert violations(validator(tool.output_schema), result) == [], tool.name
    return result
