"""Hard writes to what a customer has subscribed to: another plan, pauses, and its end."""

from datetime import date
from functools import partial

from agentops.kernel.errors import FailureKind
from agentops.registry.declare import OUT_CURRENCY, OUT_REF, Schema, choice, closed, integer, text, undone_by
from agentops.registry.tool import Arguments, DataClass, Result, Tier, ToolFailure, ToolSpec, UndoCall
from billing_agent.connectors.checks import MOST_QUANTITY
from billing_agent.connectors.port import (
    CancelSubscription,
    ChangePlan,
    DropPlanChange,
    KeepSubscription,
    PauseSubscription,
    ResumeSubscription,
)
from billing_agent.tools import flows
from billing_agent.tools.parts import (
    OUT_STATUS,
    OWNER,
    PLAN_ID,
    SUBSCRIPTION,
    SUBSCRIPTION_ID,
    previews,
    reconcile,
    runs,
)

NOW, NEXT_PERIOD = "now", "next_period"

_REASON = text(300, "Why, in the customer's words as far as they said.")
_SAME = {"subscription_id": "subscription_id"}
_BASE: dict[str, Schema] = {"subscription_id": OUT_REF, "status": OUT_STATUS, "former_status": OUT_STATUS}

_write = partial(
    ToolSpec,
    owner=OWNER,
    tier=Tier.WRITE_HARD,
    auth_scope="billing:subscriptions:write",
    data_class=DataClass.FINANCIAL,
    reconcile=reconcile,
    reconcile_is_final=True,
    scoped=SUBSCRIPTION,
    queue="billing-subscriptions",
    tags=("subscriptions",),
    outcome="changed",
)


def _change(arguments: Arguments) -> ChangePlan:
    return ChangePlan(
        arguments["subscription_id"], arguments["plan_id"], arguments["quantity"], arguments["when"] == NOW
    )


def _pause(arguments: Arguments) -> PauseSubscription:
    until = arguments.get("until")
    try:
        return PauseSubscription(arguments["subscription_id"], date.fromisoformat(until) if until else None)
    except ValueError as error:
        raise ToolFailure(FailureKind.VALIDATION, f"{until} is no day of the calendar.", field="until") from error


def _cancel(arguments: Arguments) -> CancelSubscription:
    return CancelSubscription(arguments["subscription_id"], now=False, reason=arguments["reason"])


def _end_now(arguments: Arguments) -> CancelSubscription:
    return CancelSubscription(arguments["subscription_id"], now=True, reason=arguments["reason"])


def _drop(arguments: Arguments) -> DropPlanChange:
    return DropPlanChange(arguments["subscription_id"])


def _resume(arguments: Arguments) -> ResumeSubscription:
    return ResumeSubscription(arguments["subscription_id"])


def _keep(arguments: Arguments) -> KeepSubscription:
    return KeepSubscription(arguments["subscription_id"])


def _change_undone(arguments: Arguments, result: Result) -> UndoCall | None:
    """A change that is to come is dropped; one that has come is changed back, and the time used is billed."""
    if arguments["when"] == NEXT_PERIOD:
        return "drop_plan_change", {"subscription_id": arguments["subscription_id"]}
    if not result.get("former_plan_id") or not result.get("former_quantity"):
        return None
    return "change_plan", {
        "subscription_id": arguments["subscription_id"],
        "plan_id": result["former_plan_id"],
        "quantity": result["former_quantity"],
        "when": NOW,
    }


def _drop_undone(arguments: Arguments, result: Result) -> UndoCall | None:
    return "change_plan", {
        "subscription_id": arguments["subscription_id"],
        "plan_id": result["former_next_plan_id"],
        "quantity": result["quantity"],
        "when": NEXT_PERIOD,
    }


