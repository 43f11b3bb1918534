"""Rule sets: what is refused when one is saved, what a saved one decides, and that none ever weakens a verdict."""

import json
from typing import Any

import pytest

from agentops.policy import rule_check
from agentops.policy.engine import decide
from agentops.policy.rule_check import MOST_BYTES, MOST_PROBLEMS, BadRules, read
from agentops.policy.rules import Effect, Rule
from agentops.policy.ruleset import NO_RULES, TenantRules, compiled
from agentops.policy.vocabulary import ORIGINS
from tests.policy.rule_sets import HOUSE, LOOK, OVER, PAY, WRITE, facts, rule, text, when

ALLOWED = Rule("base", Effect.ALLOW, "yes")


def problems(document: str | bytes) -> list[str]:
    """What is wrong with a document, after finding that something is."""
    with pytest.raises(BadRules) as caught:
        read(document, HOUSE)
    return list(caught.value.problems)


def rules(*raw: Any) -> TenantRules:
    return compiled(read(text(*raw), HOUSE), "d")


def effect(found: TenantRules, given_facts: dict[str, Any]) -> Effect:
    return decide(given_facts, [ALLOWED, *found.rules_for(given_facts["tool"])]).effect


@pytest.mark.parametrize(
    ("raw", "problem"),
    [
        (rule(when=[when("money.mnior", ">", 1)]), "condition 1: there is no fact 'money.mnior'."),
        (rule(when=[when("", "=", 1)]), "condition 1: there is no fact ''."),
        (rule(when=[when("arguments", "=", 1)]), "condition 1: pay has no argument '' that is a single value."),
        (
            rule(when=[{**OVER, "unit": "DOLLARS"}]),
            "condition 1: money.minor is money and needs a currency as its unit, not 'DOLLARS'.",
        ),
        (
            rule(when=[when("money.minor", ">", "50.00")]),
            "condition 1: money.minor is money and needs a currency as its unit, not ''.",
        ),
        (
            rule(when=[when("money.minor", ">", "50.00", "%")]),
            "condition 1: money.minor is money and needs a currency as its unit, not '%'.",
        ),
        (
            rule(when=[when("session.steps", ">", 1, "USD")]),
            "condition 1: session.steps is a count and has no unit, not 'USD'.",
        ),
        (
            rule(when=[when("measures.capacity_share_pct", ">", 30)]),
            "condition 1: measures.capacity_share_pct is a per cent and has the unit '%', not ''.",
        ),
        (
            rule(when=[when("money.minor", ">", 5000, "USD")]),
            'condition 1: money.minor is an amount and is written as text, such as "50.00", not 5000.',
        ),
        (
            rule(when=[when("money.minor", ">", "50.001", "USD")]),
            "condition 1: money.minor is not readable: 50.001 USD has more digits after the point than the currency.",
        ),
        (rule(when=[when("money.minor", ">", "-1.00", "USD")]), "condition 1: money.minor is never below zero."),
        (rule(when=[when("session.steps", ">", "3")]), "condition 1: session.steps is a whole number, not '3'."),
        (rule(when=[when("session.steps", ">", 3.5)]), "condition 1: session.steps is a whole number, not 3.5."),
        (rule(when=[when("session.steps", ">", True)]), "condition 1: session.steps is a whole number, not True."),
        (
            rule(when=[when("risk.score", ">", 101)]),
            "condition 1: risk.score lies between 0 and 100, not at 101.",
        ),
        (rule(when=[when("rate.unusual", "=", "yes")]), "condition 1: rate.unusual is true or false, not 'yes'."),
        (
            rule(when=[when("rate.unusual", ">", True)]),
            "condition 1: rate.unusual cannot be compared with '>'; use =, !=.",
        ),
        (
            rule(when=[when("target", "matches", "(a+)+$")]),
            "condition 1: target cannot be compared with 'matches'; use =, !=, one of.",
        ),
        (
            rule(when=[when("target", "=", "a\u202eb")]),
            "condition 1: target is compared with characters that cannot be seen.",
        ),
        (
            rule(when=[when("tool.tier", "=", "hard")]),
            "condition 1: tool.tier is never 'hard'; it is one of read, write-hard, write-soft.",
        ),
        (
            rule(when=[when("arguments.speed", "=", "warp")]),
            "condition 1: arguments.speed is never 'warp'; it is one of fast, slow.",
        ),
        (
            rule(when=[when("arguments.amount", ">", 1)]),
            "condition 1: pay has no argument 'amount' that is a single value.",
        ),
        (
            rule(when=[when("arguments.items", "=", "x")]),
            "condition 1: pay has no argument 'items' that is a single value.",
        ),
        (
            rule(tools=["pay", "look"], when=[when("arguments.to", "=", "x")]),
            "condition 1: look has no argument 'to' that is a single value.",
        ),
        (
            rule(tools=["pay", "write"], when=[when("arguments.minor", "=", 1)]),
            "condition 1: the tools take different types of 'minor'.",
        ),
        (
            rule(when=[when("arguments.minor", ">", 10**9 + 1)]),
            "condition 1: arguments.minor lies between 1 and 1000000000, not at 1000000001.",
        ),
        (
            rule(when=[when("arguments.to", "=", "x" * 81)]),
            "condition 1: arguments.to is never longer than 80 characters.",
        ),
        (
            rule(when=[when("origin.to", "=", "internet")]),
            f"condition 1: origin.to is never 'internet'; it is one of {', '.join(sorted(ORIGINS))}.",
        ),
        (
            rule(tools=["look"], when=[when("origin.account", "=", "request")]),
            "condition 1: where arguments come from is not traced for look: it only reads.",
        ),
        (
            rule(when=[when("session.steps", "one of", 3)]),
            "condition 1: one of takes a list of 1 to 50 values, every other comparison one value.",
        ),
        (
            rule(when=[when("session.steps", "one of", [])]),
            "condition 1: one of takes a list of 1 to 50 values, every other comparison one value.",
        ),
        (
            rule(when=[when("session.steps", ">", [3])]),
            "condition 1: one of takes a list of 1 to 50 values, every other comparison one value.",
        ),
        (rule(when=[{**OVER, "or": []}]), "condition 1: the key 'or' is not known."),
        (rule(when=[{"fact": "risk.score", "op": ">"}]), 'condition 1: the key "value" is missing.'),
        (rule(when=["risk.score > 3"]), "condition 1: it is not an object."),
        (rule(when=[OVER] * 11), '"when" must be a list of at most 10 conditions.'),
        (rule(when={}), '"when" must be a list of at most 10 conditions.'),
        (rule(tools=[]), '"tools" must be a list of 1 to 50 tools or classes of tools.'),
        (rule(tools="pay"), '"tools" must be a list of 1 to 50 tools or classes of tools.'),
        (rule(tools=["steal"], when=[]), "there is no tool 'steal' here."),
        (
            rule(tools=["tier:hard"], when=[]),
            "'tier:hard' is no tool; write a name, all, or tier:, data: or capability: and a value.",
        ),
        (rule(tools=["capability:fly"], when=[]), "there is no tool 'capability:fly' here."),
        (rule(tools=[7], when=[]), "7 is no tool; write a name, all, or tier:, data: or capability: and a value."),
        (rule(effect="allow"), '"effect" must be ask or forbid; what an agent may do at all is set with its grant.'),
        (rule(effect=None), 'the key "effect" is missing.'),
        (rule(queue="nobody"), "there is no queue 'nobody' here."),
        (rule(people=6), '"people" must be a number from 1 to 5.'),
        (rule(people=0), '"people" must be a number from 1 to 5.'),
        (rule(people=True), '"people" must be a number from 1 to 5.'),
        (rule(effect="forbid", people=2), "a rule that forbids asks nobody, so it has no queue and no people."),
        (rule(words=""), '"words" must say it to a person, in 1 to 200 characters.'),
        (rule(words="x" * 201), '"words" must say it to a person, in 1 to 200 characters.'),
        (rule(words="a\u200bb"), '"words" holds characters that cannot be seen.'),
        (rule(words="\ud800"), '"words" holds characters that cannot be seen.'),
        (rule(id="Big one"), "its id must be 1 to 60 small letters, digits, - and _."),
        (rule(id=3), "its id must be 1 to 60 small letters, digits, - and _."),
        (rule(note="x"), "the key 'note' is not known."),
        ("rule", "it is not an object."),
    ],
)
def test_rule_that_is_wrong_is_refused_with_its_place(raw: Any, problem: str) -> None:
    found = problems(text(raw))
    assert problem in [each.partition(": ")[2] for each in found]
    assert {each.partition(":")[0] for each in found} <= {'Rule 1 "big"', "Rule 1"}


