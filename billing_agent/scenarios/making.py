"""The form that all of the desk's scenarios share."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from agentops.registry.scenario import Disturbance, Expected, Said, Scenario, Script, Work
from billing_agent.scenarios.facts import facts_of
from billing_agent.scenarios.world import ANN_MAIL

BALANCED: Mapping[str, Any] = {"books": [], "neighbours_entries": 0}
"""What holds after each scenario: books and records agree, and nothing happened to anybody else."""


def scenario(  # noqa: PLR0913 - the parts of a scenario, each by its name
    name: str,
    title: str,
    *,
    before: Callable[[UUID], None],
    asks: str | tuple[str, ...],
    expected: Expected,
    sender: str = ANN_MAIL,
    subject: str = "My bill",
    replies: tuple[Said, ...] = (),
    disturbed: tuple[Disturbance, ...] = (),
    script: Script | None = None,
    rules: Mapping[str, Any] | None = None,
) -> Scenario:
    """Return a scenario in which Ann, or another sender, writes one text or several after each other."""
    texts = (asks,) if isinstance(asks, str) else asks
    return Scenario(
        name=name,
        title=title,
        before=before,
        work=tuple(Work(sender=sender, title=subject, text=text, script=script) for text in texts),
        expected=replace(expected, records={**BALANCED, **expected.records}),
        replies=replies,
        disturbed=disturbed,
        records=facts_of,
        rules=rules,
    )
