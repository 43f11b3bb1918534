"""What a fresh billing agent may do: limits as the policy decides them, over facts as it makes them."""

import json
from dataclasses import replace
from typing import Any

import pytest

from agentops.kernel.money import Money
from agentops.policy.baseline import BASELINE, Limit, covers, threshold_rules
from agentops.policy.checks import problems_of_rules
from agentops.policy.engine import Verdict, decide
from agentops.policy.facts import UNRATED, GrantFacts, Proposed, SessionFacts, Spent, Switches, facts_of
from agentops.policy.rule_check import House, read
from agentops.policy.rules import Effect
from agentops.policy.ruleset import compiled
from agentops.registry.tool import Dial, Preview, Tier
from billing_agent.policy import BUDGET, GRANTS, QUEUES, RULES
from billing_agent.role import ROLE
from billing_agent.tools import TOOLS

BOUNDED = ["apply_credit", "retry_charge", "generate_invoice", "change_plan"]
HOUSE = House(TOOLS, frozenset(queue.slug for queue in QUEUES))
SHARED = compiled({"rules": list(RULES)}, "digest")
LIMITS = {
    "apply_credit": "Credits and refunds of more than $50.00 for one customer in one day need a person.",
    "retry_charge": "Charges of more than $50.00 for one customer in one day need a person.",
    "generate_invoice": "Invoices and changes of plans of more than $50.00 for one customer in one day need a person.",
    "change_plan": "Invoices and changes of plans of more than $50.00 for one customer in one day need a person.",
}
LARGE = "Credits that come to more than $100.00 for one customer in one day always need a person."


def limits_of(name: str) -> tuple[Limit, ...]:
    grant = next(grant for grant in GRANTS if grant.tool == name)
    return tuple(Limit(t.fact, t.op, t.value, t.currency, t.effect, t.words) for t in grant.thresholds)


def facts(
    name: str,
    amount: Money | None,
    *,
    moved: int = 0,
    dial: Dial | None = None,
    first: bool = False,
    spent: Spent | None = None,
) -> dict[str, Any]:
    """Return the facts of a call whose every value comes from where it should."""
    tool = ROLE.tool(name)
    assert tool is not None
    granted = next(grant for grant in GRANTS if grant.tool == name)
    limits = limits_of(name)
    bounded = covers(limits, currency=amount.currency if amount else None)
    preview = Preview("Does it", "customer:dana", money=amount) if tool.is_write else None
    return facts_of(
        Proposed(
            tool=tool,
            grant=GrantFacts(dial=(dial or granted.dial).value, bounded_here=bounded),
            session=SessionFacts(steps=3, writes=0),
            preview=preview,
            arguments=tool.examples[0],
            switches=Switches(frozen=False, elevated=True),
            spent=spent or Spent(customer_day=moved),
            rate={**UNRATED, "first_target": first},
        )
    )


def verdict(name: str, amount: Money | None = None, **more: Any) -> Verdict:
    return decide(facts(name, amount, **more), (*BASELINE, *threshold_rules(name, limits_of(name))))


def asks(found: Verdict) -> list[str]:
    return [reason.words for reason in found.reasons if reason.effect is Effect.ASK]


def usd(minor: int) -> Money:
    return Money(minor, "USD")


@pytest.mark.parametrize("name", BOUNDED)
def test_fifty_dollars_run_and_a_cent_more_asks(name: str) -> None:
    assert verdict(name, usd(5000)).effect is Effect.ALLOW
    asked = verdict(name, usd(5001))
    assert (asked.effect, asks(asked)) == (Effect.ASK, [LIMITS[name]])


@pytest.mark.parametrize("name", BOUNDED)
def test_what_moved_for_the_customer_that_day_counts(name: str) -> None:
    assert verdict(name, usd(1), moved=4999).effect is Effect.ALLOW
    assert verdict(name, usd(1), moved=5000).effect is Effect.ASK
    assert verdict(name, usd(2501), moved=2500).effect is Effect.ASK


@pytest.mark.parametrize("dial", [Dial.BOUNDED, Dial.AUTONOMOUS])
def test_a_credit_above_a_hundred_dollars_asks_at_any_dial(dial: Dial) -> None:
    assert LARGE not in asks(verdict("apply_credit", usd(10_000), dial=dial))
    assert LARGE in asks(verdict("apply_credit", usd(10_001), dial=dial))
    assert LARGE in asks(verdict("apply_credit", usd(1), moved=10_000, dial=dial))
    assert verdict("apply_credit", usd(10_001), dial=dial).effect is Effect.ASK


