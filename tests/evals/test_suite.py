"""Scenarios worked by the real runtime and real approvals, with the toy role."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from agentops import settings as settings_package
from agentops.evals import suite
from agentops.evals.suite import Report, UnknownScenario, run_suite
from agentops.kernel.errors import FailureKind
from agentops.llm.configuration import ModelChoice, Provider
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry import roles
from agentops.registry.planner import FinalAnswer, Question, ToolCall
from agentops.registry.role import RoleSpec
from agentops.registry.scenario import (
    Answers,
    Approves,
    Asked,
    Edits,
    Expected,
    Fails,
    LetsExpire,
    LosesAnswer,
    Made,
    Rejects,
    Scenario,
    Work,
)
from agentops.registry.tool import CallContext, NotYet
from agentops.runtime.models import Session
from agentops.runtime.states import ENDED
from tests.factories.scenes import PAID, moves, pay, scene, with_scenes
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

LIMIT = "More than $25.00 for one customer in one day."
HAND_OVER = ToolCall("hand_over", {"reason": "A person goes on."})
NOTE = ToolCall("note", {"text": "Told."})
DONE = FinalAnswer("Done.")


@pytest.fixture
def toy() -> Toy:
    return Toy()


def install(monkeypatch: pytest.MonkeyPatch, role: RoleSpec) -> RoleSpec:
    monkeypatch.setattr(roles, "all_roles", lambda: (role,))
    return role


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, toy: Toy) -> Any:
    """Work scenarios of the toy role, and return the report."""

    def work(*scenarios: Scenario, only: tuple[str, ...] = ()) -> Report:
        return run_suite(install(monkeypatch, with_scenes(toy, *scenarios)), only)

    return work


def after(*proposals: Any) -> tuple[Work, ...]:
    return (Work(sender="ann@example.com", title="Pay", text="Please pay.", script=moves(*proposals)),)


def told(report: Report) -> list[str]:
    return [words for result in report.results for words in result.differences]


def test_a_scenario_that_ends_as_expected_passes(run: Any, toy: Toy) -> None:
    report = run(scene("small", 500))
    assert (told(report), report.failed) == ([], 0)
    assert toy.vendor.balances["a-1"] == 99_500


def test_each_difference_is_said_and_the_others_go_on(run: Any) -> None:
    wrong = Expected("answered", made=(Made("pay", {"minor": 600}),), records={"balance": 1, "credit": 2})
    report = run(
        scene("wrong", 500, expected=wrong, records=lambda tenant: {"balance": 3}),
        scene("right", 400),
    )
    assert [result.passed for result in report.results] == [False, True]
    assert told(report) == [
        "The session ended as refunded; expected was answered.",
        "pay(minor=600) did not take effect.",
        'pay(account="a-1", minor=500) took effect, which was not expected.',
        "balance is 3; expected was 1.",
        "There is no credit in the records; expected was 2.",
    ]


def test_a_scenario_that_breaks_is_a_failure_and_the_others_go_on(run: Any) -> None:
    def breaks(tenant_id: UUID) -> None:
        raise ValueError("the books are on fire")

    report = run(scene("broken", 500, before=breaks), scene("right", 400))
    assert [(result.passed, result.outcome) for result in report.results] == [(False, ""), (True, "refunded")]
    assert told(report) == ["It broke: ValueError: the books are on fire"]


def test_only_the_named_ones_are_worked(run: Any) -> None:
    scenarios = (scene("one", 100), scene("two", 200), scene("three", 300))
    assert [result.name for result in run(*scenarios, only=("three", "one")).results] == ["one", "three"]
    with pytest.raises(UnknownScenario, match="no scenario 'four'"):
        run(*scenarios, only=("one", "four"))


def test_the_report_is_the_same_each_time_but_for_the_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    def once() -> dict[str, Any]:
        wrong = scene("wrong", 3_000, expected=Expected("answered"))
        role = install(monkeypatch, with_scenes(Toy(), scene("right", 500), wrong))
        return run_suite(role).as_json()

    first, second = once(), once()
    seconds = [each.pop("seconds") for report in (first, second) for each in report["scenarios"]]
    assert all(isinstance(each, float) for each in seconds)
    assert first == second
    assert first == {
        "role": "toy",
        "passed": 1,
        "failed": 1,
        "left_out": [],
        "scenarios": [
            {"name": "right", "passed": True, "outcome": "refunded", "differences": [], "figures": {}},
            {
                "name": "wrong",
                "passed": False,
                "outcome": "waiting_approval",
                "differences": [
                    f"People were asked about pay, and nobody has a reply to that. {LIMIT}",
                    "The session ended as waiting_approval; expected was answered.",
                    'People were asked to decide pay(account="a-1", minor=3000), which was not expected.',
                ],
                "figures": {},
            },
        ],
    }


@pytest.fixture
def passed() -> list[int]:
    """The seconds that went by in the scenario's world, in turn."""
    return []


