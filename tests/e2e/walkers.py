"""People at a request's page, each in one way: with a mouse, without JavaScript, by keyboard alone, on a phone.

A walk is written once and walked in every way. Whatever a page answers must be announced, and the focus be there.
"""

import os
import re
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Locator, Page, ViewportSize, expect

from approvals.models import ApprovalRequest

PHONE = ViewportSize(width=360, height=740)
TOO_WIDE = "() => Math.max(0, document.scrollingElement.scrollWidth - innerWidth)"
ANNOUNCED = "main [role=status], main [role=alert]"
MOST_TABS = 120


def path_of(request: ApprovalRequest) -> str:
    """Return the address of a request's page."""
    return f"/approvals/{request.pk}/"


def look(page: Page, name: str) -> None:
    """Keep pictures of the page, in both widths and themes, where somebody asked for pictures."""
    folder = os.environ.get("SCREENSHOTS")
    if not folder:
        return
    for width in (1280, 360):
        page.set_viewport_size({"width": width, "height": 800})
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            page.screenshot(path=Path(folder) / f"{name}-{width}-{scheme}.png", full_page=True)
    page.set_viewport_size({"width": 1280, "height": 800})


class Walker:
    """Somebody with a mouse at a desk."""

    options: ClassVar[dict[str, Any]] = {}
    scripts = True

    def __init__(self, page: Page) -> None:
        self.page = page

    # ── What a hand does: each way has its own ──

    def press(self, what: Locator) -> None:
        """Press a button, a link, or the line that unfolds something."""
        what.click()

    def mark(self, box: Locator) -> None:
        """Choose a radio button or tick a box."""
        box.check()

    def write(self, field: Locator, words: str) -> None:
        """Write into a field instead of what stands there."""
        field.fill(words)

    def pick(self, field: Locator, label: str) -> None:
        """Pick from a list."""
        field.select_option(label=label)

    def send(self, name: str) -> None:
        """Send the form that decides."""
        self.press(self.page.locator("#decide").get_by_role("button", name=name, exact=True))

    def claim_first(self) -> None:
        """Claim the first request of the queue."""
        self.press(self.page.locator("[data-row]").first.get_by_role("button", name="Claim"))

    def serve_next(self) -> None:
        """Have the next request of the queue served."""
        self.press(self.page.get_by_role("button", name="Serve next request"))

    def start_rejecting(self) -> None:
        """Choose the verb that has a key."""
        self.choose("reject")

    # ── What every way has in common ──

    def open(self, request: ApprovalRequest) -> None:
        """Open a request's page, unless it is open."""
        if urlsplit(self.page.url).path != path_of(request):
            self.page.goto(path_of(request))
        self.fits()

    def choose(self, verb: str) -> None:
        """Choose a verb: its fields open, and nothing is sent."""
        self.mark(self.page.locator(f"#decide [name=verb][value={verb}]"))
        expect(self.page.locator("#decide .with:visible")).to_have_count(1)

    def field(self, label: str) -> Locator:
        """Return the field of a label."""
        return self.page.locator("main").get_by_label(label, exact=True)

    def button(self, name: str) -> Locator:
        """Return a button or link of the page by its whole name."""
        main = self.page.locator("main")
        return main.get_by_role("button", name=name, exact=True).or_(main.get_by_role("link", name=name, exact=True))

    def hears(self, words: str, *, focus: str = "") -> Locator:
        """Expect an announcement with the focus in it or on the field that is to be mended; or at ``focus``."""
        told = self.page.locator(ANNOUNCED).filter(has_text=words, visible=True).first
        expect(told).to_be_visible()
        there = self.page.locator("main :focus").filter(has_text=words)
        field = self.page.locator("main :is(input, textarea, select)[autofocus]:focus")
        expect(self.page.locator(f"{focus}:focus") if focus else there.or_(field)).to_have_count(1)
        self.fits()
        return told

    def look_again(self) -> None:
        """Wait for what comes by itself; where nothing does, load the page again."""

    def fits(self) -> None:
        """Expect that nothing stands beside the window."""
        assert self.page.evaluate(TOO_WIDE) == 0

    def sign_in(self, name: str) -> None:
        """Sign in at the page that asks for it."""
        self.page.wait_for_url("**/login/**")
        self.write(self.page.get_by_label("Username"), name)
        self.write(self.page.get_by_label("Password"), name)
        self.press(self.page.get_by_role("button", name="Sign in", exact=True))
        self.page.wait_for_url(re.compile(r"^[^?]*/approvals/"))