def test_a_credit_above_a_hundred_dollars_asks_also_when_the_daily_limit_is_raised() -> None:
    raised = tuple(limit for limit in limits_of("apply_credit") if limit.words == LARGE)
    rules = (*BASELINE, *threshold_rules("apply_credit", raised))
    assert decide(facts("apply_credit", usd(10_000)), rules).effect is Effect.ALLOW
    assert decide(facts("apply_credit", usd(10_001)), rules).effect is Effect.ASK


@pytest.mark.parametrize("name", BOUNDED)
@pytest.mark.parametrize("currency", ["JPY", "EUR", "KWD"])
def test_another_currency_asks_however_little_it_is(name: str, currency: str) -> None:
    asked = verdict(name, Money(1, currency))
    assert (asked.effect, asks(asked)) == (Effect.ASK, ["No limit is set that covers this call."])


def test_credits_and_refunds_count_together_and_charges_and_invoices_by_themselves() -> None:
    families: dict[str, set[str]] = {}
    for tool in TOOLS:
        families.setdefault(tool.money_family, set()).add(tool.name)
    del families[""]
    assert families == {
        "given": {"apply_credit", "refund_charge", "write_off_invoice"},
        "charged": {"retry_charge"},
        "billed": {"generate_invoice", "change_plan"},
    }


@pytest.mark.parametrize("name", ["refund_charge", "void_invoice", "write_off_invoice", "end_subscription_now"])
@pytest.mark.parametrize("dial", [Dial.BOUNDED, Dial.AUTONOMOUS, Dial.ASK])
def test_what_cannot_be_undone_asks_at_any_dial(name: str, dial: Dial) -> None:
    asked = verdict(name, usd(1), dial=dial)
    assert asked.effect is Effect.ASK
    assert "This cannot be undone." in asks(asked)


@pytest.mark.parametrize(
    ("name", "effect"),
    [
        ("reverse_credit", Effect.ASK),
        ("drop_plan_change", Effect.ASK),
        ("pause_subscription", Effect.ASK),
        ("resume_subscription", Effect.ASK),
        ("cancel_subscription", Effect.ASK),
        ("keep_subscription", Effect.ASK),
        ("change_plan", Effect.ALLOW),
        ("draft_email", Effect.ALLOW),
        ("send_email", Effect.ALLOW),
        ("recall_email", Effect.ALLOW),
        ("discard_email_draft", Effect.ALLOW),
        ("close_case", Effect.ALLOW),
        ("reopen_case", Effect.ALLOW),
        ("escalate_case", Effect.ALLOW),
        ("lookup_customer_360", Effect.ALLOW),
        ("list_invoices", Effect.ALLOW),
        ("explain_invoice", Effect.ALLOW),
        ("list_plans", Effect.ALLOW),
        ("list_mail_templates", Effect.ALLOW),
    ],
)
def test_what_moves_no_money_is_decided_by_its_dial(name: str, effect: Effect) -> None:
    assert verdict(name).effect is effect


def test_every_tool_is_granted_once_and_a_session_has_fifteen_steps_and_two_dollars() -> None:
    assert [grant.tool for grant in GRANTS] == [tool.name for tool in TOOLS]
    assert (BUDGET.max_steps, BUDGET.max_cost_micro) == (15, 2_000_000)


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.tier is Tier.WRITE_HARD], ids=lambda tool: tool.name)
def test_no_hard_write_runs_without_a_limit(tool: Any) -> None:
    """Whatever a fresh agent does by itself with hard writes has a limit on money."""
    granted = next(grant for grant in GRANTS if grant.tool == tool.name)
    assert granted.dial in (Dial.ASK, Dial.BOUNDED)
    assert (granted.dial is Dial.BOUNDED) == bool(granted.thresholds)


def shared(name: str, amount: Money, **more: Any) -> Verdict:
    """Decide with the rules of the role as well."""
    made = facts(name, amount, **more)
    return decide(made, (*BASELINE, *threshold_rules(name, limits_of(name)), *SHARED.rules_for(made["tool"])))


