import traceback

import pytest
from django.core.checks import run_checks

from agentops.llm import checks
from agentops.llm.configuration import BadModelSetting, ModelChoice, Provider, model_choice, parse_choice
from agentops.llm.context import FINAL_TOOL
from agentops.llm.model import ModelPlanner
from agentops.llm.planners import planner_for
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import FinalAnswer
from agentops.registry.role import Budget, RoleSpec
from tests.llm.contexts import LOOKUP, make_tool

KEY = "sk-secret-4711"


def make_role(*tools):
    return RoleSpec(
        name="support",
        title="Support",
        job_description="",
        instructions="",
        success_metric="",
        subject_kind="ticket",
        tools=tools or (LOOKUP,),
        grants=(),
        queues=(),
        budget=Budget(10, 600, 1_000_000),
        playbook=lambda: ScriptedPlanner([FinalAnswer("done")], name="offline playbook"),
        load_subject=lambda tenant, subject: None,
        open_subject=lambda tenant, intake: "",
        waiting_subjects=lambda tenant, limit: [],
        take_subjects=lambda tenant, subjects: None,
        owner_of=lambda tenant, kind, record: None,
        fallback=lambda reason: ("escalate", {}),
    )


ROLE = make_role()
BAD_ROLE = make_role(make_tool(FINAL_TOOL, LOOKUP.input_schema))


@pytest.fixture
def configure(settings):
    def change(model="", key="", url=""):
        settings.AGENT_MODEL, settings.AGENT_MODEL_KEY, settings.AGENT_MODEL_URL = model, key, url

    return change


@pytest.mark.parametrize(
    ("model", "url", "choice"),
    [
        (
            "anthropic:claude-opus-4-8",
            "",
            ModelChoice(Provider.ANTHROPIC, "claude-opus-4-8", "https://api.anthropic.com", False, KEY),
        ),
        ("openai:gpt-4o", "", ModelChoice(Provider.OPENAI, "gpt-4o", "https://api.openai.com/v1", False, KEY)),
        (
            "openai:org/llama3:8b@q4",
            "http://localhost:11434/v1/",
            ModelChoice(Provider.OPENAI, "org/llama3:8b@q4", "http://localhost:11434/v1", True, KEY),
        ),
    ],
)
def test_settings_name_a_model(model, url, choice):
    assert parse_choice(model, key=KEY, url=url) == choice


def test_own_server_needs_no_key():
    choice = parse_choice("openai:llama3", key="", url="http://localhost:11434/v1")
    assert (choice.key, choice.name) == ("", "openai:llama3")


@pytest.mark.parametrize(
    ("model", "key", "url", "check_id"),
    [
        ("gpt-4o", KEY, "", "agentops.E101"),
        ("google:gemini", KEY, "", "agentops.E101"),
        ("openai:", KEY, "", "agentops.E101"),
        ("openai:gpt 4o", KEY, "", "agentops.E101"),
        ("OpenAI:gpt-4o", KEY, "", "agentops.E101"),
        ("openai:" + "x" * 129, KEY, "", "agentops.E101"),
        ("openai:gpt-4o", KEY, "localhost:8000", "agentops.E102"),
        ("openai:gpt-4o", KEY, "file:///etc/passwd", "agentops.E102"),
        ("openai:gpt-4o", KEY, "http://", "agentops.E102"),
        ("openai:gpt-4o", KEY, "http://host:99999/v1", "agentops.E102"),
        ("openai:gpt-4o", KEY, "http://[::1/v1", "agentops.E102"),
        ("openai:gpt-4o", KEY, f"http://user:{KEY}@host/v1", "agentops.E102"),
        ("openai:gpt-4o", KEY, "http://host/v1?key=1", "agentops.E102"),
        ("openai:gpt-4o", "", "", "agentops.E103"),
        ("anthropic:claude-opus-4-8", " ", "http://localhost:1", "agentops.E103"),
        ("openai:gpt-4o", f"{KEY}\nX-Other: 1", "", "agentops.E103"),
        ("openai:gpt-4o", f"{KEY}é", "", "agentops.E103"),
    ],
)
def test_bad_setting_is_refused_and_reported(configure, model, key, url, check_id):
    with pytest.raises(BadModelSetting) as caught:
        parse_choice(model, key=key, url=url)
    assert caught.value.check_id == check_id
    assert KEY not in str(caught.value)
    configure(model, key, url)
    assert [error.id for error in checks.check_model_settings()] == [check_id]


def test_key_is_not_in_what_a_choice_prints():
    assert KEY not in repr(parse_choice("openai:gpt-4o", key=KEY, url=""))


def test_no_model_means_the_offline_playbook(configure):
    configure()
    assert model_choice() is None
    assert planner_for(ROLE).name == "offline playbook"
    assert checks.check_model_settings() == []


def test_configured_model_is_the_planner_of_every_role(configure):
    configure("openai:gpt-4o", KEY)
    planner = planner_for(ROLE)
    assert isinstance(planner, ModelPlanner)
    assert planner.name == "openai:gpt-4o"
    assert planner_for(BAD_ROLE) is planner
    assert KEY not in repr(planner)


def test_bad_setting_does_not_fall_back_to_the_playbook(configure):
    configure("openai:gpt-4o")
    with pytest.raises(BadModelSetting) as caught:
        planner_for(ROLE)
    assert "AGENT_MODEL_KEY is empty" in "".join(traceback.format_exception(caught.value))


def test_checks_report_bad_settings_and_the_taken_tool_name(configure, monkeypatch):
    monkeypatch.setattr(checks, "all_roles", lambda: (ROLE, BAD_ROLE))
    configure("nonsense", KEY)
    ours = [error.id for error in run_checks() if error.id in ("agentops.E101", "agentops.E104")]
    assert sorted(ours) == ["agentops.E101", "agentops.E104"]
