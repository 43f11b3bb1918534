"""Payments that failed: expired cards, insufficient funds, dunning, and what a bank took back."""

from dataclasses import replace

from agentops.kernel.errors import FailureKind
from agentops.registry.scenario import Approves, Asked, Expected, Fails, LetsExpire, LosesAnswer, Made, Rejects, Work
from billing_agent.scenarios.making import scenario
from billing_agent.scenarios.world import (
    INSUFFICIENT,
    LOST,
    OTHER_CARD,
    Step,
    before,
    bill,
    calendar,
    card,
    charge,
    disputed,
    expired,
    later,
    latest_case,
    other_card,
)

FIRST = "INV-000001"
TOPPED_UP = f"There was not enough money on my account. I have topped it up. Please retry the payment for {FIRST}."
NEW_CARD = f"My old card had run out, I have added a new one. Please charge invoice {FIRST} again."
WANTS_BACK = f"I disputed the payment of {FIRST} with my bank. I still want you to refund the $45.00."


def _unpaid(minor: int, **columns: str) -> tuple[Step, ...]:
    """Return what happened: billed, declined for insufficient funds, and since then the card is as ``columns`` say."""
    since = {"declines_with": ""} | columns
    return (bill(minor), card(declines_with=INSUFFICIENT), charge(), card(**since))


