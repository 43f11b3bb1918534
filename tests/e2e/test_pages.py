"""Every page of the three kinds of people: fits a phone and a desk, starts work, and is closed to outsiders."""

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Session
from approvals.models import Verdict
from tests.e2e.conftest import SignedIn, Stage
from tests.factories.books import decide

UNFOLD = "() => [...document.querySelectorAll('main details')].map((part) => { part.open = true; }).length"
TOO_WIDE = "() => Math.max(0, document.scrollingElement.scrollWidth - innerWidth)"


@pytest.mark.parametrize("size", [(1280, 800), (360, 740)], ids=["desk", "phone"])
def test_no_page_is_wider_than_its_window(
    stage: Stage, signed_in: SignedIn, browser: Browser, size: tuple[int, int]
) -> None:
    pending, decided = stage.ask("T-1009"), stage.ask("T-1007")
    decide(decided, stage.shop.approver, Verdict.REJECT)
    work_until_quiet()
    window = ViewportSize(width=size[0], height=size[1])
    alice, bob = signed_in("alice", viewport=window), signed_in("bob", viewport=window)
    addresses = {
        "home": (alice, "/"),
        "queue": (alice, "/approvals/"),
        "decided ones": (alice, "/approvals/?bucket=decided"),
        "request": (alice, f"/approvals/{pending.pk}/"),
        "decided request": (alice, f"/approvals/{decided.pk}/"),
        "sessions": (bob, "/sessions/"),
        "waiting session": (bob, f"/sessions/{pending.session_id}/"),
        "finished session": (bob, f"/sessions/{decided.session_id}/"),
        "new session": (bob, "/sessions/new/"),
        "blast radius": (bob, "/operations/blast-radius/"),
        "no such page": (bob, "/sessions/none/"),
    }
    excess = {name: excess_of(page, address) for name, (page, address) in addresses.items()}
    with browser.new_context(base_url=stage.url, viewport=window) as context:
        excess["sign-in"] = excess_of(context.new_page(), "/login/")
    assert excess == dict.fromkeys(excess, 0)


def excess_of(page: Page, address: str) -> int:
    """Return by how many pixels a page with everything unfolded is wider than its window."""
    page.goto(address)
    if page.evaluate(UNFOLD):
        page.wait_for_load_state("networkidle")  # some parts are fetched when they are opened
    return int(page.evaluate(TOO_WIDE))


def test_bob_gives_work_to_an_agent(stage: Stage, signed_in: SignedIn) -> None:
    page = signed_in("bob")
    page.get_by_role("link", name="New session").click()
    page.get_by_label("From").fill("aisha.rahman@example.com")
    page.get_by_label("Subject").fill("Parcel")
    page.get_by_label("Message").fill("Hello, where is my order #L2005?")
    page.get_by_role("button", name="Start session").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Parcel")
    session = Session.objects.get()
    assert page.url == f"{stage.url}/sessions/{session.pk}/"
    assert session.created_by == "user:bob"
    work_until_quiet()
    expect(page.locator(".story")).to_contain_text("It ended: answered.")

    page.goto("/sessions/new/")
    waiting = page.get_by_label("Ticket")
    waiting.select_option(label=waiting.locator("option").filter(has_text="T-1004").inner_text())
    page.get_by_role("button", name="Start session").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Shipping")
    assert Session.objects.filter(subject_id="T-1004").count() == 1


def test_charlie_finds_nothing_of_another_tenant(stage: Stage, signed_in: SignedIn) -> None:
    request = stage.ask("T-1009")
    page = signed_in("charlie")
    for address in (
        f"/approvals/{request.pk}/",
        f"/sessions/{request.session_id}/",
        f"/sessions/{request.session_id}/events/0/payload/",
        "/sessions/new/",
    ):
        answer = page.goto(address)
        assert answer is not None
        assert answer.status == 404
        assert request.effect not in page.content()
    for address in ("/", "/approvals/", "/approvals/?bucket=others", "/sessions/"):
        page.goto(address)
        expect(page.locator("main [data-row]")).to_have_count(0)
        assert request.effect not in page.content()