@pytest.mark.parametrize(
    ("conditions", "fact"),
    [
        ([OVER, when("money.minor", "<", "50.00", "USD")], "money.minor"),
        ([OVER, when("money.minor", "=", "49.00", "USD")], "money.minor"),
        ([OVER, when("money.customer_day_minor", ">", "1.00", "EUR")], "money.currency"),
        ([OVER, when("money.currency", "=", "EUR")], "money.currency"),
        ([OVER, when("money.present", "=", False)], "money.present"),
        ([when("risk.score", ">", 100)], "risk.score"),
        ([when("session.priority", ">=", 3), when("session.priority", "!=", 3)], "session.priority"),
        ([when("rate.unusual", "=", True), when("rate.unusual", "!=", True)], "rate.unusual"),
        ([when("tool.tier", "one of", ["read"]), when("tool.tier", "=", "write-hard")], "tool.tier"),
        ([when("arguments.speed", "!=", "slow"), when("arguments.speed", "!=", "fast")], "arguments.speed"),
        ([when("origin.to", "=", "request"), when("origin.to", "=", "untrusted")], "origin.to"),
        ([when("target", "=", "a"), when("target", "=", "b")], "target"),
    ],
)
def test_conditions_that_never_hold_together_are_refused(conditions: list[Any], fact: str) -> None:
    reason = f"its conditions can never hold together: no value of {fact} satisfies them."
    assert problems(text(rule(when=conditions))) == [f'Rule 1 "big": {reason}']