def test_time_goes_by_while_a_session_sleeps_and_before_people_reply(
    monkeypatch: pytest.MonkeyPatch, toy: Toy, passed: list[int]
) -> None:
    """What is not due in the scenario's world is due once that world is old enough."""

    def look(context: CallContext, arguments: Any) -> dict[str, Any]:
        if sum(passed) < 150:
            raise NotYet("It settles.", after=timedelta(seconds=150 - sum(passed)))
        return {"balance": 1}

    def passes(tenant_id: UUID, seconds: int) -> None:
        assert Session.objects.get(tenant_id=tenant_id).status in ("sleeping", "waiting_approval", "waiting_person")
        passed.append(seconds)

    works = after(Question("How much?"), pay(3_000), ToolCall("look", {"account": "a-1"}), DONE)
    scenario = scene(
        "slow",
        3_000,
        work=works,
        replies=(Answers("All.", after_s=5), Approves(tool="pay", meanwhile=lambda tenant: passed.append(-1))),
        expected=Expected("refunded", made=(Made("pay"),), asked=(Asked("pay"),), questions=1),
        disturbed=(Fails("pay", FailureKind.UNAVAILABLE),),
        passes=passes,
        figures=lambda tenant: {"seconds": sum(passed), "waits": len(passed)},
    )
    role = with_scenes(toy, scenario)
    tools = tuple(replace(tool, run=look) if tool.name == "look" else tool for tool in role.tools)
    report = run_suite(install(monkeypatch, replace(role, tools=tools)))
    assert told(report) == []
    assert passed == [5, 60, -1, 2, 84]
    assert report.as_json()["scenarios"][0]["figures"] == {"seconds": 150, "waits": 5}
    assert "\n        seconds 150, waits 5\n" in report.as_text()


def test_figures_of_what_broke_are_none(run: Any) -> None:
    def breaks(tenant_id: UUID) -> dict[str, int]:
        raise ValueError("nobody counted")

    report = run(scene("broken", 500, figures=breaks))
    assert told(report) == ["It broke: ValueError: nobody counted"]
    assert report.as_json()["scenarios"][0]["figures"] == {}


def test_what_did_not_end_is_not_left_to_the_next_scenario(run: Any) -> None:
    run(scene("waits", 3_000), scene("right", 400))
    assert set(Session.objects.values_list("status", flat=True)) <= ENDED


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        (
            (Approves(tool="pay"),),
            Expected("refunded", made=(Made("pay", {"minor": 3_000}),), asked=(Asked("pay", 1, {"minor": 3_000}),)),
        ),
        ((Rejects(tool="pay", reason="Not ours to pay."),), Expected("escalated", asked=(Asked("pay"),))),
        ((LetsExpire(tool="pay"),), Expected("escalated", asked=(Asked("pay"),))),
        (
            (
                Edits(tool="pay", by="ada", changes={"minor": 2_600}, reason="Enough."),
                Approves(tool="pay", by="ada"),
                Approves(tool="pay"),
            ),
            Expected(
                "refunded",
                made=(Made("pay", {"minor": 2_600}),),
                asked=(Asked("pay", 1, {"minor": 3_000}), Asked("pay", 1, {"minor": 2_600}, ("EXCLUDED",))),
            ),
        ),
    ],
    ids=["approved", "rejected", "expired", "edited"],
)
def test_people_say_what_the_scenario_has_them_say(run: Any, toy: Toy, replies: Any, expected: Expected) -> None:
    work = after(pay(3_000), *((HAND_OVER,) if expected.outcome == "escalated" else ()), DONE)
    report = run(scene("asks", 3_000, work=work, replies=replies, expected=expected))
    assert told(report) == []
    assert toy.vendor.balances["a-1"] == 100_000 - sum(made.arguments["minor"] for made in expected.made)


def test_the_record_changes_while_a_call_waits(run: Any, toy: Toy) -> None:
    """The approval is of what was shown, so it does not hold, and people are asked again."""

    def changes(tenant_id: UUID) -> None:
        toy.vendor.versions["a-1"] += 1

    expected = Expected("refunded", made=(Made("pay"),), asked=(Asked("pay"), Asked("pay")))
    replies = (Approves(tool="pay", meanwhile=changes), Approves(tool="pay"))
    assert told(run(scene("changes", 3_000, replies=replies, expected=expected))) == []