CHANGE_PLAN = ToolSpec(
    name="change_plan",
    version=1,
    owner=OWNER,
    description=(
        "Sells this customer another plan, or another quantity of it, in the place of what a subscription has. when"
        " is now, with the unused time credited and the rest of the period billed by the second, or next_period, when"
        " no money moves now and the quantity stays. Only plans of list_plans; not for a subscription that is paused"
        " or that ends with its period. Name the quantity also when it stays as it is."
    ),
    input_schema=closed(
        {
            "subscription_id": SUBSCRIPTION_ID,
            "plan_id": PLAN_ID,
            "quantity": integer("How many of it afterwards.", least=1, most=MOST_QUANTITY),
            "when": choice(NOW, NEXT_PERIOD, words="Whether it changes now or when the period ends."),
        }
    ),
    output_schema=closed(
        {
            **_BASE,
            "plan_id": OUT_REF,
            "quantity": integer(least=1),
            "former_plan_id": OUT_REF,
            "former_quantity": integer(least=1),
            "period_end": text(40),
            "invoice_id": text(64, "The invoice of the difference, empty when there is none.", least=0),
            "invoiced_minor": integer(),
            "left_minor": integer("What is owed of that invoice."),
            "credit_id": text(64, "The credit for the difference, empty when there is none.", least=0),
            "credited_minor": integer(),
            "currency": OUT_CURRENCY,
            "next_plan_id": OUT_REF,
            "changes_at": text(40),
        },
        optional=(
            *("quantity", "former_plan_id", "former_quantity", "period_end", "invoice_id", "invoiced_minor"),
            *("left_minor", "credit_id", "credited_minor", "currency", "next_plan_id", "changes_at"),
        ),
    ),
    tier=Tier.WRITE_HARD,
    auth_scope="billing:subscriptions:write",
    data_class=DataClass.FINANCIAL,
    flow=flows.CHANGE_PLAN,
    run=runs(_change),
    examples=(
        {"subscription_id": "sub_5c10", "plan_id": "team-monthly", "quantity": 3, "when": NOW},
        {"subscription_id": "sub_5c10", "plan_id": "solo-monthly", "quantity": 1, "when": NEXT_PERIOD},
    ),
    undo="a change that is to come is dropped; one that has come is changed back, and the time used is billed",
    undo_call=_change_undone,
    preview=previews(_change),
    reconcile=reconcile,
    reconcile_is_final=True,
    scoped=SUBSCRIPTION,
    versioned=True,
    money_family="billed",
    queue="billing-subscriptions",
    tags=("subscriptions", "money"),
    outcome="changed",
    worst="sells a customer a dearer plan that they do not want, and invoices the difference",
    stopped_by=(
        "more than $50 for one customer in one day asks, other currencies ask; the account and the plans must have been"
        " looked up; nothing is charged by it; it can be changed back"
    ),
)

DROP_PLAN_CHANGE = _write(
    name="drop_plan_change",
    version=1,
    description=(
        "Keeps the plan of a subscription: takes back a change that was to come with the next period. One that has come"
        " is changed back by change_plan."
    ),
    input_schema=closed({"subscription_id": SUBSCRIPTION_ID}),
    output_schema=closed({**_BASE, "plan_id": OUT_REF, "quantity": integer(least=1), "former_next_plan_id": OUT_REF}),
    flow=flows.DROP_PLAN_CHANGE,
    run=runs(_drop),
    examples=({"subscription_id": "sub_5c10"},),
    undo="the same change can be made for the next period again",
    undo_call=_drop_undone,
    preview=previews(_drop),
    versioned=True,
    worst="keeps a customer on a plan that they left",
    stopped_by="asks; the customer's own subscriptions only; the change can be made again",
)

PAUSE_SUBSCRIPTION = _write(
    name="pause_subscription",
    version=1,
    description=(
        "Pauses an active subscription of this customer: nothing is billed until the day that is named, or until"
        " somebody resumes it when none is. The preview says when its period then ends."
    ),
    input_schema=closed(
        {
            "subscription_id": SUBSCRIPTION_ID,
            "until": {
                "type": "string",
                "minLength": 10,
                "maxLength": 10,
                "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
                "description": "The day on which it goes on by itself, such as 2027-01-15. It lies after today.",
            },
        },
        optional=("until",),
    ),
    output_schema=closed({**_BASE, "resumes_at": text(40, "Empty when somebody has to resume it.", least=0)}),
    flow=flows.PAUSE_SUBSCRIPTION,
    run=runs(_pause),
    examples=({"subscription_id": "sub_5c10", "until": "2027-01-15"}, {"subscription_id": "sub_5c10"}),
    undo="can be resumed",
    undo_call=undone_by("resume_subscription", _SAME),
    preview=previews(_pause),
    versioned=True,
    worst="stops a service that is in use, and its income",
    stopped_by="asks; active subscriptions of the customer only; it can be resumed at any time",
)

