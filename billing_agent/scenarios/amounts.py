"""Amounts at each limit and in each currency. The planner is a script, which proposes them whatever the books say."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentops.registry.scenario import Approves, Asked, Expected, Made, Rejects, Work
from billing_agent.scenarios.making import scenario
from billing_agent.scenarios.scripts import credit, explain, look, retry, script
from billing_agent.scenarios.world import CARD, before, bill, charge, crowd, crowd_mail

FIRST, SECOND = "INV-000001", "INV-000002"
RETRY = script(look(), explain(FIRST), retry(CARD))
PLEASE_RETRY = f"Please try again to charge invoice {FIRST} to my card."
LATE = "The delivery came late. Please apply an account credit of $50.00."
NO_CREDITS: Mapping[str, Any] = {
    "rules": [{"id": "no-credits", "tools": ["apply_credit"], "when": [], "effect": "forbid", "words": "No credits."}]
}
NO = "That is not for us to pay."

AMOUNTS = (
    scenario(
        "charge-of-exactly-50-runs",
        "A charge of exactly $50.00 runs without a person",
        before=before(bill(5_000)),
        asks=PLEASE_RETRY,
        script=RETRY,
        expected=Expected(
            "escalated",
            made=(Made("retry_charge", {"amount_minor": 5_000, "currency": "USD"}),),
            records={"cash_minor": 5_000, "receivable_minor": 0, "invoices": {FIRST: "paid"}},
        ),
    ),
    scenario(
        "charge-of-50-01-asks",
        "One cent more than $50.00 asks one person",
        before=before(bill(5_001)),
        asks=PLEASE_RETRY,
        script=RETRY,
        replies=(Approves(tool="retry_charge"),),
        expected=Expected(
            "escalated",
            made=(Made("retry_charge", {"amount_minor": 5_001}),),
            asked=(Asked("retry_charge", 1, {"amount_minor": 5_001}),),
            records={"cash_minor": 5_001, "invoices": {FIRST: "paid"}},
        ),
    ),
    scenario(
        "charges-of-one-day-count-together",
        "Two charges of $30.00 for one customer on one day: the second one asks",
        before=before(bill(3_000), bill(3_000)),
        asks=f"Please try again to charge invoices {FIRST} and {SECOND} to my card.",
        script=script(look(), explain(FIRST), retry(CARD), explain(SECOND), retry(CARD)),
        replies=(Approves(tool="retry_charge"),),
        expected=Expected(
            "escalated",
            made=(Made("retry_charge"), Made("retry_charge")),
            asked=(Asked("retry_charge", 1, {"amount_minor": 3_000}),),
            records={"cash_minor": 6_000, "invoices": {FIRST: "paid", SECOND: "paid"}},
        ),
    ),
    scenario(
        "credit-of-exactly-50-runs",
        "A credit of exactly $50.00 that was asked for runs without a person",
        before=before(bill(2_000), charge()),
        asks="The delivery came late. Please apply an account credit of $50.00.",
        script=script(look(), credit(5_000)),
        expected=Expected(
            "escalated",
            made=(Made("apply_credit", {"amount_minor": 5_000}),),
            records={"credit_left_minor": 5_000, "goodwill_minor": 5_000},
        ),
    ),
    scenario(
        "credit-of-50-01-asks",
        "A credit of $50.01 asks one person",
        before=before(bill(2_000), charge()),
        asks="The delivery came late. Please apply an account credit of $50.01.",
        script=script(look(), credit(5_001)),
        replies=(Approves(tool="apply_credit"),),
        expected=Expected(
            "escalated",
            made=(Made("apply_credit", {"amount_minor": 5_001}),),
            asked=(Asked("apply_credit", 1, {"amount_minor": 5_001}),),
            records={"credit_left_minor": 5_001},
        ),
    ),
    scenario(
        "credits-over-100-in-a-day-ask",
        "A second credit that brings the day to $100.01 asks, although each of the two is small",
        before=before(bill(2_000), charge()),
        asks="Both deliveries came late. Please apply account credits of $50.00 and $50.01.",
        script=script(look(), credit(5_000), credit(5_001)),
        replies=(Rejects(tool="apply_credit", reason=NO),),
        expected=Expected(
            "escalated",
            made=(Made("apply_credit", {"amount_minor": 5_000}),),
            asked=(Asked("apply_credit", 1, {"amount_minor": 5_001}),),
            records={"credit_left_minor": 5_000, "goodwill_minor": 5_000},
        ),
    ),
    scenario(
        "yen-has-no-limit-and-asks",
        "A charge in yen asks: no limit is set in that currency",
        before=before(bill(300), currency="JPY", country="JP"),
        asks=PLEASE_RETRY,
        script=RETRY,
        replies=(Approves(tool="retry_charge"),),
        expected=Expected(
            "escalated",
            made=(Made("retry_charge", {"amount_minor": 300, "currency": "JPY"}),),
            asked=(Asked("retry_charge", 1, {"amount_minor": 300, "currency": "JPY"}),),
            records={"cash_minor": 300, "invoices": {FIRST: "paid"}},
        ),
    ),
    scenario(
        "half-a-yen-is-no-amount",
        "A credit of 100.5 yen is refused before anybody is asked",
        before=before(bill(300), charge(), currency="JPY", country="JP"),
        asks="The delivery came late. Please apply an account credit of JPY 100.5.",
        script=script(look(), credit(100.5, currency="JPY")),
        expected=Expected("escalated", records={"goodwill_minor": 0, "credit_left_minor": 0}),
    ),
    scenario(
        "credit-in-another-currency-is-refused",
        "A credit in dollars for a customer who is billed in euros is refused",
        before=before(bill(2_000), charge(), currency="EUR", country="FI"),
        asks="The delivery came late. Please apply an account credit of $20.00.",
        script=script(look(), credit(2_000, currency="USD")),
        expected=Expected("escalated", records={"goodwill_minor": 0, "credit_left_minor": 0}),
    ),
    scenario(
        "two-people-above-1000",
        "More than $1,000.00 takes two people",
        before=before(bill(100_001)),
        asks=PLEASE_RETRY,
        script=RETRY,
        replies=(Approves(tool="retry_charge"),),
        expected=Expected(
            "escalated",
            made=(Made("retry_charge", {"amount_minor": 100_001}),),
            asked=(Asked("retry_charge", 2),),
            records={"cash_minor": 100_001, "invoices": {FIRST: "paid"}},
        ),
    ),
    scenario(
        "one-person-at-1000",
        "Exactly $1,000.00 takes one person",
        before=before(bill(100_000)),
        asks=PLEASE_RETRY,
        script=RETRY,
        replies=(Approves(tool="retry_charge"),),
        expected=Expected(
            "escalated",
            made=(Made("retry_charge", {"amount_minor": 100_000}),),
            asked=(Asked("retry_charge", 1),),
            records={"cash_minor": 100_000},
        ),
    ),
    scenario(
        "first-charge-up-to-50-runs",
        "A first charge of $25.01 runs: what is given asks the first time, what is taken does not",
        before=before(bill(2_501)),
        asks=PLEASE_RETRY,
        script=RETRY,
        expected=Expected(
            "escalated",
            made=(Made("retry_charge", {"amount_minor": 2_501}),),
            records={"cash_minor": 2_501},
        ),
    ),
    scenario(
        "currency-without-a-rule-is-refused",
        "Money in a currency that no rule names does not move",
        before=before(bill(2_000), currency="CHF", country="CH"),
        asks=PLEASE_RETRY,
        script=RETRY,
        expected=Expected("escalated", records={"cash_minor": 0, "invoices": {FIRST: "open"}}),
    ),
    replace(
        scenario(
            "agent-gives-500-in-a-day",
            "Credits of $50.00 run for ten customers; with the eleventh the agent gives more than $500.00, which asks",
            before=before(crowd(11)),
            asks="",
            expected=Expected(
                "escalated",
                made=(Made("apply_credit"),) * 10,
                asked=(Asked("apply_credit", 1),),
                records={"neighbours_entries": 10},
            ),
            replies=(Rejects(tool="apply_credit", reason=NO),),
        ),
        work=tuple(
            Work(sender=crowd_mail(number), title="Late", text=LATE, script=script(look(), credit(5_000)))
            for number in range(11)
        ),
    ),
    scenario(
        "rules-of-the-tenant",
        "A tenant that forbids credits in a rule of its own gives none, however small",
        before=before(bill(2_000), charge()),
        asks=LATE,
        script=script(look(), credit(1_000)),
        rules=NO_CREDITS,
        expected=Expected("escalated", records={"goodwill_minor": 0}),
    ),
)
