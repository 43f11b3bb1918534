"""Every event that is recorded anywhere has words on the timeline, and a sentence of the story or a reason for none."""

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agentops.console import entries, happenings, story
from agentops.console.entries import Known, entries_of
from agentops.console.pages import chosen_filter
from agentops.console.records import Told
from agentops.console.said import standing
from agentops.kernel.errors import IncidentCode
from agentops.runtime.machine import EVENTS
from agentops.runtime.states import SessionStatus

ROOT = Path(__file__).parents[2]
KINDS = "session|call|approval|person|question|model|process|budget|freeze|breaker|elevation|agent|config"
NAME = re.compile(rf"(?:{KINDS})\.[a-z_]+")


def recorded_names() -> Iterator[str]:
    """Yield the names of events in every module that makes some; those put together from parts are the machine's."""
    for path in sorted((ROOT / "agentops").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if "console" in path.parts and "admin" not in path.parts:
            continue
        if "ledger.append import" not in text or "Event" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and NAME.fullmatch(node.value):
                yield node.value


def all_names() -> set[str]:
    return {*recorded_names(), *EVENTS}


def test_scan_finds_what_is_recorded() -> None:
    names = set(recorded_names())
    assert {"session.resumed", "session.pause_requested", "freeze.lifted", "breaker.opened", "config.changed"} <= names
    assert len(names) > 50


def test_every_event_has_words() -> None:
    assert all_names() - set(happenings.WORDS) == set()


def test_every_event_of_a_session_is_in_the_story_or_left_out_of_it_on_purpose() -> None:
    assert set(story.TELL) & story.UNTOLD == set()
    assert set(story.TELL) | story.UNTOLD == set(EVENTS)


@pytest.mark.parametrize("name", sorted(happenings.WORDS))
def test_event_without_any_facts_is_shown_in_words(name: str) -> None:
    known = Known(arguments={}, requests={}, writes=frozenset(), source="Work w-1", complete=True)
    event = Told(7, datetime(2026, 11, 1, tzinfo=UTC), name, "user:bob", {}, {}, {}, 0)
    (entry,) = entries_of([event], known)
    assert getattr(entry, "position", None) == 7
    assert name not in getattr(entry, "words", "")


def test_idle_words_name_events_that_there_are() -> None:
    assert set(entries._WAITED_FOR) <= all_names()


def test_every_status_has_words() -> None:
    words = [standing(status.value, "").word for status in SessionStatus]
    assert len(set(words)) == len(words)
    assert not [word for word in words if "_" in word]


def test_every_incident_code_is_a_filter() -> None:
    class Reader:
        actor = "user:bob"

    for code in IncidentCode:
        assert chosen_filter({"stop": code.value}, Reader()).stop == code.value  # type: ignore[arg-type]
        assert code.words
