"""Stepping in with a browser: take a session over, do a step, hand it back; answer a question; without script."""

import pytest
from playwright.sync_api import Page, expect

from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import FinalAnswer, Question, ToolCall
from agentops.runtime import dispatch
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Session
from agentops.runtime.operations import start_session
from agentops.runtime.states import SessionStatus
from support_agent.models import Ticket
from tests.e2e.conftest import SignedIn, Stage
from tests.e2e.test_pages import TOO_WIDE

TICKET = "T-1004"
ASKS = Question("Which parcel does she mean?", ("The blue one", "The red one"))
CLOSE = ToolCall("update_ticket", {"status": "closed"}, "It is settled.")
HAND_OVER = ToolCall("escalate_ticket", {"reason": "Settled by phone.", "summary": "Nothing is left."}, "Asked to.")


def begin(stage: Stage) -> Session:
    return start_session(agent=stage.shop.agent, subject_id=TICKET, actor="user:bob")


def follow_script(monkeypatch: pytest.MonkeyPatch, *script: object) -> None:
    planner = ScriptedPlanner(script)  # type: ignore[arg-type]
    monkeypatch.setattr(dispatch, "planner_for", lambda role: planner)


def act(page: Page, name: str) -> None:
    page.locator(".acts summary", has_text=name).click()


def test_bob_takes_over_does_a_step_and_hands_back(
    stage: Stage, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow_script(monkeypatch, None, None, HAND_OVER, FinalAnswer("A colleague has it."))
    session = begin(stage)
    page = signed_in("bob")
    page.goto(f"/sessions/{session.pk}/")
    act(page, "Take over")
    page.get_by_role("textbox", name="Why").fill("She is on the phone.")
    page.get_by_role("button", name="Take the session over").click()
    expect(page.locator("#stands")).to_contain_text("Taken over by you: “She is on the phone.”")
    assert page.url.endswith(f"/sessions/{session.pk}/"), "the page was swapped in place"

    page.get_by_label("Tool").select_option("update_ticket")
    page.get_by_role("textbox", name="Note").fill("Called her back.")
    page.get_by_role("textbox", name="Why").fill("Settled on the phone.")
    page.get_by_label("Status").evaluate("field => field.removeAttribute('required')")
    page.get_by_role("button", name="Do this step").click()
    expect(page.locator("#step-fields .error")).to_contain_text("This field is required.")
    expect(page.get_by_role("textbox", name="Note")).to_have_value("Called her back.")
    page.get_by_label("Status").select_option("answered")
    page.get_by_role("button", name="Do this step").click()
    expect(page.locator("#stands")).to_contain_text("The step of bob waits on a free worker")
    work_until_quiet()
    expect(page.locator("#stands")).to_contain_text("Taken over by you")
    expect(page.locator(".story")).to_contain_text("bob did a step (update_ticket).")
    assert Ticket.objects.get(ref=TICKET).status == "answered"

    act(page, "Hand back")
    page.get_by_label("Note to the agent").fill("All is said; pass it on.")
    page.get_by_role("button", name="Hand it back to the agent").click()
    expect(page.locator(".ev").filter(has_text="bob handed it back to the agent")).to_be_visible()
    work_until_quiet()
    session.refresh_from_db()
    assert session.status == SessionStatus.FINISHED
    expect(page.locator(".story")).to_contain_text("It handed over to a person.")
    expect(page.locator(".acts")).to_have_count(0)


def test_bob_answers_on_a_phone(stage: Stage, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch) -> None:
    follow_script(monkeypatch, ASKS, HAND_OVER, FinalAnswer("Done."))
    session = begin(stage)
    work_until_quiet()
    page = signed_in("bob", viewport={"width": 360, "height": 740})
    page.goto("/sessions/?status=waiting_person")
    page.get_by_role("link", name=session.title).click()
    expect(page.locator("#question")).to_contain_text("Which parcel does she mean?")
    assert page.evaluate(TOO_WIDE) == 0
    page.get_by_role("button", name="Answer").click()
    expect(page.locator("#question .error")).to_contain_text("Choose an answer or write one.")
    page.get_by_label("The red one").check()
    page.get_by_role("button", name="Answer").click()
    expect(page.locator("#question")).to_have_count(0)
    expect(page.locator(".ev").filter(has_text="bob answered")).to_contain_text("The red one")
    work_until_quiet()
    expect(page.locator(".story")).to_contain_text("bob answered it.")


def test_stepping_in_needs_no_javascript(stage: Stage, signed_in: SignedIn, monkeypatch: pytest.MonkeyPatch) -> None:
    follow_script(monkeypatch, CLOSE, FinalAnswer("Closed."))
    session = begin(stage)
    page = signed_in("bob", java_script_enabled=False)
    page.goto(f"/sessions/{session.pk}/")
    act(page, "Take over")
    page.get_by_role("textbox", name="Why").fill("She is on the phone.")
    page.get_by_role("button", name="Take the session over").click()
    page.get_by_label("Tool").select_option("search_knowledge_base")
    page.get_by_role("button", name="Show its fields").click()
    page.get_by_label("Query").fill("shipping time")
    page.get_by_role("textbox", name="Why").fill("To tell her.")
    page.get_by_role("button", name="Do this step").click()
    expect(page.locator("#stands")).to_contain_text("The step of bob waits on a free worker")
    work_until_quiet()
    page.reload()
    expect(page.locator("#stands")).to_contain_text("Taken over by you")
    act(page, "Cancel")
    page.get_by_role("textbox", name="Why").fill("She withdrew it.")
    page.get_by_label("Yes, end this session").check()
    page.get_by_role("button", name="Cancel the session for good").click()
    expect(page.locator("#stands")).to_contain_text("Cancelled by bob: “She withdrew it.”")
    assert Session.objects.get().status == SessionStatus.CANCELLED
