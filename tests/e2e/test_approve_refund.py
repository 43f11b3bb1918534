"""The product's main job in a browser: an agent asks, a person decides, what was decided happens once."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Locator, Page, expect

from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.sweep import sweep_once
from approvals.models import ApprovalRequest
from support_agent.models import DeskOperation, Payment, TicketMessage
from tests.e2e.conftest import SignedIn, Stage
from tests.e2e.walkers import path_of

REFUND, CANCELLATION, RETURN = "T-1009", "T-1002", "T-1006"


def effects(action: str) -> int:
    return DeskOperation.objects.filter(action=action).count()


def row_of(queue: Page) -> Locator:
    return queue.locator("[data-row]")


def choose(page: Page, verb: str) -> None:
    page.locator(".verb").filter(has_text=verb).first.click()


def test_refund_arrives_live_is_approved_and_happens_once(stage: Stage, signed_in: SignedIn) -> None:
    stage.ask(CANCELLATION)
    queues = [signed_in("alice"), signed_in("alice", viewport={"width": 360, "height": 740})]
    for queue in queues:
        queue.goto("/approvals/")
        expect(queue.locator("#live")).to_have_text("Live since")
    places = [row_of(queue).bounding_box() for queue in queues]

    request = stage.ask(REFUND)
    for queue in queues:
        expect(queue.get_by_role("link", name="1 new request")).to_be_visible()
        expect(queue.locator("#count-turn")).to_have_text("2")
        expect(row_of(queue)).to_have_count(1)
    assert [row_of(queue).bounding_box() for queue in queues] == places, "the list jumped"

    queue = queues[0]
    queue.get_by_role("link", name="1 new request").click()
    expect(row_of(queue)).to_have_count(2)
    page = queue.context.new_page()
    page.goto("/approvals/")
    page.get_by_role("link", name=request.effect).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(request.effect)
    approve = page.get_by_role("button", name="Approve: issue refund, $129.00")
    expect(approve).to_be_hidden()
    choose(page, "Approve")
    page.get_by_label("What I checked").fill("The order.")
    approve.click()
    expect(page.get_by_text("Approved by you")).to_be_visible()
    expect(page.locator("#decide")).to_have_count(0)
    assert effects("RefundOrder") == 0
    expect(row_of(queue)).to_have_count(1)

    stage.finish(request)
    page.reload()
    expect(page.get_by_text("Carried out once.")).to_be_visible()
    assert work_until_quiet() == 0
    assert effects("RefundOrder") == 1
    refunds = Payment.objects.filter(order__ref="#L2011", kind="refund")
    assert list(refunds.values_list("amount_minor", flat=True)) == [12_900]

    page.get_by_role("link", name="See the step").click()
    page.wait_for_url(f"**/sessions/{request.session_id}/?at={request.position}#step-{request.position}")
    step = page.locator(f"#step-{request.position}")
    expect(step).to_be_in_viewport()
    expect(step).to_contain_text(request.effect)
    expect(step).to_contain_text("alice approved")


def test_rejection_needs_a_reason_and_nothing_happens(stage: Stage, signed_in: SignedIn) -> None:
    request = stage.ask(REFUND)
    page = signed_in("alice")
    page.goto(path_of(request))
    choose(page, "Reject")
    send = page.get_by_role("button", name="Reject", exact=True)
    send.click()
    expect(page.get_by_text("Choose a reason, or say in words why.")).to_be_visible()
    page.get_by_label("Wrong amount").check()
    page.get_by_label("In words").fill("The jacket was sold at half the price.")
    send.click()
    expect(page.get_by_text("Rejected by you")).to_be_visible()
    expect(page.get_by_text("“Wrong amount: The jacket was sold at half the price.” Nothing")).to_be_visible()

    session = stage.finish(request)
    assert effects("RefundOrder") == 0
    assert TicketMessage.objects.filter(ticket__ref=REFUND).exists()
    page.goto(f"/sessions/{session.pk}/")
    expect(page.locator(".story")).to_contain_text("alice rejected it")


def test_expired_request_has_no_buttons(stage: Stage, signed_in: SignedIn) -> None:
    request = stage.ask(REFUND)
    page = signed_in("alice")
    page.goto(path_of(request))
    choose(page, "Approve")
    ApprovalRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    page.locator("#decide").get_by_role("button", name="Approve").click()
    expect(page.get_by_text("It expired before your decision arrived.")).to_be_visible()

    page.goto(path_of(request))
    expect(page.get_by_role("status").filter(has_text="Nobody decided in time")).to_contain_text("Expired")
    expect(page.locator("main").get_by_role("button")).to_have_text(["Next"])
    expect(page.locator("main").get_by_role("radio")).to_have_count(0)
    sweep_once()
    stage.finish(request)
    assert effects("RefundOrder") == 0


def test_decisions_need_no_javascript(stage: Stage, signed_in: SignedIn) -> None:
    refund, other = stage.ask(REFUND), stage.ask(RETURN)
    page = signed_in("alice", java_script_enabled=False)
    page.goto("/approvals/")
    page.get_by_role("link", name=refund.effect).click()
    choose(page, "Approve")
    page.get_by_label("What I checked").fill("The order.")
    page.locator("#decide").get_by_role("button", name="Approve").click()
    expect(page.get_by_text("Approved by you")).to_be_visible()

    page.get_by_role("button", name="Next").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(other.effect)
    choose(page, "Reject")
    page.get_by_label("Against policy").check()
    page.get_by_role("button", name="Reject", exact=True).click()
    expect(page.get_by_text("“Against policy” Nothing was carried out.")).to_be_visible()

    stage.finish(refund)
    stage.finish(other)
    assert (effects("RefundOrder"), effects("ReturnItems")) == (1, 0)
    page.goto(path_of(refund))
    expect(page.get_by_text("Carried out once.")).to_be_visible()


def tab_to(page: Page, selector: str) -> None:
    """Press Tab until the focus is on what ``selector`` describes."""
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    pytest.fail(f"the keyboard does not get to {selector}")


def test_decisions_by_keyboard(stage: Stage, signed_in: SignedIn) -> None:
    first, second = stage.ask(REFUND), stage.ask(RETURN)
    page = signed_in("alice")
    page.goto("/approvals/")
    focused = page.locator(":focus")
    for key, request in (("j", first), ("j", second), ("k", first), ("j", second)):
        page.keyboard.press(key)
        expect(focused).to_have_text(request.effect)
    page.keyboard.press("k")
    page.keyboard.press("o")
    expect(page.get_by_role("heading", level=1)).to_have_text(first.effect)

    tab_to(page, "#decide [name=verb]")
    page.keyboard.press("Control+Enter")
    page.keyboard.press("Space")
    expect(focused).to_have_attribute("value", "approve")
    expect(focused).to_be_checked()
    tab_to(page, "#checked")
    page.keyboard.type("The order.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Approved by you")).to_be_visible()

    page.goto("/approvals/")
    tab_to(page, "[data-row] [data-open]")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(second.effect)
    page.keyboard.press("r")
    expect(page.locator("#decide [value=reject]")).to_be_checked()
    tab_to(page, "#decide [name=reason]")
    page.keyboard.press("Space")
    tab_to(page, "#why")
    page.keyboard.type("Kept by the customer: r, j, k and o are letters here.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Rejected by you")).to_contain_text("Kept by the customer: r, j, k and o are letters here.")
    stage.finish(first)
    stage.finish(second)
    assert (effects("RefundOrder"), effects("ReturnItems")) == (1, 0)
