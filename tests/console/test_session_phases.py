"""The page of a session says in which phase of its role's work it is, what is missing, and where it was answered."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from django.test import Client

from agentops.agents.models import ToolGrant
from agentops.console.phases import Need, PhaseRow, phases_of
from agentops.console.records import Told
from agentops.registry import roles
from agentops.registry.phase import Phase
from agentops.runtime.models import Session
from sre_agent.role import ACT, ROLE
from tests.console.conftest import DONE, LOOK, TELL, Stage
from tests.console.test_session_page import page_of, words_of
from tests.factories.people import Cast

PAY = Phase("act", "Paying", frozenset({"pay", "pay_back"}), ("look",), "Nothing is paid before the account was seen.")
BACK = Phase("back", "Paying back", frozenset({"pay_back"}), ("look", "history"), "Nothing goes back before its past.")


def told(position: int, tool: str, name: str = "call.read") -> Told:
    return Told(position, datetime(2026, 3, 2, tzinfo=UTC), name, "agent", {}, {"tool": tool}, {}, 0)


def test_a_phase_is_open_when_each_of_its_reads_has_succeeded() -> None:
    outline = [
        told(2, "look", "call.read_failed"),
        told(4, "look"),
        told(6, "look"),
        told(7, "history", "call.refused"),
    ]
    assert phases_of((PAY, BACK), outline, {"look", "pay", "pay_back", "note"}) == [
        PhaseRow("Paying", PAY.words, [Need("look", 4)], ["pay", "pay_back"], ["pay_back"]),
        PhaseRow("Paying back", BACK.words, [Need("look", 4), Need("history", None)], ["pay_back"], []),
    ]
    assert [row.missing for row in phases_of((PAY, BACK), outline, ())] == [[], ["history"]]
    assert [row.missing for row in phases_of((PAY,), (), ())] == [["look"]]


def test_the_phase_of_sre_names_what_a_session_still_has_to_read() -> None:
    (row,) = phases_of(ROLE.phases, [told(3, "read_logs")], {tool.name for tool in ROLE.tools})
    assert (row.title, row.missing) == (ACT.title, ["read_metrics", "list_deploys"])
    assert set(row.tools) == ACT.tools


@pytest.fixture
def with_phase(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    spec = replace(stage.toy.spec(), phases=(PAY,))
    monkeypatch.setattr(roles, "all_roles", lambda: (spec,))
    return stage


def words(client: Client, session: Session) -> str:
    return words_of(page_of(client, session))


def test_the_page_says_what_is_not_exposed_yet_and_what_is_missing(with_phase: Stage, bob: Client) -> None:
    shut = words(bob, with_phase.work(TELL, DONE))
    assert "not exposed yet Paying : look still to be answered. Nothing is paid before the account was seen." in shut
    assert "Needs look for pay , pay_back ." in shut
    session = with_phase.work(LOOK, DONE)
    page = page_of(bob, session)
    assert "exposed Paying Nothing is paid before the account was seen." in words_of(page)
    assert "still to be answered" not in page
    step = next(at for at in range(session.position) if f'<a class="mono" href="?at={at}#step-{at}">look</a>' in page)
    assert f'id="step-{step}"' in page


def test_tools_that_the_agent_was_not_given_are_not_named(with_phase: Stage, bob: Client, cast: Cast) -> None:
    ToolGrant.objects.filter(tool="pay_back").delete()
    shut = words(bob, with_phase.work(TELL, DONE))
    assert "Needs look for pay ." in shut


def test_a_role_without_phases_has_no_such_part(stage: Stage, bob: Client) -> None:
    assert "What it may call by now" not in words(bob, stage.work(TELL, DONE))
