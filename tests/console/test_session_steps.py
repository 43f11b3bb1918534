"""A person does the agent's next step: the form comes from the tool's schema, the step goes through the same door."""

from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client

from agentops.agents.models import ToolGrant
from agentops.console.step_form import PREFIX, StepForm
from agentops.registry.tool import DataClass, Tier, ToolSpec
from agentops.runtime import control
from agentops.runtime.models import Session
from agentops.runtime.states import SessionStatus
from tests.console.conftest import DONE, Stage, pay
from tests.console.test_session_controls import BOB, WHY, post, types_of
from tests.console.test_session_page import page_of, story_of, words_of

TEXT = {"type": "string", "minLength": 1, "maxLength": 40}


def form_of(properties: Mapping[str, Any], required: list[str], **given: str) -> StepForm:
    schema = {
        "type": "object",
        "properties": dict(properties),
        "required": required,
        "additionalProperties": False,
    }
    tool = ToolSpec(
        name="try",
        version=1,
        owner="tests",
        description="Try.",
        input_schema=schema,
        output_schema=schema,
        tier=Tier.READ,
        auth_scope="x",
        data_class=DataClass.PUBLIC,
        run=lambda context, arguments: {},
    )
    return StepForm({"rationale": WHY, **{f"{PREFIX}{name}": value for name, value in given.items()}}, tool=tool)


@pytest.mark.parametrize(
    ("schema", "typed", "value"),
    [
        (TEXT, " a ", "a"),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "7", 7),
        ({"type": "boolean"}, "false", False),
        ({"type": "string", "enum": ["on", "off"]}, "off", "off"),
        ({"type": "array", "items": TEXT, "maxItems": 3}, "a\r\n\r\n b \r\n", ["a", "b"]),
        ({"type": "object", "properties": {"n": {"type": "integer"}}}, '{"n": 1}', {"n": 1}),
        ({"type": "array", "items": {"type": "integer"}, "maxItems": 3}, "[1, 2]", [1, 2]),
        ({"type": "string", "minLength": 0, "maxLength": 40}, "", ""),
    ],
)
def test_field_of_a_schema_gives_its_value(schema: dict[str, Any], typed: str, value: object) -> None:
    form = form_of({"it": schema}, ["it"], it=typed)
    assert form.is_valid(), form.errors
    assert form.arguments == {"it": value}


@pytest.mark.parametrize(
    ("schema", "typed"),
    [
        (TEXT, ""),
        (TEXT, "x" * 41),
        ({"type": "integer", "minimum": 1, "maximum": 9}, "10"),
        ({"type": "integer"}, "1.5"),
        ({"type": "boolean"}, ""),
        ({"type": "string", "enum": ["on", "off"]}, "up"),
        ({"type": "array", "items": {**TEXT, "maxLength": 2}, "maxItems": 3}, "abc"),
        ({"type": "array", "items": TEXT, "maxItems": 1}, "a\nb"),
        ({"type": "object", "properties": {"n": {"type": "integer"}}}, '{"n": "one"}'),
        ({"type": "object"}, '{"a": 1, "a": 2}'),
        ({"type": "object"}, '{"a": 1.5}'),
        ({"type": "object"}, "not json"),
    ],
)
def test_what_the_schema_does_not_let_through_is_said_at_the_field(schema: dict[str, Any], typed: str) -> None:
    form = form_of({"it": schema}, ["it"], it=typed)
    assert not form.is_valid()
    assert list(form.errors) == [f"{PREFIX}it"]


def test_optional_fields_that_are_left_empty_are_left_out() -> None:
    schemas = {"text": TEXT, "number": {"type": "integer"}, "flag": {"type": "boolean"}, "any": {"type": "object"}}
    form = form_of({**schemas, "list": {"type": "array", "items": TEXT}, "one": {"enum": ["a"]}}, [])
    assert form.is_valid(), form.errors
    assert form.arguments == {}


def taken_over(stage: Stage) -> Session:
    session = stage.work(pay(5000), DONE)
    control.take_over(session_id=session.pk, actor=BOB, reason=WHY)
    return session


def test_tool_is_chosen_among_those_granted_and_shows_its_fields(stage: Stage, bob: Client) -> None:
    session = taken_over(stage)
    ToolGrant.objects.filter(tool="hand_over").delete()
    page = page_of(bob, session)
    assert 'id="step-tool"' in page
    assert "pay (changes something that matters)" in words_of(page)
    assert "hand_over (" not in words_of(page)
    assert f'name="{PREFIX}account"' not in page
    page = page_of(bob, session, "?tool=pay")
    assert f'name="{PREFIX}account"' in page
    assert 'type="number" name="arg-minor" min="1" max="1000000000"' in page
    assert f'name="{PREFIX}account"' not in page_of(bob, session, "?tool=hand_over")


def test_step_is_done_and_the_session_comes_back_to_the_person(stage: Stage, bob: Client) -> None:
    session = taken_over(stage)
    given = {"tool": "pay", "arg-account": "a-1", "arg-minor": "700", "rationale": "Agreed on the phone."}
    assert post(bob, session, "step", **given) == 302
    assert "The step of bob waits on a free worker" in words_of(page_of(bob, session))
    stage.go_on(session)
    assert session.status == SessionStatus.PAUSED
    assert len(stage.toy.vendor.calls) == 1
    page = page_of(bob, session)
    assert "Taken over by you" in words_of(page)
    assert "step of bob" in words_of(page)
    assert "Why, in the words of bob" in words_of(page)
    assert "bob did a step (pay). Done: Pay $7.00 from a-1." in story_of(page)


def test_step_of_a_person_is_asked_about_and_refused_like_any_other(stage: Stage, bob: Client) -> None:
    session = taken_over(stage)
    given = {"tool": "pay", "arg-account": "b-1", "arg-minor": "700", "rationale": WHY}
    assert post(bob, session, "step", **given) == 302
    assert "There is no such record for this customer." in words_of(page_of(bob, stage.go_on(session)))
    assert session.status == SessionStatus.PAUSED
    assert post(bob, session, "step", **{**given, "arg-account": "a-1", "arg-minor": "7000"}) == 302
    stage.go_on(session)
    assert session.status == SessionStatus.WAITING_APPROVAL
    assert stage.toy.vendor.calls == []


def test_incomplete_step_keeps_what_was_typed_and_proposes_nothing(stage: Stage, bob: Client) -> None:
    session = taken_over(stage)
    before = types_of(session)
    answer = bob.post(f"/sessions/{session.pk}/step/", {"tool": "pay", "arg-account": "a-1", "arg-minor": "0"})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert 'value="a-1"' in page
    assert "greater than or equal to 1" in words_of(page)
    answer = bob.post(f"/sessions/{session.pk}/step/", {"tool": "shout"})
    assert answer.status_code == 422
    assert "Choose one of the tools that the agent was given." in words_of(answer.content.decode())
    assert types_of(session) == before


def test_person_finishes_with_an_answer(stage: Stage, bob: Client) -> None:
    session = taken_over(stage)
    assert post(bob, session, "finish", message="  ") == 422
    assert post(bob, session, "finish", message="Settled on the phone.") == 302
    page = page_of(bob, stage.go_on(session))
    assert session.status == SessionStatus.FINISHED
    assert "Settled on the phone." in words_of(page)
    assert story_of(page).endswith("bob ended it with an answer.")