@pytest.mark.parametrize(
    ("disturbance", "expected", "left"),
    [
        (Fails("pay", FailureKind.UNAVAILABLE), Expected("refunded", made=(Made("pay"),)), 99_500),
        (Fails("pay", FailureKind.VALIDATION), Expected("escalated"), 100_000),
        (LosesAnswer("pay"), Expected("refunded", made=(Made("pay"),)), 99_500),
        (LosesAnswer("pay", tells=False), Expected("escalated", stopped="OUTCOME_UNKNOWN"), 99_500),
        (LosesAnswer("pay", acts=False, tells=False), Expected("escalated", stopped="OUTCOME_UNKNOWN"), 100_000),
    ],
    ids=["away", "refused", "lost", "unknown", "unknown and not done"],
)
def test_tools_are_disturbed(run: Any, toy: Toy, disturbance: Any, expected: Expected, left: int) -> None:
    work = after(pay(500), *((HAND_OVER,) if expected.outcome == "escalated" else ()), DONE)
    report = run(scene("disturbed", 500, work=work, disturbed=(disturbance,), expected=expected))
    assert told(report) == []
    assert toy.vendor.balances["a-1"] == left


def test_a_disturbance_is_over_with_its_scenario(run: Any, toy: Toy) -> None:
    disturbed = scene("disturbed", 500, disturbed=(Fails("pay", FailureKind.VALIDATION, times=9),))
    report = run(disturbed, scene("right", 400))
    assert [result.passed for result in report.results] == [False, True]


@pytest.mark.parametrize(("words", "expected"), [("Account a-1.", "Account a-1."), ("", "EXPIRED")])
def test_a_question_is_answered_or_not(run: Any, words: str, expected: str) -> None:
    seen: list[str] = []

    def planner(context: Any) -> Any:
        if not context.history:
            return Question("Which account?")
        if len(context.history) == 1:
            result = context.history[0].result
            seen.append(result.get("answer") or result["code"])
            return NOTE
        return DONE

    work = (Work(sender="ann@example.com", title="Pay", text="Please pay.", script=planner),)
    scenario = scene("asks", 1, work=work, replies=(Answers(words),), expected=Expected("answered", questions=1))
    assert told(run(scenario)) == []
    assert seen == [expected]


def test_replies_that_nobody_needed_and_questions_that_nobody_answers_are_differences(run: Any) -> None:
    questions = after(Question("Which account?"), DONE)
    report = run(
        scene("idle", 500, replies=(Approves(tool="pay"), Answers("Yes."))),
        scene("mute", 1, work=questions, expected=Expected("answered", questions=1)),
    )
    assert told(report) == [
        "A reply to pay (Approves) was not needed.",
        "A reply to a question (Answers) was not needed.",
        "The planner asked 'Which account?', and nobody has an answer.",
        "The session ended as waiting_person; expected was answered.",
    ]


def test_several_pieces_of_work_share_one_day(run: Any) -> None:
    work = (*after(pay(2_000), PAID), *after(pay(501), PAID))
    expected = Expected("refunded", made=(Made("pay"), Made("pay")), asked=(Asked("pay", 1, {"minor": 501}),))
    assert told(run(scene("two", 0, work=work, replies=(Approves(tool="pay"),), expected=expected))) == []


def test_a_person_of_the_scenario_begins_the_work(run: Any) -> None:
    work = (replace(after(pay(500), PAID)[0], by="ada"),)
    assert told(run(scene("begun", 500, work=work))) == []
    assert list(Session.objects.values_list("created_by", flat=True)) == ["user:ada"]


def test_rules_of_the_scenario_decide(run: Any) -> None:
    rule = {
        "id": "two",
        "tools": ["pay"],
        "when": [{"fact": "money.minor", "op": ">", "value": "1.00", "unit": "USD"}],
        "effect": "ask",
        "people": 2,
        "words": "More than a dollar.",
    }
    expected = Expected("refunded", made=(Made("pay"),), asked=(Asked("pay", 2),))
    scenario = scene("rules", 500, rules={"rules": [rule]}, replies=(Approves(tool="pay"),), expected=expected)
    assert told(run(scenario)) == []


def test_without_a_script_the_roles_own_planner_works(run: Any, toy: Toy) -> None:
    toy.planner = ScriptedPlanner([pay(700), PAID])
    work = (Work(sender="ann@example.com", title="Pay", text="Please pay."),)
    assert told(run(scene("own", 700, work=work))) == []


def test_under_a_model_scripted_ones_are_left_out_and_named(monkeypatch: pytest.MonkeyPatch, run: Any) -> None:
    choice = ModelChoice(Provider.OPENAI, "small", "http://127.0.0.1:9", own_server=True, key="")
    monkeypatch.setattr(suite, "model_choice", lambda: choice)
    report = run(scene("scripted", 500))
    assert (report.results, report.left_out) == ((), ("scripted",))
    assert "left out" in report.as_text()


@pytest.mark.parametrize("module", ["base", "demo", "production"])
def test_no_installation_that_works_has_people_who_need_no_second_factor(module: str) -> None:
    source = Path(settings_package.__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
    assert "SCENARIO_PEOPLE" not in source


def test_two_stand_ins_for_one_role_are_refused(toy: Toy) -> None:
    role = toy.spec()
    other = replace(role, title="Other")
    with roles.standing_in(other):
        assert roles.get_role("toy") is other
        with pytest.raises(ValueError, match="stand-in"), roles.standing_in(role):
            pass
