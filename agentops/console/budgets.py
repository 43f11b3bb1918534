"""What a session has used of the limits of its agent's version, with the warnings it was given."""

from collections.abc import Sequence

from agentops.console.formats import cost_words, duration_words
from agentops.console.marks import Kind
from agentops.console.panels import BudgetRow
from agentops.console.records import Told
from agentops.runtime.guards import WARN_AT, Budget
from agentops.runtime.models import Session


def budgets_of(session: Session, outline: Sequence[Told]) -> list[BudgetRow]:
    """Return a row for each limit. Money that is set aside for a model call under way is named beside the cost."""
    version, tokens = session.agent_version, session.input_tokens + session.output_tokens
    most_ms, cost, most_cost = version.max_seconds * 1000, session.cost_micro, version.max_cost_micro
    reserved = f"{cost_words(session.reserved_micro)} set aside for a call under way" if session.reserved_micro else ""
    rows = [
        (Budget.STEPS, "Steps", session.steps, version.max_steps, f"{session.steps:,}", f"{version.max_steps:,}"),
        (Budget.TIME, "At work", session.worked_ms, most_ms, _seconds(session.worked_ms), _seconds(most_ms)),
        (Budget.COST, "Cost", cost, most_cost, cost_words(cost), cost_words(most_cost)),
        (Budget.TOKENS, "Tokens", tokens, version.max_tokens, f"{tokens:,}", f"{version.max_tokens:,}"),
    ]
    warned = _warned(outline)
    return [
        BudgetRow(
            label=label,
            used=used_words,
            limit=limit_words,
            share=min(1000, 1000 * used // limit) if limit else 0,
            kind=_kind(used, limit),
            warned=warned.get(kind, ()),
            note=reserved if kind is Budget.COST else "",
        )
        for kind, label, used, limit, used_words, limit_words in rows
    ]


def _seconds(milliseconds: int) -> str:
    return duration_words(milliseconds / 1000)


def _kind(used: int, limit: int) -> Kind:
    if used >= limit:
        return "stop"
    return "notice" if used * 100 >= limit * WARN_AT[-1] else "plain"


def _warned(outline: Sequence[Told]) -> dict[str, list[tuple[int, int]]]:
    found: dict[str, list[tuple[int, int]]] = {}
    for event in outline:
        if event.type == "budget.warned":
            warning = (int(event.facts.get("percent", 0)), event.position)
            found.setdefault(str(event.facts.get("kind")), []).append(warning)
    return found
