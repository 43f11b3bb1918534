"""The tables of the rule set pages, as values for the admin's table component."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from agentops.kernel.money import Money
from agentops.policy.rule_words import Said
from agentops.policy.rules import Effect
from agentops.policy.simulate import WAYS, Cell, Summary
from agentops.policy.vocabulary import VOCABULARY
from agentops.registry.tool import DataClass, Tier

Table = dict[str, Any]
_EFFECTS = (Effect.ALLOW, Effect.ASK, Effect.FORBID)
_WOULD = {Effect.ALLOW: "would run", Effect.ASK: "would ask", Effect.FORBID: "would be refused"}
_MOST_LISTED = 12


@dataclass(frozen=True)
class Result:
    """What a simulation came to, as tables, and in one sentence."""

    sentence: str
    matrix: Table
    rules: Table
    tools: Table
    examples: Table


def result_of(summary: Summary, days: int) -> Result:
    """Return the tables of a summary."""
    return Result(headline(summary, days), _matrix(summary), _rules(summary), _tools(summary), _examples(summary))


def headline(summary: Summary, days: int) -> str:
    """Return what a simulation came to in a sentence or two."""
    asked_then = sum(cell.count for (then, _), cell in summary.matrix.items() if then is Effect.ASK)
    asked_now = sum(cell.count for (_, now), cell in summary.matrix.items() if now is Effect.ASK)
    caught = sum(
        cell.undone for (then, now), cell in summary.matrix.items() if then is Effect.ALLOW and now is not Effect.ALLOW
    )
    loosened = sum(
        cell.outcomes["rejected"]
        for (then, now), cell in summary.matrix.items()
        if then is Effect.ASK and now is Effect.ALLOW
    )
    parts = [
        f"{summary.total:,} proposals in {days} days, {summary.changed:,} of them decided another way.",
        f"Questions to people: {asked_then:,} then, {asked_now:,} with these rules.",
        f"{caught:,} that ran and were undone later would have been caught." if caught else "",
        f"{loosened:,} that people rejected would run." if loosened else "",
    ]
    return " ".join(filter(None, parts))


def _matrix(summary: Summary) -> Table:
    rows = [[WAYS[then].capitalize(), *(_cell(summary.cell(then, now)) for now in _EFFECTS)] for then in _EFFECTS]
    return {"headers": ["Then", *(_WOULD[now] for now in _EFFECTS)], "rows": rows}


def _cell(cell: Cell) -> SafeString:
    if not cell.count:
        return format_html("{}", "0")
    lines = [
        f"{cell.count:,}",
        *(str(Money(minor, currency)) for currency, minor in sorted(cell.money.items())),
        *(f"{count:,} {_OUTCOMES.get(outcome, outcome)}" for outcome, count in sorted(cell.outcomes.items())),
        f"{cell.undone:,} undone later" if cell.undone else "",
        f"{cell.not_recorded:,} not known then" if cell.not_recorded else "",
    ]
    return format_html("<div>{}</div>", format_html_join("", "<div>{}</div>", ((line,) for line in lines if line)))


_OUTCOMES = {"open": "not decided"}


def _rules(summary: Summary) -> Table:
    found = sorted(summary.rules.items(), key=lambda item: (-item[1].new, -item[1].fired, item[0]))
    rows = [[rule, f"{n.fired:,}", f"{n.new:,}", f"{n.not_recorded:,}"] for rule, n in found[:100]]
    return {"headers": ["Rule", "Fired", "Where it had not", "Not known then"], "rows": rows}


def _tools(summary: Summary) -> Table:
    rows = []
    for tool, matrix in sorted(summary.tools.items()):
        now = {effect: sum(cell.count for (_, to), cell in matrix.items() if to is effect) for effect in _EFFECTS}
        changed = sum(cell.count for (then, to), cell in matrix.items() if then is not to)
        rows.append([tool, *(f"{now[effect]:,}" for effect in _EFFECTS), f"{changed:,}"])
    return {"headers": ["Tool", *(_WOULD[effect] for effect in _EFFECTS), "Changed"], "rows": rows}


def _examples(summary: Summary) -> Table:
    rows = [
        [f"{WAYS[then]}, {_WOULD[now]}", _links(cell.examples)]
        for (then, now), cell in sorted(summary.matrix.items())
        if cell.examples
    ]
    return {"headers": ["Change", "Steps"], "rows": rows}


def _links(examples: Iterable[tuple[str, int, str]]) -> SafeString:
    return format_html(
        "<div>{}</div>",
        format_html_join(
            ", ",
            '<a class="text-primary-600 dark:text-primary-500 underline" href="{}?at={}#step-{}">step {} of …{}</a>',
            (
                (reverse("session_detail", args=[UUID(session)]), position, position, position, session[-6:])
                for session, position, _ in examples
            ),
        ),
    )


def rules_table(rules: Iterable[Said]) -> Table:
    """Return rules in words."""
    rows = [[rule.id, rule.sentence, rule.words] for rule in rules]
    return {"headers": ["Rule", "What it does", "What people are told"], "rows": rows}


def vocabulary_table() -> Table:
    """Return what a rule may compare."""
    rows = [
        [fact.path, fact.words, _type(fact.type.value, fact.unit), _listed(fact.choices) or " ".join(fact.comparisons)]
        for fact in VOCABULARY.values()
    ]
    return {"headers": ["Fact", "What it is", "Type and unit", "Values or comparisons"], "rows": rows}


def _type(name: str, unit: str) -> str:
    return f"{name}; unit {unit}" if unit else name


def _listed(choices: frozenset[str]) -> str:
    return ", ".join(sorted(choices)) if len(choices) <= _MOST_LISTED else ""


CLASSES = (
    ("all", "every tool"),
    (f"tier: {', '.join(tier.value for tier in Tier)}", "how much the tool can break"),
    (f"data: {', '.join(data.value for data in DataClass)}", "the most sensitive data that it touches"),
    ("capability: a role's own word", "what the tool does"),
)
"""The classes of tools beside their names, in words."""
