"""What a fresh billing agent may do, as data: autonomy settings, limits, queues and budget.

A limit asks at any dial: a tool that is set to autonomous still stops at it. At ``bounded``, what moves money in a
currency without a limit asks too.
"""

from collections.abc import Mapping
from typing import Any

from agentops.registry.role import Budget, GrantDefault, QueueDefault, Rule, ThresholdDefault
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
    GrantDefault("write_off_invoice", Dial.ASK),
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

_GIVES = ("apply_credit", "refund_charge", "write_off_invoice")
_TAKES = ("retry_charge", "generate_invoice", "change_plan")

# What counts as much in each currency, in its own major units. A currency that is not here is refused.
_FIRST_TIME = {"USD": "50.00", "EUR": "50.00", "GBP": "40.00", "JPY": "8000"}
_GIVEN_IN_30_DAYS = {"USD": "150.00", "EUR": "150.00", "GBP": "120.00", "JPY": "24000"}
_GIVEN_IN_A_DAY = {"USD": "500.00", "EUR": "500.00", "GBP": "400.00", "JPY": "80000"}
_TAKEN_IN_A_DAY = {"USD": "5000.00", "EUR": "5000.00", "GBP": "4000.00", "JPY": "800000"}
_TWO_PEOPLE = {"USD": "1000.00", "EUR": "1000.00", "GBP": "800.00", "JPY": "150000"}

_FIRST = {"fact": "rate.first_target", "op": "=", "value": True}


def _rules(
    name: str, fact: str, amounts: Mapping[str, str], words: str, tools: tuple[str, ...], **more: Any
) -> tuple[Rule, ...]:
    """Return one rule a currency, which asks above its amount; ``{}`` in ``words`` is the amount."""
    also = more.pop("when", [])
    return tuple(
        {
            "id": f"billing-{name}-{currency.lower()}",
            "tools": list(tools),
            "when": [{"fact": fact, "op": ">", "value": value, "unit": currency}, *also],
            "effect": "ask",
            "queue": MONEY,
            "words": words.format(f"{value} {currency}"),
            **more,
        }
        for currency, value in amounts.items()
    )


RULES: tuple[Rule, ...] = (
    *_rules(
        "first-time",
        "money.minor",
        _FIRST_TIME,
        "More than {} is given to this customer for the first time.",
        _GIVES,
        when=[_FIRST],
    ),
    *_rules(
        "30-days",
        "money.customer_30_days_minor",
        _GIVEN_IN_30_DAYS,
        "With this, more than {} is given to one customer in 30 days.",
        _GIVES,
    ),
    *_rules(
        "agent-gives",
        "money.agent_day_minor",
        _GIVEN_IN_A_DAY,
        "With this, the agent gives more than {} to customers in one day.",
        _GIVES,
    ),
    *_rules(
        "agent-takes",
        "money.agent_day_minor",
        _TAKEN_IN_A_DAY,
        "With this, the agent charges or bills more than {} in one day.",
        _TAKES,
    ),
    *_rules(
        "two-people",
        "money.minor",
        _TWO_PEOPLE,
        "More than {} at once needs two people.",
        (*_GIVES, *_TAKES),
        people=2,
    ),
)
"""What limits on a grant cannot say, as rules of the tenant that employs such an agent: see docs/design/policy.md."""
