"""Every verb of a request's page and its conflicts, with two people in two browsers."""

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.fixtures import Settings

from agentops.runtime.dispatch import work_until_quiet
from approvals.models import ApprovalRequest, Rung
from support_agent.models import DeskOperation
from tests.e2e.conftest import SignedIn, Stage
from tests.e2e.walkers import PHONE, path_of

# A browser that leaves a page gives up what is under way; Django leaves the bodies of those requests to the collector.
pytestmark = pytest.mark.filterwarnings(
    "ignore:Exception ignored in. <function SpooledTemporaryFile:pytest.PytestUnraisableExceptionWarning"
)
REFUND = "T-1009"


def choose(page: Page, verb: str) -> None:
    page.locator(".verb").filter(has_text=verb).click()


def refunds() -> int:
    return DeskOperation.objects.filter(action="RefundOrder").count()


def test_asking_the_agent_and_then_deciding(stage: Stage, signed_in: SignedIn, dana: User) -> None:
    request = stage.ask(REFUND)
    alice, other = signed_in("alice"), signed_in("dana")
    for page in (alice, other):
        page.goto(path_of(request))
    choose(alice, "Ask")
    alice.get_by_label("Question to the agent").fill("Which rule allows this?")
    alice.get_by_role("button", name="Ask and wait").click()
    expect(alice.get_by_text("The agent is answering a question")).to_be_visible()
    choose(other, "Approve")
    other.get_by_label("What I checked").fill("The order.")
    other.locator("#decide").get_by_role("button", name="Approve").click()
    expect(other.get_by_role("alert").first).to_contain_text("answering")
    work_until_quiet()
    expect(alice.locator("#talk")).to_contain_text("Agent’s claim, not verified")
    expect(alice.locator("#decide [name=verb]").first).to_be_attached()
    choose(alice, "Approve")
    alice.get_by_label("What I checked").fill("The order and the rule.")
    alice.locator("#decide").get_by_role("button", name="Approve").click()
    expect(alice.get_by_text("Approved by you")).to_be_visible()
    stage.finish(request)
    assert refunds() == 1


def test_editor_cannot_decide_what_was_edited_and_the_other_person_can(
    stage: Stage, signed_in: SignedIn, dana: User
) -> None:
    request = stage.ask(REFUND)
    alice, other = signed_in("alice", java_script_enabled=False), signed_in("dana", java_script_enabled=False)
    alice.goto(path_of(request))
    choose(alice, "Edit")
    alice.get_by_role("button", name="Open the form").click()
    expect(alice.get_by_text("another person must decide")).to_be_visible()
    amount = alice.locator("[name^=arg-][name*=amount], [name^=arg-][name*=minor]").first
    amount.fill("100")
    alice.get_by_role("button", name="Resubmit with changes").click()
    expect(alice.locator("main")).to_contain_text("This field is required.")
    expect(amount).to_have_value("100")
    alice.get_by_label("Why you change it").fill("Only a dollar is owed.")
    alice.get_by_role("button", name="Resubmit with changes").click()
    expect(alice.get_by_text("Edited and proposed anew")).to_be_visible()
    work_until_quiet()
    anew = ApprovalRequest.objects.get(state="pending")
    alice.goto(path_of(anew))
    expect(alice.get_by_text("You asked for this and changed this, so you cannot decide this.")).to_be_visible()
    expect(alice.locator("#decide")).to_have_count(0)
    other.goto(path_of(anew))
    choose(other, "Approve")
    other.get_by_label("What I checked").fill("One dollar.")
    other.locator("#decide").get_by_role("button", name="Approve").click()
    expect(other.get_by_text("Approved by you")).to_be_visible()
    work_until_quiet()
    assert refunds() == 1


def test_two_click_at_once_and_the_slower_keeps_the_draft(stage: Stage, signed_in: SignedIn, dana: User) -> None:
    request = stage.ask(REFUND)
    alice, other = signed_in("alice"), signed_in("dana", viewport=PHONE)
    for page in (alice, other):
        page.goto(path_of(request))
    choose(other, "Reject")
    other.get_by_label("In words").fill("The jacket was worn for a year.")
    choose(alice, "Approve")
    alice.get_by_label("What I checked").fill("The order.")
    alice.locator("#decide").get_by_role("button", name="Approve").click()
    expect(alice.get_by_text("Approved by you")).to_be_visible()
    other.get_by_role("button", name="Reject", exact=True).click()
    expect(other.get_by_role("alert")).to_contain_text("alice decided first.")
    expect(other.get_by_text("The jacket was worn for a year.").first).to_be_visible()
    expect(other.locator("#decide")).to_have_count(0)
    stage.finish(request)
    assert refunds() == 1


