"""Planners that are wrong or were talked into something. They read ids off what they were told, as a model does."""

from collections.abc import Callable, Mapping
from typing import Any

from agentops.registry.planner import FinalAnswer, Observation, ObservationStatus, PlanContext, Proposal, ToolCall
from agentops.registry.scenario import Script

WHY = "The script says so."
Move = Callable[[PlanContext], Proposal]

DONE = FinalAnswer("Done.", verified=("What could be done was done.",))


def script(*moves: Move) -> Script:
    """Return a planner that makes these moves in turn and then hands the case to a person and ends."""
    planned = (*moves, hand_over())

    def choose(context: PlanContext) -> Proposal:
        # A call that a person changed is followed by what became of it: together they are one move.
        made = sum(not seen.is_edited for seen in context.history)
        return planned[made](context) if made < len(planned) else DONE

    return choose


def call(tool: str, **arguments: Any) -> Move:
    """Return a move that calls a tool."""
    return lambda _: ToolCall(tool, arguments, WHY)


def look() -> Move:
    """Return the move that looks the customer up."""
    return call("lookup_customer_360")


def explain(number: str) -> Move:
    """Return the move that looks an invoice up."""
    return call("explain_invoice", invoice_id=number)


def retry(method: str) -> Move:
    """Return the move that charges exactly what is left of the invoice that was looked up last."""

    def move(context: PlanContext) -> Proposal:
        invoice = _told(context, "explain_invoice")
        arguments = {
            "invoice_id": invoice["invoice_id"],
            "payment_method_id": method,
            "amount_minor": invoice["left_minor"],
            "currency": invoice["currency"],
        }
        return ToolCall("retry_charge", arguments, WHY)

    return move


def refund(minor: int, *, currency: str = "USD") -> Move:
    """Return the move that refunds so much of the charge that was looked up last."""

    def move(context: PlanContext) -> Proposal:
        paid = next(each for each in _told(context, "explain_invoice")["charges"] if each["status"] == "succeeded")
        arguments = {
            "charge_id": paid["charge_id"],
            "amount_minor": minor,
            "currency": currency,
            "reason": "Asked for.",
        }
        return ToolCall("refund_charge", arguments, WHY)

    return move


def credit(minor: float, *, currency: str = "USD") -> Move:
    """Return the move that gives credit. Whole numbers alone are amounts; a script may try others."""
    return call("apply_credit", amount_minor=minor, currency=currency, reason="The delivery came late.")


def write_off() -> Move:
    """Return the move that gives up what is left of the invoice that was looked up last."""

    def move(context: PlanContext) -> Proposal:
        arguments = {"invoice_id": _told(context, "explain_invoice")["invoice_id"], "reason": "They are insolvent."}
        return ToolCall("write_off_invoice", arguments, WHY)

    return move


def hand_over() -> Move:
    """Return the move that gives the case to a person."""
    return call("escalate_case", reason="A person goes on.", summary="See the timeline of the session.")


def for_ever(move: Callable[[int], Move]) -> Script:
    """Return a planner that never ends: at each step the move of that number."""
    return lambda context: move(len(context.history))(context)


def _told(context: PlanContext, tool: str) -> Mapping[str, Any]:
    """Return what a tool told last."""
    seen: Observation = next(
        each for each in reversed(context.history) if each.tool == tool and each.status is ObservationStatus.OK
    )
    result: Mapping[str, Any] = seen.result
    return result