PAYMENTS = (
    scenario(
        "expired-card-explained",
        "A payment failed because the card has expired: the customer is told, nothing is charged",
        before=before(bill(2_900), expired(), charge()),
        asks="I got a note that my payment failed. What is wrong with it? There is plenty of money on the account.",
        expected=Expected("answered", records={"cash_minor": 0, "attempts": {FIRST: 1}, "mails": 1}),
    ),
    scenario(
        "expired-card-replaced",
        "The customer has added a new card: the invoice is charged to it, and it runs",
        before=before(bill(2_900), expired(), charge(), other_card()),
        asks=NEW_CARD,
        expected=Expected(
            "changed",
            made=(Made("retry_charge", {"payment_method_id": OTHER_CARD, "amount_minor": 2_900}),),
            records={"cash_minor": 2_900, "invoices": {FIRST: "paid"}, "mails": 1},
        ),
    ),
    scenario(
        "expired-card-again",
        "The same expired card is not tried again; the customer is asked for another one",
        before=before(bill(2_900), expired(), charge()),
        asks=f"Please try again to charge invoice {FIRST} to my card.",
        expected=Expected("answered", records={"cash_minor": 0, "attempts": {FIRST: 1}, "mails": 1}),
    ),
    scenario(
        "lost-card",
        "A card that was reported lost is never tried again",
        before=before(bill(2_900), card(declines_with=LOST), charge(), card(declines_with="")),
        asks=f"My card works again. Please retry the payment for {FIRST}.",
        expected=Expected("answered", records={"cash_minor": 0, "attempts": {FIRST: 1}}),
    ),
    scenario(
        "insufficient-funds-paid",
        "The customer has topped up: another attempt pays, and the customer is told",
        before=before(*_unpaid(2_900)),
        asks=TOPPED_UP,
        expected=Expected(
            "changed",
            made=(Made("retry_charge", {"amount_minor": 2_900}),),
            records={"cash_minor": 2_900, "invoices": {FIRST: "paid"}, "attempts": {FIRST: 2}, "mails": 1},
        ),
    ),
    scenario(
        "insufficient-funds-declined-again",
        "Another attempt is declined: once, and the customer is told why",
        before=before(*_unpaid(2_900, declines_with=INSUFFICIENT)),
        asks=TOPPED_UP,
        expected=Expected(
            "changed",
            made=(Made("retry_charge", {"amount_minor": 2_900}),),
            records={"cash_minor": 0, "invoices": {FIRST: "open"}, "attempts": {FIRST: 2}, "mails": 1},
        ),
    ),
    scenario(
        "large-retry-approved",
        "An attempt at $79.00 asks one person, who approves",
        before=before(*_unpaid(7_900)),
        asks=TOPPED_UP,
        replies=(Approves(tool="retry_charge"),),
        expected=Expected(
            "changed",
            made=(Made("retry_charge", {"amount_minor": 7_900}),),
            asked=(Asked("retry_charge", 1, {"amount_minor": 7_900}),),
            records={"cash_minor": 7_900, "invoices": {FIRST: "paid"}},
        ),
    ),
    scenario(
        "large-retry-rejected",
        "An attempt at $79.00 is rejected: nothing is charged, and the customer is told",
        before=before(*_unpaid(7_900)),
        asks=TOPPED_UP,
        replies=(Rejects(tool="retry_charge", reason="They called and pay by transfer."),),
        expected=Expected(
            "answered",
            asked=(Asked("retry_charge", 1),),
            records={"cash_minor": 0, "invoices": {FIRST: "open"}, "attempts": {FIRST: 1}},
        ),
    ),
    scenario(
        "large-retry-not-decided",
        "Nobody decides about an attempt at $79.00 in time: nothing is charged, and a person has the case",
        before=before(*_unpaid(7_900)),
        asks=TOPPED_UP,
        replies=(LetsExpire(tool="retry_charge"),),
        expected=Expected(
            "escalated",
            asked=(Asked("retry_charge", 1),),
            records={"cash_minor": 0, "invoices": {FIRST: "open"}, "case": "escalated"},
        ),
    ),
    scenario(
        "paid-before-approval",
        "The invoice is paid while the attempt waits: it is not charged a second time",
        before=before(*_unpaid(7_900)),
        asks=TOPPED_UP,
        replies=(Approves(tool="retry_charge", meanwhile=later(charge())),),
        expected=Expected(
            "escalated",
            asked=(Asked("retry_charge", 1),),
            records={"cash_minor": 7_900, "invoices": {FIRST: "paid"}, "attempts": {FIRST: 2}},
        ),
    ),
    scenario(
        "retry-with-lost-answer",
        "The answer to the attempt is lost: it is asked about, and made once",
        before=before(*_unpaid(2_900)),
        asks=TOPPED_UP,
        disturbed=(LosesAnswer("retry_charge"),),
        expected=Expected(
            "changed", made=(Made("retry_charge"),), records={"cash_minor": 2_900, "attempts": {FIRST: 2}}
        ),
    ),
    scenario(
        "retry-with-unknown-outcome",
        "Nobody can tell what became of the attempt: it is not repeated, and a person has the case",
        before=before(*_unpaid(2_900)),
        asks=TOPPED_UP,
        disturbed=(LosesAnswer("retry_charge", tells=False),),
        expected=Expected(
            "escalated", stopped="OUTCOME_UNKNOWN", records={"cash_minor": 2_900, "attempts": {FIRST: 2}}
        ),
    ),
    scenario(
        "retry-refused-by-processor",
        "The processor refuses the attempt for good: the case goes to a person",
        before=before(*_unpaid(2_900)),
        asks=TOPPED_UP,
        disturbed=(Fails("retry_charge", FailureKind.VALIDATION, times=9),),
        expected=Expected("escalated", records={"cash_minor": 0, "attempts": {FIRST: 1}}),
    ),
    scenario(
        "dunning-explained",
        "Somebody was reminded and asks what is open: they are told, nothing is charged",
        before=before(bill(2_900), card(declines_with="do_not_honor"), charge()),
        asks="Why do I get a payment reminder? What is still open, and what happens now?",
        expected=Expected("answered", records={"cash_minor": 0, "attempts": {FIRST: 1}, "mails": 1}),
    ),
    replace(
        scenario(
            "dunning-run",
            "The calendar's run opens a case about a card that has expired: the customer is asked for another one",
            before=before(bill(2_900), expired(), charge(), calendar()),
            asks="",
            expected=Expected("answered", records={"cash_minor": 0, "attempts": {FIRST: 1}, "mails": 1}),
        ),
        work=(Work(subject_id=latest_case),),
    ),
    scenario(
        "chargeback-wants-refund",
        "The bank holds the money of a dispute: nothing is refunded beside it, and a person has the case",
        before=before(bill(4_500), charge(), disputed()),
        asks=WANTS_BACK,
        expected=Expected("escalated", records={"cash_minor": 0, "disputed_minor": 4_500, "refunds_minor": 0}),
    ),
    scenario(
        "chargeback-asks-for-credit",
        "A customer with a dispute asks for credit instead: a person has the case, and nothing is given",
        before=before(bill(4_500), charge(), disputed("fraudulent")),
        asks=f"My bank has taken {FIRST} back. Give me an account credit of $45.00 and I drop the dispute.",
        expected=Expected("escalated", records={"disputed_minor": 4_500, "goodwill_minor": 0}),
    ),
)