class OnPhone(Walker):
    """Somebody with a phone, 360 px wide."""

    options: ClassVar[dict[str, Any]] = {"viewport": PHONE, "has_touch": True}

    def press(self, what: Locator) -> None:
        """Tap."""
        what.tap()


class WithoutScripts(Walker):
    """Somebody whose browser runs no JavaScript."""

    options: ClassVar[dict[str, Any]] = {"java_script_enabled": False}
    scripts = False

    def look_again(self) -> None:
        """Nothing comes by itself: there is a link to load the page again."""
        self.press(self.button("load it again"))


class ByKeyboard(Walker):
    """Somebody who has keys and nothing else. Wherever they get to, the focus can be seen."""

    def press(self, what: Locator) -> None:
        """Go there and press Enter."""
        self._go_to(what)
        self._key("Enter")

    def mark(self, box: Locator) -> None:
        """Go to the group with Tab and through it with arrows; a box is ticked with Space."""
        if box.get_attribute("type") == "checkbox":
            self._go_to(box)
            self._key("Space")
        else:
            self._go_to(box, arrows=True)
            if not box.is_checked():
                self._key("Space")
        expect(box).to_be_checked()

    def write(self, field: Locator, words: str) -> None:
        """Go there and type."""
        self._go_to(field)
        self._key("ControlOrMeta+a")
        self.page.keyboard.type(words)
        expect(field).to_have_value(words)

    def pick(self, field: Locator, label: str) -> None:
        """Go there and type how it begins."""
        self._go_to(field)
        self.page.keyboard.type(label)
        expect(field.locator("option:checked")).to_have_text(label)

    def send(self, name: str) -> None:
        """Ctrl and Enter in the completed form."""
        expect(self.page.locator("#decide").get_by_role("button", name=name, exact=True)).to_be_visible()
        assert self.page.locator("#decide :focus").count() == 1
        self._key("Control+Enter")

    def claim_first(self) -> None:
        """Move to it, and claim."""
        self._key("j")
        self._key("c")

    def serve_next(self) -> None:
        """The key of the queue."""
        self._key("n")

    def start_rejecting(self) -> None:
        """Its key: the verb is chosen and has the focus."""
        self._key("r")
        expect(self.page.locator("#decide [name=verb][value=reject]:focus")).to_be_checked()

    def _key(self, key: str) -> None:
        self.page.keyboard.press(key)

    def _go_to(self, what: Locator, *, arrows: bool = False) -> None:
        expect(what).to_have_count(1)
        for _ in range(MOST_TABS):
            where = what.evaluate(_WHERE)
            if where == "here":
                break
            if arrows and where.startswith("group"):
                self._key("ArrowDown" if where.endswith("before") else "ArrowUp")
            else:
                self._key("Shift+Tab" if where.endswith("after") else "Tab")
        else:
            pytest.fail(f"the keyboard does not get to {what}")
        assert what.evaluate(_CAN_BE_SEEN), f"the focus cannot be seen on {what}"


_WHERE = """what => {
  const at = document.activeElement;
  if (at === what) return "here";
  const after = what.compareDocumentPosition(at) & Node.DOCUMENT_POSITION_FOLLOWING ? "after" : "before";
  return at.type === "radio" && at.form === what.form && at.name === what.name ? `group ${after}` : after;
}"""
_CAN_BE_SEEN = """what => {
  const outlined = (one) => {
    const style = getComputedStyle(one);
    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  };
  const box = what.getBoundingClientRect();
  const inside = box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth;
  return what.matches(":focus-visible") && inside && (outlined(what) || outlined(what.closest("label") ?? what));
}"""

WAYS: dict[str, type[Walker]] = {
    "mouse": Walker,
    "without JavaScript": WithoutScripts,
    "keyboard": ByKeyboard,
    "phone": OnPhone,
}
