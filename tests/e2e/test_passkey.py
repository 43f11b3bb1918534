"""A passkey in a real browser: added, used to prove to be there, removed. The authenticator is a virtual one."""

import re

import pytest
from allauth.mfa.models import Authenticator
from django.urls import reverse
from playwright.sync_api import Page, expect

from tests.e2e.conftest import SignedIn
from tests.e2e.walkers import look
from tests.factories.factors import code_of

pytestmark = pytest.mark.django_db(transaction=True)

QUEUE = re.compile(r"//[^/]+/approvals/\Z")  # and not a page that leads to it


def with_virtual_key(page: Page) -> None:
    client = page.context.new_cdp_session(page)
    client.send("WebAuthn.enable")
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    client.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def on_localhost(page: Page, path: str) -> str:
    """Passkeys are bound to names, and an address is none."""
    return page.url.split("/", 3)[0] + "//" + page.url.split("/", 3)[2].replace("127.0.0.1", "localhost") + path


def test_passkey_is_added_used_and_removed(signed_in: SignedIn) -> None:
    page = signed_in("alice")
    page.goto(on_localhost(page, reverse("login")))
    if page.get_by_label("Username").count():
        page.get_by_label("Username").fill("alice")
        page.get_by_label("Password").fill("alice")
        page.get_by_role("button", name="Sign in").click()
        expect(page.locator(".menu summary")).to_contain_text("alice")
    with_virtual_key(page)
    page.locator(".menu summary").click()
    page.get_by_role("link", name="Your account").click()
    look(page, "account-empty")
    page.get_by_role("link", name="Add a passkey").click()
    look(page, "password")
    page.get_by_label("Password").fill("alice")
    page.get_by_role("button", name="Confirm").click()
    look(page, "passkey-add")
    page.get_by_label("Name").fill("My phone")
    page.get_by_role("button", name="Add a passkey").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    look(page, "codes")
    page.get_by_role("link", name="Done").click()
    expect(page.get_by_text("My phone").first).to_be_visible()
    look(page, "account")

    page.goto(on_localhost(page, reverse("mfa_reauthenticate_webauthn") + "?next=/approvals/"))
    look(page, "passkey-use")
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url(QUEUE)

    page.goto(on_localhost(page, reverse("mfa_index")))
    page.get_by_role("link", name="Remove My phone").click()
    look(page, "passkey-remove")
    page.get_by_role("button", name="Remove a passkey").click()
    expect(page.get_by_role("link", name="Add a passkey")).to_be_visible()
    expect(page.get_by_text("My phone")).to_have_count(0)
    assert not Authenticator.objects.exists()


def test_code_is_typed_without_javascript(signed_in: SignedIn) -> None:
    page = signed_in("alice", java_script_enabled=False)
    page.goto(reverse("mfa_activate_totp"))
    page.get_by_label("Password").fill("alice")
    page.get_by_role("button", name="Confirm").click()
    look(page, "app-add")
    secret = page.locator("code").inner_text()
    page.get_by_label("Code that the app shows").fill(code_of(secret))
    page.get_by_role("button", name="Set it up").click()
    expect(page.get_by_role("heading", name="Recovery codes")).to_be_visible()
    page.goto(reverse("mfa_reauthenticate") + "?next=/approvals/")
    page.get_by_label("Code of your authenticator app").fill("000000")
    page.get_by_role("button", name="Confirm").click()
    expect(page.get_by_text("Incorrect code.")).to_be_visible()
    look(page, "code-wrong")
    page.get_by_label("Code of your authenticator app").fill(code_of(secret, steps=1))
    page.get_by_role("button", name="Confirm").click()
    page.wait_for_url(QUEUE)


def test_delegation_page_shows_both_sides(signed_in: SignedIn) -> None:
    page = signed_in("alice")
    page.goto(reverse("approval_duties"))
    page.get_by_label("Who decides for you").select_option("bob")
    page.get_by_role("button", name="Delegate").click()
    expect(page.get_by_text("bob may decide for you.")).to_be_visible()
    look(page, "duties")
    page.get_by_role("button", name="End the delegation with bob").click()
    expect(page.get_by_text("It is ended.")).to_be_visible()
