"""The offline playbook: a planner without a model. It reads the ticket and works it, one proposal a turn.

It keeps nothing between turns. What it proposes follows from the ticket and the session's history alone:
look up what is needed, propose the changes, hand over what is left, answer once, finish. Look-ups end after
``LOOKUPS_UNTIL`` steps and changes after ``CHANGES_UNTIL``, so that every session ends within twenty.
"""

from functools import lru_cache

from agentops.registry.offline.alarms import Alarm, read_message
from agentops.registry.offline.attempts import attempts, next_change
from agentops.registry.offline.ending import Work
from agentops.registry.offline.explaining import explanation
from agentops.registry.offline.looking import CannotKnow, NotYetKnown
from agentops.registry.offline.outcomes import Change, Handed, Outcome
from agentops.registry.planner import OfflinePlaybook, PlanContext, Proposal, ToolCall
from support_agent.playbook.closing import CLOSING_TOOLS, close
from support_agent.playbook.facts import Desk
from support_agent.playbook.outcomes import order_in
from support_agent.playbook.wishes import Wish, read_wishes
from support_agent.playbook.working import outcomes_of

CHANGES_UNTIL = 16
_NOBODY = "Nobody with this sender address is a customer, so nothing may be looked up or changed."


class Playbook(OfflinePlaybook):
    """Implements ``agentops.registry.planner.Planner``."""

    def next_of(self, context: PlanContext) -> Proposal:
        """Return the next proposal."""
        return _propose(context)

    def explained(self, context: PlanContext, call: ToolCall) -> str:
        """Return what is known about a call."""
        return explanation(context, call)


def _propose(context: PlanContext) -> Proposal:
    granted = frozenset(tool.name for tool in context.tools)
    desk = Desk(context.history, granted)
    try:
        outcomes = _outcomes(context, desk, granted)
    except NotYetKnown as needed:
        return ToolCall(needed.call.tool, needed.call.arguments, "This has to be known first.")
    tried = attempts(outcomes, context.history, order_in)
    others = tuple(outcome for outcome in outcomes if not isinstance(outcome, Change))
    change = next_change(tried, context.history, granted, until=CHANGES_UNTIL, closing=CLOSING_TOOLS)
    if change is not None:
        return change
    return close(context, desk, granted, Work(tried, others))


def _outcomes(context: PlanContext, desk: Desk, granted: frozenset[str]) -> tuple[Outcome, ...]:
    if context.subject.customer_id is None:
        return (Handed("your message", _NOBODY),)
    alarms, wishes = _read(context.subject.title, context.subject.text, granted)
    try:
        desk.person()
    except CannotKnow:
        return (Handed("your message", "The customer's record could not be looked up."),)
    return outcomes_of(wishes, alarms, desk)


@lru_cache(maxsize=256)
def _read(title: str, text: str, granted: frozenset[str]) -> tuple[tuple[Alarm, ...], tuple[Wish, ...]]:
    return read_message(title, text, granted, read_wishes)
