"""Compliance packs as a document: every problem is named, and one that cannot be read any more forbids."""

import json
from typing import Any

import pytest

from agentops.policy.compliance import Banned, Disclaimer, Pack, Review, Template
from agentops.policy.engine import decide
from agentops.policy.packs import MOST_HOLES, MOST_PACKS, compiled_packs, problems_of_packs
from agentops.policy.rule_check import BadRules, read
from agentops.policy.rules import Effect
from agentops.policy.ruleset import compiled
from tests.policy.rule_sets import HOUSE, rule

BANNED = {"id": "guarantee", "phrases": ["we guarantee"], "words": "Nothing is guaranteed."}
DISCLAIMER = {"id": "returns", "text": "Returns take up to 10 days.", "words": "Say how long."}
REVIEW = {"id": "personal", "phrases": ["we recommend"], "words": "Read it.", "queue": "legal"}
TEMPLATE = {"id": "thanks", "text": "Hello {},\n\nthank you."}


def pack(**changes: Any) -> dict[str, Any]:
    """A sound pack, with changes; None takes a key away."""
    sound = {
        "name": "advice",
        "version": 2,
        "tools": ["write"],
        "banned": [BANNED],
        "disclaimers": [DISCLAIMER],
        "reviews": [REVIEW],
        "templates": [TEMPLATE],
        "template_queue": "legal",
    }
    return {key: value for key, value in {**sound, **changes}.items() if value is not None}


def problems(*packs: Any) -> list[str]:
    return list(problems_of_packs(list(packs), tools=HOUSE.tools, queues=HOUSE.queues))


def test_sound_pack_has_no_problems_and_compiles() -> None:
    assert problems(pack()) == []
    assert compiled_packs([pack()]) == (
        Pack(
            *("advice", 2, frozenset({"write"})),
            (Banned("guarantee", ("we guarantee",), "Nothing is guaranteed."),),
            (Disclaimer("returns", (), "Say how long.", "Returns take up to 10 days."),),
            (Review("personal", ("we recommend",), "Read it.", "legal"),),
            (Template("thanks", "Hello {},\n\nthank you."),),
            "legal",
        ),
    )
    least = {"name": "a", "version": 1, "reviews": [{"id": "r", "phrases": ["x"], "words": "Read."}]}
    assert problems(least) == []
    assert compiled_packs([least]) == (Pack("a", 1, reviews=(Review("r", ("x",), "Read."),)),)
    asking = {**BANNED, "effect": "ask", "queue": "legal"}
    (compiled_one,) = compiled_packs([pack(banned=[asking], disclaimers=[{**DISCLAIMER, "above_risk": 40}])])
    assert (compiled_one.banned[0].effect, compiled_one.banned[0].queue) == (Effect.ASK, "legal")
    assert compiled_one.disclaimers[0].above_risk == 40


NAMED = 'Pack 1 "advice": '


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"tools": ["look"]}, NAMED + "'look' is no tool that sends a text out."),
        ({"tools": ["no\u202epe"]}, NAMED + "'no\\u202epe' is no tool that sends a text out."),
        (
            {"banned": None, "disclaimers": [], "reviews": [], "templates": None, "template_queue": None},
            NAMED + "it says nothing about any text.",
        ),
        ({"reviews": [{**REVIEW, "id": "guarantee"}]}, NAMED + "two rules have the id 'guarantee'."),
        (
            {"reviews": [{**REVIEW, "id": "template"}]},
            NAMED + "'template' is the id of what follows no template; choose another.",
        ),
        (
            {"banned": [{**BANNED, "phrases": ["ok", "\u200b \u0301"]}]},
            NAMED + "'guarantee' has a phrase without anything that could be compared.",
        ),
        (
            {"disclaimers": [{**DISCLAIMER, "text": " "}]},
            NAMED + "'returns' has a phrase without anything that could be compared.",
        ),
        (
            {"banned": [{**BANNED, "words": "No\u202e."}]},
            NAMED + "'guarantee' has words that cannot be read: they are one line, without hidden characters.",
        ),
        (
            {"banned": [{**BANNED, "words": "  "}]},
            NAMED + "'guarantee' has words that cannot be read: they are one line, without hidden characters.",
        ),
        (
            {"reviews": [{**REVIEW, "queue": "nobody"}]},
            NAMED + "'personal' names 'nobody', which is no approval queue.",
        ),
        (
            {"banned": [{**BANNED, "effect": "forbid", "queue": "legal"}]},
            NAMED + "'guarantee' forbids, which asks nobody, so it has no queue.",
        ),
        (
            {"banned": [{**BANNED, "queue": "legal"}]},
            NAMED + "'guarantee' forbids, which asks nobody, so it has no queue.",
        ),
        (
            {"template_queue": "nobody"},
            NAMED + "'nobody', for texts that follow no template, is no approval queue.",
        ),
        (
            {"templates": None},
            NAMED + "it has a queue for texts that follow no template, and no templates.",
        ),
        (
            {"templates": [{"id": "t", "text": "a {}" * (MOST_HOLES + 1)}]},
            NAMED + f"'t' has more than {MOST_HOLES} holes.",
        ),
        ({"templates": [{"id": "t", "text": "{}, {}!"}]}, NAMED + "'t' has no words around its holes."),
        ({"templates": [{"id": "t", "text": "Hello {} {}"}]}, NAMED + "'t' has holes with nothing between them."),
        (
            {"disclaimers": [{**DISCLAIMER, "text": "This WE  guarantee."}]},
            NAMED + "'returns' has a text that 'guarantee' forbids.",
        ),
        (
            {"templates": [{"id": "t", "text": "Hello {}, we guarantee it."}]},
            NAMED + "'t' has a text that 'guarantee' forbids.",
        ),
    ],
)
def test_problem_names_pack_and_place(changes: dict[str, Any], said: str) -> None:
    assert problems(pack(**changes)) == [said]