def test_draft_survives_reload_and_a_login_that_ran_out(stage: Stage, signed_in: SignedIn) -> None:
    request = stage.ask(REFUND)
    page = signed_in("alice")
    page.goto(path_of(request))
    choose(page, "Reject")
    with page.expect_response(lambda got: "Half" in (got.request.post_data or "")):
        page.get_by_label("In words").fill("Half a sentence")
    page.reload()
    expect(page.get_by_label("In words")).to_have_value("Half a sentence")
    page.get_by_label("In words").fill("A whole sentence.")
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("button", name="Reject", exact=True).click()
    page.wait_for_url("**/login/**")
    page.get_by_label("Username").fill("alice")
    page.get_by_label("Password").fill("alice")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_label("In words")).to_have_value("A whole sentence.")
    request.refresh_from_db()
    assert request.state == "pending"


def test_escalating_by_keyboard_on_a_phone(stage: Stage, signed_in: SignedIn, dana: User) -> None:
    request = stage.ask(REFUND)
    Rung.objects.create(queue=request.queue, place=1, kind="person", person=dana, after_percent=50)
    page = signed_in("alice", viewport=PHONE)
    page.goto(path_of(request))
    page.keyboard.press("e")
    expect(page.locator("#decide [value=escalate]")).to_be_checked()
    note = page.get_by_label("Note")
    note.focus()
    page.keyboard.type("Too large for me: r and e are letters here.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Escalated to step 1")).to_be_visible()
    request.refresh_from_db()
    assert (request.rung, request.state) == (1, "pending")


def test_taking_over_without_javascript_leads_to_the_session(stage: Stage, signed_in: SignedIn, dana: User) -> None:
    request = stage.ask(REFUND)
    page, other = signed_in("alice", java_script_enabled=False), signed_in("dana")
    other.goto(path_of(request))
    page.goto(path_of(request))
    choose(page, "Take over")
    page.get_by_label("Why", exact=True).fill("I know the customer.")
    page.get_by_role("button", name="Take over the session").click()
    page.wait_for_url(f"**/sessions/{request.session_id}/#stands")
    choose(other, "Approve")
    other.get_by_label("What I checked").fill("The order.")
    other.locator("#decide").get_by_role("button", name="Approve").click()
    expect(other.get_by_role("alert")).to_contain_text("It was retired before your decision arrived.")
    expect(other.get_by_text("The order.").first).to_be_visible()
    assert refunds() == 0


def test_taking_an_approval_back(stage: Stage, signed_in: SignedIn, settings: Settings) -> None:
    settings.APPROVAL_UNDO_SECONDS = 120
    request = stage.ask(REFUND)
    page = signed_in("alice", java_script_enabled=False)
    page.goto(path_of(request))
    choose(page, "Approve")
    page.get_by_label("What I checked").fill("The order.")
    page.locator("#decide").get_by_role("button", name="Approve").click()
    expect(page.get_by_text("It is carried out at")).to_be_visible()
    page.get_by_role("button", name="Take it back").click()
    expect(page.get_by_text("Taken back.")).to_be_visible()
    expect(page.locator("#decide")).to_be_visible()
    work_until_quiet()
    assert refunds() == 0


def test_paper_is_whole_and_the_page_fits_a_phone(stage: Stage, signed_in: SignedIn) -> None:
    request = stage.ask(REFUND)
    page = signed_in("alice", viewport=PHONE)
    page.goto(path_of(request))
    for verb in ("Approve", "Edit", "Ask", "Reject", "Escalate", "Take over"):
        choose(page, verb)
        box = page.locator("#decide").bounding_box()
        assert box is not None
        assert box["width"] <= PHONE["width"]
        assert box["y"] >= 0
        expect(page.locator("#decide .with:visible")).to_have_count(1)
    page.locator(".put-away").click()
    expect(page.locator("#decide .with:visible")).to_have_count(0)
    page.goto(f"{path_of(request)}print/")
    expect(page.get_by_text(request.digest).first).to_be_visible()
    assert timezone.now().strftime("%Y") in page.locator(".on-paper").inner_text()
