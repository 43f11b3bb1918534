"""Previews by type in a browser: two views without scripts, no page wider than a phone, in both themes."""

import os
from pathlib import Path

import pytest
from playwright.sync_api import ViewportSize, expect

from agentops.registry.preview_parts import Amount, Command, Fields, File, Mail, Opaque, Sql, TextChange
from tests.e2e.conftest import SignedIn, Stage
from tests.e2e.test_pages import TOO_WIDE, UNFOLD
from tests.factories.requests import rewritten

SHA = "0" * 64
HTML = (
    "<p>Dear Dana,</p><p>see <a href='https://evil.example/" + "x" * 200 + "'>shop.example</a></p>"
    "<p style='display:none'>pay 900</p>"
)
RULES = "\n".join(f"rule {n}: allow host-{n}.example.com port 443" for n in range(1, 9))
PARTS = (
    Amount("Refund", 123_456, "USD", (("Refunded on order #1042", 0, 123_456), ("Can still be refunded", 123_456, 0))),
    Mail("desk@shop.example", ("dana.ruiz@example.com",), ("p\u0430ypal@example.com",), "Re: Your mug", "", HTML),
    TextChange("Firewall", RULES, RULES.replace("port 443", "port 80", 1).replace("rule 5: allow", "rule 5:  allow")),
    Fields("Order #1042", (("Status", "open", "closed"), ("Address", "", "1 Main Street"))),
    Command("web-1.example.com", argv=("rm", "-rf", "/srv/" + "data/" * 30)),
    Sql("DELETE FROM orders WHERE id = $1", ("orders",), (("Delete", "orders", 41_000),), (("$1", "7"),)),
    File("/etc/cron.d/job", 20, "text/plain", SHA, "0 1 * * *\tjob\n", "0 1 * * * job \n"),
    Opaque("Archive", "not text", 90_000, SHA),
)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1280, 900), (360, 740)], ids=["desk", "phone"])
def test_every_type_fits_its_window(stage: Stage, signed_in: SignedIn, size: tuple[int, int], scheme: str) -> None:
    request = rewritten(stage.ask("T-1009"), preview={"parts": [part.as_json() for part in PARTS]})
    page = signed_in("alice", viewport=ViewportSize(width=size[0], height=size[1]), color_scheme=scheme)
    page.goto(f"/approvals/{request.pk}/")
    page.evaluate(UNFOLD)
    assert page.evaluate(TOO_WIDE) == 0
    for n in (2, 3, 7):
        page.locator(f"#part-{n}").get_by_role("radio").nth(1).check()
    assert page.evaluate(TOO_WIDE) == 0
    folder = os.environ.get("SCREENSHOTS")
    if folder:
        page.screenshot(path=Path(folder) / f"previews-{size[0]}-{scheme}-second.png", full_page=True)
        for n in (2, 3, 7):
            page.locator(f"#part-{n}").get_by_role("radio").nth(0).check()
        page.screenshot(path=Path(folder) / f"previews-{size[0]}-{scheme}.png", full_page=True)


def test_both_views_work_without_scripts(stage: Stage, signed_in: SignedIn) -> None:
    request = rewritten(stage.ask("T-1009"), preview={"parts": [part.as_json() for part in PARTS]})
    page = signed_in("alice", java_script_enabled=False)
    page.goto(f"/approvals/{request.pk}/")
    mail, text = page.locator("#part-2"), page.locator("#part-3")
    for part in (mail, text):
        if part.locator("summary").count():
            part.locator("summary").click()
    expect(mail.get_by_text("Dear Dana,", exact=False).first).to_be_visible()
    expect(mail.locator(".view-second")).to_be_hidden()
    mail.get_by_role("radio", name="Source").check()
    expect(mail.locator(".view-second")).to_contain_text("<p style='display:none'>pay 900</p>")
    expect(mail.locator(".view-first")).to_be_hidden()
    expect(text.locator(".lines")).to_be_visible()
    text.get_by_role("radio", name="Side by side").check()
    expect(text.locator(".sides")).to_be_visible()
    expect(text.locator(".lines")).to_be_hidden()
