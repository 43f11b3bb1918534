"""The offline playbook: a planner without a model. It reads the incident and works it, one proposal a turn.

It keeps nothing between turns. What it proposes follows from the session's history alone: find the service where the
trouble began, read what tells of it, call a person where it is urgent, make one change, look whether it helped, take it
back where it did not, and resolve or hand over. A second trouble is worked when the first one is over, a third one by a
person.
"""

from agentops.registry.offline.explaining import explanation
from agentops.registry.offline.looking import CannotKnow, NotYetKnown
from agentops.registry.planner import OfflinePlaybook, PlanContext, Proposal, ToolCall
from sre_agent.playbook.closing import Report, handed_over
from sre_agent.playbook.desk import Desk
from sre_agent.playbook.following import follow
from sre_agent.playbook.moves import moves_of
from sre_agent.playbook.working import begin


class Playbook(OfflinePlaybook):
    """Implements ``agentops.registry.planner.Planner``."""

    def next_of(self, context: PlanContext) -> Proposal:
        """Return the next proposal."""
        desk = Desk(context.history, frozenset(tool.name for tool in context.tools))
        try:
            return _propose(desk)
        except NotYetKnown as needed:
            return _looked(desk, needed.call)

    def explained(self, context: PlanContext, call: ToolCall) -> str:
        """Return what is known about a call."""
        return explanation(context, call)


def _propose(desk: Desk) -> Proposal:
    report = Report()
    try:
        moves = moves_of(desk.history)
        return follow(desk, moves, report) if moves else begin(desk, report)
    except CannotKnow as problem:
        return handed_over(desk.history, desk.granted, report, f"Something could not be read: {problem}.")


def _looked(desk: Desk, call: ToolCall) -> Proposal:
    # Each says another thing than the one before: what says the same over and over goes in circles.
    step = len(desk.history) + 1
    return ToolCall(call.tool, call.arguments, f"{call.tool} has to be known first (step {step}).")
