"""What came of a scenario against what was expected, as sentences (pure)."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from agentops.registry.scenario import Asked, Expected, Made


@dataclass
class Found:
    """What came of a scenario; the first three are those of its last session.

    ``hard`` names the tools whose effects must all be expected. ``figures`` are reported as they are. ``problems`` are
    sentences about what should never be, whatever was expected.
    """

    status: str = ""
    outcome: str = ""
    stopped: str = ""
    made: list[Made] = field(default_factory=list)
    hard: frozenset[str] = frozenset()
    asked: list[Asked] = field(default_factory=list)
    questions: int = 0
    records: Mapping[str, Any] = field(default_factory=dict)
    figures: Mapping[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def ending(self) -> str:
        """How the last session ended, in words."""
        if self.stopped:
            return f"{self.outcome}, stopped: {self.stopped}"
        return self.outcome if self.status == "finished" else self.status


def differences(expected: Expected, found: Found) -> list[str]:
    """Return what is not as expected, one sentence each; nothing when the scenario passed."""
    return [
        *found.problems,
        *_of_the_end(expected, found),
        *_of_effects(expected, found),
        *_of_questions(expected, found),
        *_of_records(expected.records, found.records),
    ]


def _of_the_end(expected: Expected, found: Found) -> Iterator[str]:
    status = "stopped" if expected.stopped else "finished"
    if (found.status, found.outcome, found.stopped) != (status, expected.outcome, expected.stopped):
        wanted = Found(status, expected.outcome, expected.stopped).ending
        yield f"The session ended as {found.ending or 'nothing'}; expected was {wanted}."


def _of_effects(expected: Expected, found: Found) -> Iterator[str]:
    left = list(found.made)
    for made in expected.made:
        match = next((each for each in left if each.tool == made.tool and _holds(made.arguments, each.arguments)), None)
        if match is None:
            yield f"{_call(made)} did not take effect."
        else:
            left.remove(match)
    for made in left:
        if made.tool in found.hard or made.tool in expected.not_made:
            yield f"{_call(made)} took effect, which was not expected."


def _of_questions(expected: Expected, found: Found) -> Iterator[str]:
    if found.questions != expected.questions:
        yield f"The planner asked {found.questions} questions; expected were {expected.questions}."
    for number, (wanted, asked) in enumerate(zip(expected.asked, found.asked, strict=False), start=1):
        if wanted.tool != asked.tool or not _holds(wanted.arguments, asked.arguments):
            yield f"Decision {number} was about {_call(asked)}; expected was {_call(wanted)}."
        elif (wanted.people, wanted.refused) != (asked.people, asked.refused):
            yield (f"Decision {number}, about {asked.tool}, took {_people(asked)}; expected was {_people(wanted)}.")
    for asked in found.asked[len(expected.asked) :]:
        yield f"People were asked to decide {_call(asked)}, which was not expected."
    for wanted in expected.asked[len(found.asked) :]:
        yield f"Nobody was asked to decide {_call(wanted)}."


def _of_records(expected: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    for name, value in expected.items():
        if name not in found:
            yield f"There is no {name} in the records; expected was {_value(value)}."
        elif found[name] != value:
            yield f"{name} is {_value(found[name])}; expected was {_value(value)}."


def _holds(wanted: Mapping[str, Any], arguments: Mapping[str, Any]) -> bool:
    return all(name in arguments and arguments[name] == value for name, value in wanted.items())


def _call(call: Made | Asked) -> str:
    return f"{call.tool}({', '.join(f'{name}={_value(value)}' for name, value in sorted(call.arguments.items()))})"


def _people(asked: Asked) -> str:
    refused = f" after {', '.join(asked.refused)}" if asked.refused else ""
    return f"{asked.people} {'person' if asked.people == 1 else 'people'}{refused}"


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