@pytest.mark.parametrize(
    "conditions",
    [
        [],
        [OVER, when("money.minor", "<=", "50.01", "USD")],
        [OVER, when("money.currency", "one of", ["USD", "EUR"])],
        [when("risk.score", ">", 99)],
        [when("session.priority", ">=", 2), when("session.priority", "!=", 2)],
        [when("target", "!=", "a"), when("target", "!=", "b")],
        [when("arguments.items[].sku", "=", "a"), when("arguments.items[].sku", "=", "b")],
        [when("arguments.note", "=", "x")],
    ],
)
def test_conditions_that_can_hold_are_accepted(conditions: list[Any]) -> None:
    assert len(read(text(rule(when=conditions)), HOUSE)["rules"]) == 1


def test_same_conditions_with_another_effect_are_refused() -> None:
    again = {**OVER, "value": "50.0"}
    steps = when("session.steps", ">", 3)
    first = rule(id="a", tools=["tier:write-hard"], when=[OVER, steps])
    second = rule(id="b", effect="forbid", when=[steps, again])
    same = 'Rule 2 "b": it has the same conditions as Rule 1 "a" for the same tool, and another effect.'
    assert problems(text(first, second)) == [same]
    assert len(read(text(first, {**second, "tools": ["write"], "when": [steps]}), HOUSE)["rules"]) == 2
    assert len(read(text(first, {**second, "effect": "ask"}), HOUSE)["rules"]) == 2


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ('{"rules": []}', "The list of rules is empty. To have no rules, withdraw the active version."),
        ("[]", 'The document must be one object with the key "rules" and a list of rules; '),
        ('{"rules": {}}', 'The document must be one object with the key "rules" and a list of rules; '),
        ('{"rules": [], "more": 1}', 'The document must be one object with the key "rules" and a list of rules; '),
        ('{"rules": [], "rules": []}', "The document is the key 'rules' stands twice."),
        ('{"rules": [NaN]}', "The document is NaN is not a number we accept."),
        ("{", "The document is not valid JSON: "),
        ("[" * 100_000, "The document is nested too deeply."),
        (b'{"rules": ["\xff"]}', "The document is not valid JSON: "),
        (text(*[rule(id=f"r{n}") for n in range(201)]), "There are 201 rules; at most 200 are allowed."),
        (text(rule(), rule()), 'Rule 2 "big": rule 1 has the same id.'),
    ],
)
def test_document_that_is_no_rule_set_is_refused(document: str | bytes, problem: str) -> None:
    found = problems(document)
    assert len(found) == 1
    assert found[0].startswith(problem)


