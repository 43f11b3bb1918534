"""The queue by keyboard alone, on a phone, without the socket, and without JavaScript."""

from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from approvals.models import Act, ActKind, ApprovalRequest
from tests.e2e.conftest import SignedIn, Stage

REFUND, CANCELLATION, RETURN = "T-1009", "T-1002", "T-1006"
TOO_WIDE = "() => Math.max(0, document.scrollingElement.scrollWidth - innerWidth)"


def in_order(stage: Stage, *tickets: str) -> list[ApprovalRequest]:
    """Questions of which each is more urgent than the one after it."""
    requests = [stage.ask(ticket) for ticket in tickets]
    for hours, request in enumerate(requests, start=1):
        ApprovalRequest.objects.filter(pk=request.pk).update(expires_at=timezone.now() + timedelta(hours=hours))
    return requests


def open_queue(page: Page, address: str = "/approvals/") -> None:
    """Open the queue and wait for its socket: leaving before it is open is an error to the browser."""
    page.goto(address)
    expect(page.locator("#live")).to_have_text("Live since")


def focused(page: Page) -> str:
    return str(page.evaluate("document.activeElement.textContent"))


def test_queue_is_worked_by_keys(stage: Stage, signed_in: SignedIn) -> None:
    first, second = in_order(stage, REFUND, CANCELLATION)
    page = signed_in("alice")
    open_queue(page)
    page.keyboard.press("j")
    assert focused(page) == first.effect
    page.keyboard.press("j")
    assert focused(page) == second.effect
    page.keyboard.press("k")
    assert focused(page) == first.effect
    page.keyboard.press("c")
    expect(page.locator("[data-row]").first).to_contain_text("You have it until")
    page.keyboard.press("/")
    page.keyboard.type("jcn")
    expect(page.locator("[data-search]")).to_have_value("jcn")
    page.locator("[data-search]").blur()
    page.keyboard.press("?")
    expect(page.locator("#keys")).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.keyboard.press("o")
    expect(page.get_by_role("heading", level=1)).to_have_text(first.effect)
    open_queue(page)
    page.keyboard.press("n")
    expect(page.get_by_role("heading", level=1)).to_have_text(first.effect)
    page.get_by_text("Skip…").click()
    page.get_by_label("Why not now?").fill("Waiting for the bank.")
    page.get_by_role("button", name="Skip and serve the next").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(second.effect)
    assert Act.objects.get(kind=ActKind.SKIPPED).words == "Waiting for the bank."


def test_single_keys_can_be_switched_off(stage: Stage, signed_in: SignedIn) -> None:
    in_order(stage, REFUND)
    page = signed_in("alice")
    open_queue(page)
    page.keyboard.press("?")
    page.get_by_label("Single keys are on").uncheck()
    page.get_by_role("button", name="Close").click()
    page.locator("#main").focus()
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.id") == "main"
    open_queue(page)
    page.keyboard.press("n")
    expect(page).to_have_url(f"{stage.url}/approvals/")


@pytest.mark.parametrize("bucket", ["turn", "others", "escalated", "decided"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_queue_fits_a_phone_and_shows_the_bar_for_what_is_ticked(
    stage: Stage, signed_in: SignedIn, bucket: str, scheme: str
) -> None:
    in_order(stage, REFUND, CANCELLATION, RETURN)
    page = signed_in("alice", viewport={"width": 360, "height": 740}, color_scheme=scheme)
    open_queue(page, f"/approvals/?bucket={bucket}&q=tier:2")
    assert page.evaluate(TOO_WIDE) == 0
    boxes = page.locator(".q-pick input")
    if bucket == "turn":
        expect(page.locator(".bulk")).to_be_hidden()
        boxes.first.check()
        expect(page.locator(".bulk")).to_be_visible()
        assert page.evaluate(TOO_WIDE) == 0


def test_decided_request_leaves_and_the_page_asks_by_itself_while_the_socket_is_down(
    stage: Stage, signed_in: SignedIn
) -> None:
    request, _ = in_order(stage, REFUND, CANCELLATION)
    page = signed_in("alice")
    page.route_web_socket("**/ws/**", lambda socket: socket.close())
    page.clock.install()
    page.goto("/approvals/")
    expect(page.locator("#live")).to_contain_text("Looks every 10 s")
    ApprovalRequest.objects.filter(pk=request.pk).update(state="expired", closed_at=timezone.now())
    page.clock.fast_forward(11_000)
    expect(page.locator("[data-row]")).to_have_count(1)


def test_several_are_rejected_without_javascript(stage: Stage, signed_in: SignedIn) -> None:
    requests = [stage.ask(REFUND), stage.ask(CANCELLATION)]
    page = signed_in("alice", java_script_enabled=False)
    page.goto("/approvals/")
    for box in page.locator(".q-pick input").all():
        box.check()
    page.get_by_role("button", name="Reject with one reason…").click()
    page.get_by_label("Against policy").check()
    page.get_by_role("button", name="Reject all 2").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Rejected: 2 of 2")
    states = ApprovalRequest.objects.filter(pk__in=[one.pk for one in requests]).values_list("state", flat=True)
    assert set(states) == {"rejected"}
