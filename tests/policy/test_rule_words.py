"""Rule sets in words, and what differs between two of them."""

import json

from agentops.policy.rule_check import read
from agentops.policy.rule_words import difference, said
from tests.policy.rule_sets import HOUSE, OVER, rule, text, when


def test_difference_says_each_rule_in_a_sentence() -> None:
    old = read(text(rule(), rule(id="gone", tools=["all"], when=[], effect="forbid")), HOUSE)
    changed = rule(people=2, queue="legal", when=[OVER, when("rate.unusual", "=", True)])
    new = read(text(changed, rule(id="fresh", when=[when("tool.tier", "one of", ["read"])])), HOUSE)
    found = difference(old, new)
    assert [each.sentence for each in found.added] == ["Ask for pay when tool.tier is one of read."]
    assert [each.sentence for each in found.removed] == ["Forbid for every tool, always."]
    assert [(before.sentence, after.sentence) for before, after in found.changed] == [
        (
            "Ask for pay when money.minor > $50.00.",
            "Ask 2 people in legal for pay when money.minor > $50.00 and rate.unusual = yes.",
        )
    ]
    assert difference(new, new).is_empty
    assert [each.id for each in said(None)] == []


def test_difference_shows_each_rule_of_a_pack() -> None:
    never = {"id": "never", "phrases": ["we guarantee"], "words": "Nothing is guaranteed."}
    first = {"name": "advice", "version": 2, "banned": [never], "templates": [{"id": "t", "text": "Hello {}."}]}
    first |= {"tools": ["write"], "template_queue": "legal"}
    asks = {"id": "offer", "phrases": ["special offer", "sale"], "words": "Look.", "effect": "ask", "queue": "legal"}
    look = {"id": "look", "phrases": ["we recommend"], "words": "Read it."}
    days = {"id": "days", "text": "Ten days.", "words": "Say it.", "phrases": ["return"], "above_risk": 40}
    second = {"name": "more", "version": 1, "banned": [asks], "disclaimers": [days, {**days, "id": "d"}]}
    second |= {"reviews": [look]}
    del second["disclaimers"][1]["phrases"], second["disclaimers"][1]["above_risk"]
    document = read(json.dumps({"rules": [], "packs": [first, second]}), HOUSE)
    assert [(each.id, each.sentence, each.words) for each in said(document)] == [
        ("pack advice", "Version 2 for write. What follows no template is asked in legal.", ""),
        ("pack advice: never", "Forbid for texts with “we guarantee”.", "Nothing is guaranteed."),
        ("pack advice: t", "Let texts pass that follow “Hello {}.”.", ""),
        ("pack more", "Version 1 for every tool that sends a text out.", ""),
        ("pack more: offer", "Ask in legal for texts with “special offer”, “sale”.", "Look."),
        ("pack more: days", "Demand “Ten days.” beside “return” above a risk of 40.", "Say it."),
        ("pack more: d", "Demand “Ten days.” always.", "Say it."),
        ("pack more: look", "Ask for texts with “we recommend”.", "Read it."),
    ]
    mended = {**first, "banned": [{**never, "phrases": ["we guarantee", "we promise"]}]}
    changed = difference(document, {"rules": [], "packs": [mended]})
    assert [(before.sentence, after.sentence) for before, after in changed.changed] == [
        ("Forbid for texts with “we guarantee”.", "Forbid for texts with “we guarantee”, “we promise”.")
    ]
    assert [each.id for each in changed.removed][:2] == ["pack more", "pack more: offer"]