def test_megabyte_is_refused_before_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json, "loads", lambda *args, **kwargs: pytest.fail("it was read"))
    assert problems(" " * 1_000_000) == [f"The document is larger than {MOST_BYTES} bytes."]


def test_work_on_a_hostile_document_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many wrong rules as fit: after a page of problems nothing more is looked at."""
    looked = []
    real = rule_check._condition
    monkeypatch.setattr(rule_check, "_condition", lambda raw, tools: looked.append(raw) or real(raw, tools))
    wrong = [rule(id=f"r{n}", when=[when("target", "=", "a" * 300)] * 10) for n in range(100)]
    assert len(problems(text(*wrong))) == MOST_PROBLEMS
    assert len(looked) <= MOST_PROBLEMS + 10


def test_shown_values_are_short_and_plain() -> None:
    found = problems(text(rule(effect="x" * 9_000, queue="\u202e" * 9_000, people="9" * 9_000)))
    assert all(len(problem) < 250 and problem.isprintable() for problem in found)


def test_largest_document_is_accepted() -> None:
    conditions = [OVER, *(when("session.steps", "!=", n) for n in range(9))]
    largest = [rule(id=f"r{n}", when=conditions, words="w" * 200) for n in range(200)]
    assert len(rules(*largest).rules) == 200


@pytest.mark.parametrize(
    ("money", "expected"),
    [
        ((5001, "USD"), Effect.ASK),
        ((5000, "USD"), Effect.ALLOW),
        ((1, "EUR"), Effect.FORBID),
        (None, Effect.ALLOW),
    ],
)
def test_money_is_compared_in_its_currency_only(money: tuple[int, str] | None, expected: Effect) -> None:
    assert effect(rules(rule()), facts(money=money)) is expected


def test_each_currency_needs_its_own_rule() -> None:
    euros = rule(id="euros", when=[{**OVER, "unit": "EUR", "value": "45.00"}])
    found = rules(rule(), euros)
    told = {
        (minor, unit): effect(found, facts(money=(minor, unit))) for minor in (4600, 5001) for unit in ("USD", "EUR")
    }
    assert told == {
        (4600, "USD"): Effect.ALLOW,
        (4600, "EUR"): Effect.ASK,
        (5001, "USD"): Effect.ASK,
        (5001, "EUR"): Effect.ASK,
    }
    assert effect(found, facts(money=(1, "JPY"))) is Effect.FORBID
    assert effect(found, facts(WRITE, money=(1, "JPY"))) is Effect.ALLOW


def test_order_of_conditions_does_not_matter() -> None:
    """A call without money has no amount to compare, wherever the condition on it stands."""
    conditions = [when("money.currency", "!=", "EUR"), when("session.steps", "=", 3), OVER]
    for order in (conditions, conditions[::-1]):
        found = rules(rule(when=order))
        assert effect(found, facts()) is Effect.ALLOW
        assert effect(found, facts(money=(5001, "USD"))) is Effect.ASK


@pytest.mark.parametrize(
    ("tools", "concerned"),
    [
        (["pay"], {"pay"}),
        (["tier:write-soft"], {"write"}),
        (["data:personal"], {"look", "write"}),
        (["capability:pay", "look"], {"pay", "look"}),
        (["all"], {"pay", "write", "look"}),
    ],
)
def test_rule_is_about_the_tools_it_names(tools: list[str], concerned: set[str]) -> None:
    found = rules(rule(tools=tools, when=[], effect="forbid"))
    assert {tool.name for tool in (PAY, WRITE, LOOK) if effect(found, facts(tool)) is Effect.FORBID} == concerned


def test_verdict_names_the_rule_its_queue_and_its_people() -> None:
    found = rules(rule(queue="legal", people=2))
    verdict = decide(facts(money=(9999, "USD")), [ALLOWED, *found.rules_for(facts()["tool"])])
    assert (verdict.effect, verdict.queue, verdict.people) == (Effect.ASK, "legal", 2)
    assert [(reason.rule, reason.words) for reason in verdict.reasons] == [
        ("tenant.big", "More than $50.00."),
        ("base", "yes"),
    ]


@pytest.mark.parametrize(
    ("document", "pay", "write"),
    [
        ({"rules": [{**rule(), "when": [when("gone.fact", ">", 1)]}]}, Effect.FORBID, Effect.ALLOW),
        ({"rules": [{**rule(), "when": [{**OVER, "unit": "XXQ"}]}]}, Effect.FORBID, Effect.ALLOW),
        ({"rules": [{**rule(), "when": [{**OVER, "value": 3}]}]}, Effect.FORBID, Effect.ALLOW),
        ({"rules": [{**rule(), "effect": "allow"}]}, Effect.FORBID, Effect.ALLOW),
        ({"rules": [{**rule(), "when": [when("risk.score", "~", 1)]}]}, Effect.FORBID, Effect.ALLOW),
        ({"rules": [{**rule(), "tools": []}]}, Effect.FORBID, Effect.FORBID),
        ({"rules": [{**rule(), "tools": ["realm:x"]}]}, Effect.FORBID, Effect.FORBID),
        ({"rules": [None]}, Effect.FORBID, Effect.FORBID),
        ({"rules": None}, Effect.FORBID, Effect.FORBID),
        ([], Effect.FORBID, Effect.FORBID),
    ],
)
def test_stored_rule_that_cannot_be_read_forbids(document: Any, pay: Effect, write: Effect) -> None:
    found = compiled(document, "d")
    assert (effect(found, facts(money=(1, "USD"))), effect(found, facts(WRITE))) == (pay, write)


def test_older_facts_without_the_class_of_the_tool_are_not_taken_as_another() -> None:
    found = rules(rule(tools=["data:financial"], when=[]))
    known, older = facts(), facts()
    del older["tool"]["data_class"]
    assert effect(found, known) is Effect.ASK
    assert effect(found, older) is Effect.FORBID
    asked = decide(older, [ALLOWED, *found.rules_for(older["tool"])], not_recorded=Effect.ASK)
    assert [(reason.rule, reason.recorded) for reason in asked.reasons] == [("tenant.big", False), ("base", True)]


def test_queues_are_those_of_rules_and_of_packs() -> None:
    banned = {"id": "b", "phrases": ["x"], "words": "No.", "effect": "ask", "queue": "legal"}
    in_banned = {"name": "p", "version": 1, "banned": [banned, {"id": "c", "phrases": ["y"], "words": "No."}]}
    in_reviews = {
        "name": "p",
        "version": 1,
        "reviews": [{"id": "r", "phrases": ["x"], "words": "R.", "queue": "legal"}],
    }
    in_templates = {"name": "p", "version": 1, "templates": [{"id": "t", "text": "Hi."}], "template_queue": "legal"}
    for pack in (in_banned, in_reviews, in_templates):
        document = read(json.dumps({"rules": [rule(queue="payments"), rule(id="b")], "packs": [pack]}), HOUSE)
        assert compiled(document, "d").queues == {"payments", "legal"}
    assert NO_RULES.queues == frozenset()


def test_no_rules_are_no_rules() -> None:
    assert NO_RULES.rules_for(facts()["tool"]) == ()