@pytest.mark.parametrize(
    ("broken", "place"),
    [
        ("text", "it"),
        (pack(name=None), "it"),
        (pack(version=None), "it"),
        (pack(extra=1), "it"),
        (pack(name="Not plain"), "name"),
        (pack(version=0), "version"),
        (pack(version=1.5), "version"),
        (pack(version=True), "version"),
        (pack(tools="write"), "tools"),
        (pack(banned=[{**BANNED, "phrases": []}]), "banned.0.phrases"),
        (pack(banned=[{**BANNED, "phrases": "we"}]), "banned.0.phrases"),
        (pack(banned=[{**BANNED, "phrases": ["x" * 201]}]), "banned.0.phrases.0"),
        (pack(banned=[{**BANNED, "phrases": [["x"]]}]), "banned.0.phrases.0"),
        (pack(banned=[{**BANNED, "effect": "allow"}]), "banned.0.effect"),
        (pack(banned=[{**BANNED, "words": "x" * 301}]), "banned.0.words"),
        (pack(disclaimers=[{**DISCLAIMER, "above_risk": 100}]), "disclaimers.0.above_risk"),
        (pack(disclaimers=[{**DISCLAIMER, "effect": "ask"}]), "disclaimers.0"),
        (pack(disclaimers=[{**DISCLAIMER, "text": "x" * 1_001}]), "disclaimers.0.text"),
        (pack(reviews=[{"id": "r", "phrases": ["x"]}]), "reviews.0"),
        (pack(templates=[{"id": "t"}]), "templates.0"),
        (pack(banned=[{**BANNED, "id": f"r{n}"} for n in range(201)]), "banned"),
    ],
)
def test_wrong_shape_is_named_forbids_and_is_never_saved(broken: Any, place: str) -> None:
    found = problems(pack(name="first"), broken)
    assert [problem.startswith(f"Pack 2: {place} ") for problem in found] == [True]
    with pytest.raises(ValueError, match="cannot be read any more"):
        compiled_packs([broken])
    with pytest.raises(BadRules):
        read(json.dumps({"rules": [], "packs": [broken]}), HOUSE)
    unreadable = compiled({"rules": [rule()], "packs": [broken]}, "d")
    assert unreadable.packs == ()
    for tool in ("pay", "look", "anything"):
        verdict = decide({"tool": {"name": tool}}, unreadable.rules_for({"name": tool}))
        assert verdict.effect is Effect.FORBID


@pytest.mark.parametrize("packs", [None, {}, "packs", {"name": "advice"}, [pack(name=f"p{n}") for n in range(21)]])
def test_list_of_packs_is_a_short_list(packs: Any) -> None:
    said = f'"packs" must be a list of at most {MOST_PACKS} compliance packs.'
    assert list(problems_of_packs(packs, tools=HOUSE.tools, queues=HOUSE.queues)) == [said]


@pytest.mark.parametrize("packs", [None, {}, "packs", {"name": "advice"}, 7])
def test_packs_that_are_no_list_forbid_everything(packs: Any) -> None:
    rules = compiled({"rules": [], "packs": packs}, "d").rules_for({"name": "pay"})
    assert decide({"tool": {"name": "pay"}}, rules).effect is Effect.FORBID


def test_name_is_used_once() -> None:
    twice = "another pack has the same name."
    assert problems(pack(), pack(name="b"), pack()) == [f'Pack 1 "advice": {twice}', f'Pack 3 "advice": {twice}']


def test_all_problems_of_all_packs_are_told() -> None:
    first = pack(tools=["look"], template_queue="nobody")
    assert len(problems(first, pack(name="b", reviews=[{**REVIEW, "queue": "x", "phrases": ["\u200b"]}]), 7)) == 5


def test_packs_alone_are_a_rule_set() -> None:
    document = read(json.dumps({"rules": [], "packs": [pack()]}), HOUSE)
    rules = compiled(document, "d")
    assert (rules.rules, [each.name for each in rules.packs]) == ((), ["advice"])
    with pytest.raises(BadRules, match="list of rules is empty"):
        read(json.dumps({"rules": [], "packs": []}), HOUSE)
