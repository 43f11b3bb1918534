"""What a fresh billing agent may do, as data: autonomy settings, limits, queues and budget.

A limit asks at any dial: a tool that is set to autonomous still stops at it. At ``bounded``, what moves money in a
currency without a limit asks too.
"""

from typing import Any

from agentops.registry.role import Budget, GrantDefault, QueueDefault, ThresholdDefault
from agentops.registry.tool import Dial

MONEY, SUBSCRIPTIONS, MAIL = "billing-money", "billing-subscriptions", "billing-mail"

DAILY_LIMIT_MINOR = 5_000
CREDIT_LIMIT_MINOR = 10_000


def _daily(what: str) -> ThresholdDefault:
    return ThresholdDefault(
        fact="money.customer_day_minor",
        op=">",
        value=DAILY_LIMIT_MINOR,
        currency="USD",
        effect="ask",
        words=f"{what} of more than $50.00 for one customer in one day need a person.",
    )


GIVEN, CHARGED, BILLED = _daily("Credits and refunds"), _daily("Charges"), _daily("Invoices and changes of plans")

LARGE_CREDIT = ThresholdDefault(
    fact="money.customer_day_minor",
    op=">",
    value=CREDIT_LIMIT_MINOR,
    currency="USD",
    effect="ask",
    words="Credits that come to more than $100.00 for one customer in one day always need a person.",
)
"""Stands beside the daily limit, so that it still asks when somebody raises that one."""

GRANTS = (
    GrantDefault("lookup_customer_360", Dial.AUTONOMOUS),
    GrantDefault("list_invoices", Dial.AUTONOMOUS),
    GrantDefault("explain_invoice", Dial.AUTONOMOUS),
    GrantDefault("list_plans", Dial.AUTONOMOUS),
    GrantDefault("list_mail_templates", Dial.AUTONOMOUS),
    GrantDefault("apply_credit", Dial.BOUNDED, (GIVEN, LARGE_CREDIT)),
    GrantDefault("reverse_credit", Dial.ASK),
    GrantDefault("retry_charge", Dial.BOUNDED, (CHARGED,)),
    GrantDefault("refund_charge", Dial.BOUNDED, (GIVEN,)),
    GrantDefault("generate_invoice", Dial.BOUNDED, (BILLED,)),
    GrantDefault("void_invoice", Dial.ASK),
    GrantDefault("change_plan", Dial.BOUNDED, (BILLED,)),
    GrantDefault("drop_plan_change", Dial.ASK),
    GrantDefault("pause_subscription", Dial.ASK),
    GrantDefault("resume_subscription", Dial.ASK),
    GrantDefault("cancel_subscription", Dial.ASK),
    GrantDefault("end_subscription_now", Dial.ASK),
    GrantDefault("keep_subscription", Dial.ASK),
    GrantDefault("draft_email", Dial.AUTONOMOUS),
    GrantDefault("send_email", Dial.AUTONOMOUS),
    GrantDefault("recall_email", Dial.AUTONOMOUS),
    GrantDefault("discard_email_draft", Dial.AUTONOMOUS),
    GrantDefault("close_case", Dial.AUTONOMOUS),
    GrantDefault("reopen_case", Dial.AUTONOMOUS),
    GrantDefault("escalate_case", Dial.AUTONOMOUS),
)

QUEUES = (
    QueueDefault(MONEY, "Billing: money", "Credits, refunds, charges and invoices."),
    QueueDefault(SUBSCRIPTIONS, "Billing: subscriptions", "Changes of plans, pauses and cancellations."),
    QueueDefault(MAIL, "Billing: mail and cases", "Mails to customers, and cases that are closed or handed over."),
)

BUDGET = Budget(max_steps=15, max_seconds=900, max_cost_micro=2_000_000)

_MOVES_MONEY = ("apply_credit", "retry_charge", "refund_charge", "generate_invoice", "change_plan")
_FIRST_TIME = {"USD": "25.00", "EUR": "25.00", "GBP": "20.00", "JPY": "4000"}
_TWO_PEOPLE = {"USD": "1000.00", "EUR": "1000.00", "GBP": "800.00", "JPY": "150000"}


_FIRST = {"fact": "rate.first_target", "op": "=", "value": True}


def _rule(name: str, currency: str, value: str, words: str, **more: Any) -> dict[str, Any]:
    amount = {"fact": "money.minor", "op": ">", "value": value, "unit": currency}
    return {
        "id": f"{name}-{currency.lower()}",
        "tools": list(_MOVES_MONEY),
        "when": [amount, *more.pop("when", [])],
        "effect": "ask",
        "queue": MONEY,
        "words": words.format(f"{value} {currency}"),
        **more,
    }


RULES: dict[str, Any] = {
    "rules": [
        *(
            _rule(
                "first-time", currency, value, "More than {} moves for this customer for the first time.", when=[_FIRST]
            )
            for currency, value in _FIRST_TIME.items()
        ),
        *(
            _rule("two-people", currency, value, "More than {} at once needs two people.", people=2)
            for currency, value in _TWO_PEOPLE.items()
        ),
    ]
}
"""What limits on a grant cannot say, as a rule set that a tenant can activate: see docs/design/policy.md."""
