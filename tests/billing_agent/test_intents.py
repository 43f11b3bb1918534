"""Which words of a case ask for what: a call that nobody asked for goes to a person."""

import pytest

from agentops.policy.plan import plan_of
from billing_agent.tools import TOOLS
from billing_agent.tools.flows import INTENTS

ALWAYS = {"case", "mail"}


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Why is my invoice so high this month?", set()),
        ("My credit card was billed on the 3rd for the account. What is it for?", set()),
        ("Why did you charge my card in October?", set()),
        ("Please send me the invoice for October.", set()),
        ("My card was declined, what happened?", set()),
        ("Please refund the $29.00.", {"refund"}),
        ("You charged us twice in March!", {"refund"}),
        ("We would like a credit of $15 for the outage.", {"credit"}),
        ("Can you apply a credit?", {"credit"}),
        ("I have a new card, please try the payment again.", {"charge"}),
        ("Please make us an invoice for the workshop.", {"invoice"}),
        ("We want to upgrade to Business.", {"plan"}),
        ("Add two seats please.", {"plan"}),
        ("Please pause our subscription until January.", {"pause"}),
        ("I want to cancel.", {"cancel"}),
        ("Please do not cancel anything.", set()),
        ("I changed my mind: keep my subscription.", {"take back"}),
    ],
)
def test_a_request_asks_for(text: str, asked: set[str]) -> None:
    assert plan_of(text, INTENTS) == ALWAYS | asked


def test_every_write_does_something_that_a_request_can_ask_for() -> None:
    assert {tool.flow.capability for tool in TOOLS if tool.is_write} == {intent.capability for intent in INTENTS}