def test_the_rule_set_of_the_role_can_be_saved() -> None:
    assert read(json.dumps({"rules": RULES}), HOUSE) == {"rules": list(RULES)}
    assert list(problems_of_rules(ROLE)) == []


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"id": "two-people-usd"}, "The default rule 'two-people-usd' of 'billing'."),
        ({"tools": ["issue_refund"]}, "issue_refund"),
        ({"queue": "refunds"}, "refunds"),
        ({"effect": "allow"}, "must be ask or forbid"),
    ],
)
def test_default_rules_that_no_tenant_could_save_are_found_by_a_check(changes: dict[str, Any], words: str) -> None:
    [found] = problems_of_rules(replace(ROLE, rules=({**RULES[0], **changes},)))
    assert found.id == "agentops.E012"
    assert words in found.msg


@pytest.mark.parametrize("name", [*BOUNDED, "refund_charge"])
@pytest.mark.parametrize(
    ("amount", "people"),
    [
        (Money(100_000, "USD"), 1),
        (Money(100_001, "USD"), 2),
        (Money(100_001, "EUR"), 2),
        (Money(80_001, "GBP"), 2),
        (Money(150_000, "JPY"), 1),
        (Money(150_001, "JPY"), 2),
    ],
)
def test_more_than_a_thousand_needs_two_people(name: str, amount: Money, people: int) -> None:
    asked = shared(name, amount)
    assert (asked.effect, asked.people) == (Effect.ASK, people)
    assert any("at once needs two people" in words for words in asks(asked)) == (people == 2)
    assert people == 1 or asked.queue == "billing-money"


@pytest.mark.parametrize("name", BOUNDED)
def test_what_runs_by_itself_still_does_under_the_rules_of_the_role(name: str) -> None:
    assert shared(name, usd(5000), first=True).effect is Effect.ALLOW
    assert shared(name, usd(5001)).effect is Effect.ASK


def by_rules_alone(name: str, amount: Money, **more: Any) -> list[str]:
    """Return why the rules of the role ask, whatever limits a grant has."""
    made = facts(name, amount, **more)
    return asks(decide(made, (*BASELINE, *SHARED.rules_for(made["tool"]))))


FIRST_TIME = "More than 50.00 USD is given to this customer for the first time."
IN_30_DAYS = "With this, more than 150.00 USD is given to one customer in 30 days."
AGENT_GIVES = "With this, the agent gives more than 500.00 USD to customers in one day."
AGENT_TAKES = "With this, the agent charges or bills more than 5000.00 USD in one day."


def test_a_large_amount_for_the_first_time_asks_also_when_the_daily_limit_is_raised() -> None:
    assert FIRST_TIME in by_rules_alone("apply_credit", usd(5001), first=True)
    assert FIRST_TIME not in by_rules_alone("apply_credit", usd(5001))
    assert FIRST_TIME not in by_rules_alone("apply_credit", usd(5000), first=True)
    assert FIRST_TIME not in by_rules_alone("retry_charge", usd(5001), first=True)


@pytest.mark.parametrize(
    ("name", "spent", "words"),
    [
        ("apply_credit", Spent(customer_30_days=14_999), ""),
        ("apply_credit", Spent(customer_30_days=15_000), IN_30_DAYS),
        ("retry_charge", Spent(customer_30_days=15_000), ""),
        ("apply_credit", Spent(agent_day=49_999), ""),
        ("apply_credit", Spent(agent_day=50_000), AGENT_GIVES),
        ("generate_invoice", Spent(agent_day=499_999), ""),
        ("generate_invoice", Spent(agent_day=500_000), AGENT_TAKES),
        ("retry_charge", Spent(agent_day=500_000), AGENT_TAKES),
    ],
)
def test_what_adds_up_asks(name: str, spent: Spent, words: str) -> None:
    asked = shared(name, usd(1), spent=spent)
    assert asks(asked) == ([words] if words else [])
    assert asked.queue == ("billing-money" if words else "")


def test_a_currency_that_no_rule_of_the_set_compares_is_refused() -> None:
    assert shared("apply_credit", Money(1, "KWD")).effect is Effect.FORBID
    assert shared("apply_credit", Money(1, "JPY")).effect is Effect.ASK