RESUME_SUBSCRIPTION = _write(
    name="resume_subscription",
    version=1,
    description=(
        "Goes on with a paused subscription of this customer: it is billed again. The result says when its period ends."
    ),
    input_schema=closed({"subscription_id": SUBSCRIPTION_ID}),
    output_schema=closed({**_BASE, "period_end": text(40)}),
    flow=flows.RESUME_SUBSCRIPTION,
    run=runs(_resume),
    examples=({"subscription_id": "sub_5c10"},),
    undo="can be paused again",
    undo_call=undone_by("pause_subscription", _SAME),
    preview=previews(_resume),
    versioned=True,
    worst="bills a customer who wanted a pause",
    stopped_by="asks; paused subscriptions of the customer only; it can be paused again",
)

CANCEL_SUBSCRIPTION = _write(
    name="cancel_subscription",
    version=1,
    description=(
        "Ends a subscription of this customer with the period that is paid; until then it works as before, and the end"
        " can be taken back by keep_subscription. Use this for a customer who cancels. Nothing is given back by it."
    ),
    input_schema=closed({"subscription_id": SUBSCRIPTION_ID, "reason": _REASON}),
    output_schema=closed({**_BASE, "cancel_at": text(40, "When it ends, in UTC.")}),
    flow=flows.CANCEL_SUBSCRIPTION,
    run=runs(_cancel),
    examples=({"subscription_id": "sub_5c10", "reason": "They move to another product."},),
    undo="can be taken back until the period ends",
    undo_call=undone_by("keep_subscription", _SAME),
    preview=previews(_cancel),
    versioned=True,
    worst="ends a subscription that is wanted",
    stopped_by="asks; it ends with its period, and until then it can be taken back",
)

END_SUBSCRIPTION_NOW = _write(
    name="end_subscription_now",
    version=1,
    description=(
        "Ends a subscription of this customer at once and for good. Nothing is given back by it, and it cannot be taken"
        " back, so a person decides each time. Only when the customer says that it must end today; otherwise use"
        " cancel_subscription."
    ),
    input_schema=closed({"subscription_id": SUBSCRIPTION_ID, "reason": _REASON}),
    output_schema=closed(_BASE),
    flow=flows.END_SUBSCRIPTION_NOW,
    run=runs(_end_now),
    examples=({"subscription_id": "sub_5c10", "reason": "The company closes today."},),
    destructive=True,
    irreversible=True,
    preview=previews(_end_now),
    identity=("subscription_id",),
    worst="ends a service in use at once, for good",
    stopped_by="asks (cannot be undone, destroys); the customer's own subscriptions only",
)

KEEP_SUBSCRIPTION = _write(
    name="keep_subscription",
    version=1,
    description=(
        "Takes back that a subscription of this customer ends with its period. Not possible once it has ended, or after"
        " end_subscription_now."
    ),
    input_schema=closed({"subscription_id": SUBSCRIPTION_ID}),
    output_schema=closed(_BASE),
    flow=flows.KEEP_SUBSCRIPTION,
    run=runs(_keep),
    examples=({"subscription_id": "sub_5c10"},),
    undo="can be cancelled again",
    undo_call=undone_by("cancel_subscription", _SAME, reason="Keeping it was a mistake."),
    preview=previews(_keep),
    versioned=True,
    worst="goes on billing a customer who left",
    stopped_by="asks; the customer's own subscriptions only; it can be cancelled again",
)

SUBSCRIPTIONS = (
    CHANGE_PLAN,
    DROP_PLAN_CHANGE,
    PAUSE_SUBSCRIPTION,
    RESUME_SUBSCRIPTION,
    CANCEL_SUBSCRIPTION,
    END_SUBSCRIPTION_NOW,
    KEEP_SUBSCRIPTION,
)
