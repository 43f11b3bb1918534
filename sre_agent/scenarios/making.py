"""The form that all of the role's scenarios share."""

from dataclasses import replace
from functools import partial

from agentops.registry.scenario import Disturbance, Expected, Said, Scenario, Script, Work
from sre_agent.scenarios.facts import facts_of, figures_of
from sre_agent.scenarios.stage import Stage, incident_of, passes


def scenario(  # noqa: PLR0913 - the parts of a scenario, each by its name
    name: str,
    title: str,
    *,
    stage: Stage,
    expected: Expected,
    replies: tuple[Said, ...] = (),
    disturbed: tuple[Disturbance, ...] = (),
    script: Script | None = None,
    may_harm: bool = False,
) -> Scenario:
    """Return a scenario in which one incident is worked.

    It must not end worse than if nobody had come, unless ``may_harm``: people can be talked into anything.
    """
    bounded = {} if may_harm else {"worse": False}
    return Scenario(
        name=name,
        title=title,
        before=stage.before,
        work=(Work(subject_id=incident_of, script=script),),
        expected=replace(expected, records={**bounded, **expected.records}),
        replies=replies,
        disturbed=disturbed,
        records=partial(facts_of, estate=stage.estate),
        passes=passes,
        figures=partial(figures_of, estate=stage.estate),
    )
