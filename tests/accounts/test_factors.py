"""Adding and removing factors, and proving to be there, as a person does it in the browser."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from agentops.accounts.factors import fresh_factor
from agentops.ledger.models import LedgerEvent
from tests.factories.factors import add_app, code_of, step_up
from tests.factories.people import Cast

pytestmark = pytest.mark.django_db


def factor_of(client: Client, person: User) -> str:
    request = RequestFactory().get("/")
    request.session, request.user = client.session, person
    return fresh_factor(request)


def confirm(client: Client, name: str = "alice", **given: Any) -> Any:
    return client.post(reverse("account_reauthenticate"), {"password": name, **given})


def told() -> list[tuple[str, str, str]]:
    found = LedgerEvent.objects.filter(type__startswith="factor.").order_by("at", "position")
    return [(event.type, event.actor, event.facts["factor"]) for event in found]


def test_adding_an_app_takes_the_password_and_a_code(browser: Client, alice: User) -> None:
    add = reverse("mfa_activate_totp")
    assert browser.get(add).headers["Location"] == f"{reverse('account_reauthenticate')}?next=%2Faccount%2Fapp%2Fadd%2F"
    assert confirm(browser, "wrong").status_code == 422
    assert browser.get(add).status_code == 302
    assert confirm(browser, next=add).headers["Location"] == add
    secret = browser.get(add).context["form"].secret
    assert browser.post(add, {"code": "000000"}).status_code == 200
    assert browser.post(add, {"code": code_of(secret)}).status_code == 302
    kinds = Authenticator.objects.order_by("type").values_list("user__username", "type")
    assert list(kinds) == [("alice", "recovery_codes"), ("alice", "totp")]
    assert len(browser.get(reverse("mfa_view_recovery_codes")).context["unused_codes"]) == 10
    assert factor_of(browser, alice) == "totp"
    assert secret not in str(Authenticator.objects.get(type="totp").data)
    assert sorted(told()) == [
        ("factor.added", "user:alice", "recovery_codes"),
        ("factor.added", "user:alice", "totp"),
        ("factor.failed", "user:alice", "password"),
    ]


def test_signing_in_is_not_typing_the_password_again(cast: Cast) -> None:
    client = Client()
    client.post(reverse("login"), {"username": "alice", "password": "alice"})
    assert client.get(reverse("mfa_activate_totp")).status_code == 302


def test_password_alone_does_not_replace_a_factor(browser: Client, alice: User) -> None:
    add_app(alice)
    confirm(browser)
    for name in ("mfa_deactivate_totp", "mfa_add_webauthn", "mfa_generate_recovery_codes"):
        url = reverse(name)
        assert browser.get(url).headers["Location"].startswith(reverse("mfa_reauthenticate") + "?")
        assert browser.post(url).headers["Location"].startswith(reverse("mfa_reauthenticate") + "?")
    assert Authenticator.objects.count() == 1
    step_up(browser)
    assert browser.post(reverse("mfa_deactivate_totp")).status_code == 302
    assert Authenticator.objects.count() == 0
    assert told() == [("factor.removed", "user:alice", "totp")]


def test_code_counts_for_five_minutes_and_once(browser: Client, alice: User) -> None:
    add_app(alice)
    assert factor_of(browser, alice) == ""
    step_up(browser)
    assert factor_of(browser, alice) == "totp"
    assert browser.post(reverse("mfa_reauthenticate"), {"code": code_of()}).status_code == 422
    now = timezone.now()
    with time_machine.travel(now + timedelta(seconds=295)):
        assert factor_of(browser, alice) == "totp"
    for moved in (305, -60):
        with time_machine.travel(now + timedelta(seconds=moved)):
            assert factor_of(browser, alice) == ""


def test_proof_is_the_persons_own_in_this_browser(browser: Client, alice: User, cast: Cast) -> None:
    add_app(alice)
    step_up(browser)
    assert factor_of(browser, cast.bob) == ""
    other = Client()
    other.force_login(alice)
    assert factor_of(other, alice) == ""
    Authenticator.objects.all().delete()
    assert factor_of(browser, alice) == ""


def test_signing_in_anew_proves_nothing(browser: Client, alice: User) -> None:
    add_app(alice)
    step_up(browser)
    browser.post(reverse("logout"))
    browser.post(reverse("login"), {"username": "alice", "password": "alice"})
    assert factor_of(browser, alice) == ""


def test_session_key_changes_with_each_proof(browser: Client, alice: User) -> None:
    add_app(alice)
    keys = [browser.session.session_key]
    confirm(browser)
    keys.append(browser.session.session_key)
    step_up(browser)
    keys.append(browser.session.session_key)
    assert len(set(keys)) == 3
    assert factor_of(browser, alice) == "totp"


def test_recovery_code_is_no_second_factor(browser: Client, alice: User) -> None:
    add_app(alice)
    confirm(browser)
    step_up(browser)
    browser.post(reverse("mfa_generate_recovery_codes"))
    code = browser.get(reverse("mfa_view_recovery_codes")).context["unused_codes"][0]
    other = Client()
    other.force_login(alice)
    confirm(other)
    assert other.post(reverse("mfa_reauthenticate"), {"code": code}).status_code == 302
    assert factor_of(other, alice) == ""
    assert other.post(reverse("mfa_deactivate_totp")).status_code == 302
    assert not Authenticator.objects.filter(type="totp").exists()


def test_interrupted_form_is_not_sent_again(browser: Client, alice: User) -> None:
    add_app(alice)
    url = reverse("mfa_deactivate_totp")
    browser.post(url)
    confirm(browser, next=url)
    answer = browser.post(reverse("mfa_reauthenticate"), {"code": code_of(), "next": url})
    assert answer.headers["Location"] == url
    assert Authenticator.objects.filter(type="totp").exists()


def test_guessing_is_stopped_and_told(browser: Client, alice: User) -> None:
    add_app(alice)
    statuses = [browser.post(reverse("mfa_reauthenticate"), {"code": "000000"}).status_code for _ in range(12)]
    assert 429 in statuses
    assert ("factor.failed", "user:alice", "totp") in told()
    assert browser.post(reverse("mfa_reauthenticate"), {"code": code_of()}).status_code == 429


@pytest.mark.parametrize(
    "next_", ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example"]
)
def test_nobody_is_sent_to_another_site(browser: Client, alice: User, next_: str) -> None:
    add_app(alice)
    answer = browser.get(reverse("step_up"), {"next": next_})
    assert answer.headers["Location"] == reverse("mfa_reauthenticate")
    answer = browser.post(reverse("mfa_reauthenticate"), {"code": code_of(), "next": next_})
    assert answer.headers["Location"] == reverse("mfa_index")


def test_step_up_leads_to_what_the_person_has(browser: Client, alice: User) -> None:
    url = reverse("step_up") + "?next=/approvals/"
    assert browser.get(url).headers["Location"] == f"{reverse('mfa_index')}?next=%2Fapprovals%2F"
    assert "Add one, then go on" in browser.get(url, follow=True).content.decode()
    add_app(alice)
    assert browser.get(url).headers["Location"] == f"{reverse('mfa_reauthenticate')}?next=%2Fapprovals%2F"


def test_factors_are_the_persons_own(browser: Client, cast: Cast) -> None:
    key = Authenticator.objects.create(user=cast.bob, type="webauthn", data={"name": "key", "credential": {}})
    confirm(browser)
    assert browser.post(reverse("mfa_remove_webauthn", args=[key.pk])).status_code == 404
    assert Authenticator.objects.count() == 1


def test_pages_do_not_show_a_code_outside_of_the_demo(browser: Client, alice: User, settings: Any) -> None:
    add_app(alice)
    assert "demo" not in browser.get(reverse("mfa_reauthenticate")).content.decode()
    settings.DEMO_ACCOUNTS = ({"name": "alice", "password": "p", "role": "approver", "does": "decides"},)
    page = browser.get(reverse("mfa_reauthenticate"))
    assert f"<code>{page.context['demo_code']}</code>" in page.content.decode()
    assert browser.post(reverse("mfa_reauthenticate"), {"code": page.context["demo_code"]}).status_code == 302
    assert browser.get(reverse("mfa_reauthenticate")).context["demo_code"] != page.context["demo_code"]


def test_person_of_no_tenant_has_an_account_too(db: None) -> None:
    person = User.objects.create_user("zoe", "", "zoe")
    client = Client()
    client.force_login(person)
    assert client.get(reverse("mfa_index")).status_code == 200
