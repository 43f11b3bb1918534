"""What a session's evidence is made of: its request, what people said in it, and what its calls returned.

The evidence of a held session grows with its history and is only looked at when a call has to be decided, so that
steps which read cost nothing.
"""

from agentops.policy.evidence import Evidence, Origin
from agentops.policy.flow import done_key
from agentops.policy.leaves import leaves_of
from agentops.policy.plan import plan_of
from agentops.registry.flow import Trust
from agentops.registry.planner import ASK_PERSON, Observation, ObservationStatus, Subject
from agentops.registry.role import RoleSpec
from agentops.registry.tool import Tier, ToolSpec
from agentops.runtime.session import Approved


class Tracing:
    """The evidence of one session, the plan of its request, and the hard writes that were done."""

    def __init__(self, role: RoleSpec, subject: Subject) -> None:
        request = f"{subject.title}\n{subject.text}"
        self.evidence = Evidence(request)
        self.plan = plan_of(request, role.intents)
        self.always = plan_of("", role.intents)
        self.done: set[tuple[str, str]] = set()
        self._role = role
        self._seen = 0
        self._approved = 0

    def follow(self, history: list[Observation], approved: list[Approved]) -> None:
        """Take in what has happened since the last time."""
        for observation in history[self._seen :]:
            self._see(observation)
        self._seen = len(history)
        for call in approved[self._approved :]:
            tool = self._role.tool(call.tool)
            if tool is not None:
                self.evidence.approve(tool.flow, call.arguments)
        self._approved = len(approved)

    def _see(self, observation: Observation) -> None:
        if observation.tool == ASK_PERSON:
            if observation.status is ObservationStatus.OK:
                self.evidence.operator(str(observation.result.get("answer", "")), source=f"answer {observation.step}")
            return
        tool = self._role.tool(observation.tool)
        if tool is None or not isinstance(observation.arguments, dict):
            return
        if observation.status is ObservationStatus.FAILED and _quotes_others(tool):
            words = str(observation.result.get("message", ""))
            self.evidence.derived(words, origin=Origin.UNTRUSTED, source=f"step {observation.step} {tool.name}")
        if observation.is_edited:
            for change in observation.result.get("changed", ()):
                for _, value in leaves_of(change["now"]):
                    self.evidence.operator(str(value), source=f"edit {observation.step}")
        if observation.status not in (ObservationStatus.OK, ObservationStatus.UNKNOWN):
            return
        if tool.tier is Tier.WRITE_HARD:
            self.done.add(done_key(tool, observation.arguments))
        self.evidence.read(
            step=observation.step,
            tool=tool.name,
            flow=tool.flow,
            arguments=observation.arguments,
            result=observation.result,
            wrote=tool.is_write,
        )


def _quotes_others(tool: ToolSpec) -> bool:
    """Return whether the tool brings text by others, so that the words of its failures may be theirs too."""
    results = tool.flow.results
    return not results or any(field.trust in (Trust.THIRD, Trust.UNTRUSTED) for field in results.values())
