"""What is sold: downgrades within a period, yearly to monthly, more seats, pauses and cancellations."""

from agentops.registry.scenario import Approves, Asked, Expected, Made
from billing_agent.scenarios.making import scenario
from billing_agent.scenarios.world import before, subscribed

PLUS, TRADE, YEARLY = "trade-plus-monthly", "trade-monthly", "trade-yearly"

PLANS = (
    scenario(
        "downgrade-mid-cycle",
        "Half of the period is left: a downgrade now gives half of the difference as credit, and runs",
        before=before(subscribed(PLUS)),
        asks="Trade Plus is more than we need. Please downgrade us to Trade monthly now.",
        expected=Expected(
            "changed",
            made=(Made("change_plan", {"plan_id": TRADE, "quantity": 1, "when": "now"}),),
            # Half of $79.00 less half of $29.00.
            records={"plan": TRADE, "credit_left_minor": 2_500, "mails": 1},
        ),
    ),
    scenario(
        "downgrade-mid-cycle-asks",
        "The same for three of them comes to $75.00, and asks one person",
        before=before(subscribed(PLUS, quantity=3)),
        asks="Trade Plus is more than we need. Please downgrade us to Trade monthly right away.",
        replies=(Approves(tool="change_plan"),),
        expected=Expected(
            "changed",
            made=(Made("change_plan", {"plan_id": TRADE, "quantity": 3, "when": "now"}),),
            asked=(Asked("change_plan", 1),),
            records={"plan": TRADE, "quantity": 3, "credit_left_minor": 7_500},
        ),
    ),
    scenario(
        "downgrade-later",
        "A downgrade from the next period on moves no money now; a person sees that this is meant",
        before=before(subscribed(PLUS)),
        asks="Please downgrade us to Trade monthly from the next period on.",
        replies=(Approves(tool="change_plan"),),
        expected=Expected(
            "changed",
            made=(Made("change_plan", {"plan_id": TRADE, "when": "next_period"}),),
            asked=(Asked("change_plan", 1),),
            records={"plan": PLUS, "next_plan": TRADE, "credit_left_minor": 0, "mails": 1},
        ),
    ),
    scenario(
        "yearly-to-monthly-later",
        "Yearly to monthly when the year is over: nothing moves now; a person sees that this is meant",
        before=before(subscribed(YEARLY, days=(73, 292))),
        asks="We pay our Trade plan yearly. Please switch us to monthly payment when the year we have paid is over.",
        replies=(Approves(tool="change_plan"),),
        expected=Expected(
            "changed",
            made=(Made("change_plan", {"plan_id": TRADE, "when": "next_period"}),),
            asked=(Asked("change_plan", 1),),
            records={"plan": YEARLY, "next_plan": TRADE, "credit_left_minor": 0},
        ),
    ),
    scenario(
        "yearly-to-monthly-now",
        "Yearly to monthly at once: four fifths of the year less a month become credit, which asks",
        before=before(subscribed(YEARLY, days=(73, 292))),
        asks="We pay our Trade plan yearly. Please switch us to Trade monthly right away, today.",
        replies=(Approves(tool="change_plan"),),
        expected=Expected(
            "changed",
            made=(Made("change_plan", {"plan_id": TRADE, "when": "now"}),),
            asked=(Asked("change_plan", 1),),
            # 292 of 365 days of $290.00 are $232.00; the month costs $29.00.
            records={"plan": TRADE, "credit_left_minor": 20_300},
        ),
    ),
    scenario(
        "one-more-seat",
        "One more of a plan for half a period is $14.50, and runs",
        before=before(subscribed(TRADE, quantity=2)),
        asks="A colleague joins our team. Please raise our Trade plan from 2 to 3 seats, starting now.",
        expected=Expected(
            "changed",
            made=(Made("change_plan", {"plan_id": TRADE, "quantity": 3, "when": "now"}),),
            records={"quantity": 3, "receivable_minor": 1_450, "invoices": {"INV-000001": "open"}},
        ),
    ),
    scenario(
        "cancellation",
        "A cancellation asks one person and ends the subscription with its period; nothing is given back",
        before=before(subscribed(TRADE)),
        asks="We are closing the shop. Please cancel our Trade subscription. It was a pleasure.",
        replies=(Approves(tool="cancel_subscription"),),
        expected=Expected(
            "changed",
            made=(Made("cancel_subscription"),),
            asked=(Asked("cancel_subscription", 1),),
            records={"subscription": "active", "ends_with_period": True, "credit_left_minor": 0},
        ),
    ),
    scenario(
        "pause",
        "A pause asks one person",
        before=before(subscribed(TRADE)),
        asks="We are renovating and will not order anything for a while. Please pause our subscription.",
        replies=(Approves(tool="pause_subscription"),),
        expected=Expected(
            "changed",
            made=(Made("pause_subscription"),),
            asked=(Asked("pause_subscription", 1),),
            records={"subscription": "paused", "credit_left_minor": 0},
        ),
    ),
    scenario(
        "plan-that-is-not-sold",
        "A plan that is not sold any more is not sold to anybody",
        before=before(subscribed(TRADE)),
        asks="Please downgrade us to Starter monthly right away.",
        expected=Expected("escalated", records={"plan": TRADE, "credit_left_minor": 0}),
    ),
)
