"""The offline playbook: a planner without a model. It looks the customer up and hands the case to a person.

It does not read what is wanted and moves no money. It keeps nothing between turns: the same context gives the same
proposal.
"""

from agentops.kernel.money import Money
from agentops.registry.planner import (
    FinalAnswer,
    Observation,
    ObservationStatus,
    OfflinePlaybook,
    PlanContext,
    Proposal,
    ToolCall,
)

_LOOK, _HAND_OVER = "lookup_customer_360", "escalate_case"


class Playbook(OfflinePlaybook):
    """Implements ``agentops.registry.planner.Planner``."""

    def next_of(self, context: PlanContext) -> Proposal:
        """Return the next proposal."""
        return _propose(context)

    def explained(self, context: PlanContext, call: ToolCall) -> str:
        """Return why the call was proposed."""
        return call.rationale or "The playbook proposes this for every case."


def _propose(context: PlanContext) -> Proposal:
    granted = {tool.name for tool in context.tools}
    looked = next((seen for seen in context.history if seen.tool == _LOOK), None)
    if looked is None and context.subject.customer_id is not None and _LOOK in granted:
        return ToolCall(_LOOK, {}, "Whoever takes the case needs to know how the account stands.")
    if _HAND_OVER in granted and not any(seen.tool == _HAND_OVER for seen in context.history):
        summary = f"Wanted: see the case. {_found(context, looked)} Nothing was changed; everything is left to do."
        arguments = {"reason": "A person reads what is wanted in this case.", "summary": summary}
        return ToolCall(_HAND_OVER, arguments, "The playbook does not read what is wanted.")
    handed = any(seen.tool == _HAND_OVER and seen.status is ObservationStatus.OK for seen in context.history)
    if handed:
        return FinalAnswer(
            "The case was handed to a person.", verified=(_found(context, looked),), left=("What is wanted.",)
        )
    return FinalAnswer("The case could not be handed to a person.", blocked=("The hand-over.",), left=("All of it.",))


def _found(context: PlanContext, looked: Observation | None) -> str:
    """Return in a sentence or two how the account stands."""
    if context.subject.customer_id is None:
        return "Nobody is known under the sender's address."
    if looked is None or looked.status is not ObservationStatus.OK:
        return "The customer's account could not be looked up."
    account = looked.result
    currency = account["currency"]
    owed, credit = Money(account["owed_minor"], currency), Money(account["credit_minor"], currency)
    lists = ("subscriptions", "open_invoices", "disputes")
    counts = "; ".join(f"{name.replace('_', ' ')}: {len(account[name])}" for name in lists)
    return f"Found: {account['name']} owes {owed} and has {credit} of credit; {counts}."
