"""Signing in and out, and the colours."""

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from tests.factories.people import Cast

FOREIGN = ["https://evil.example/", "//evil.example/", "javascript:alert(1)", "/\\evil.example", "", "sessions/"]


def test_sign_in_leads_on(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    page = client.get("/login/", {"next": "/sessions/"})
    assert '<input type="hidden" name="next" value="/sessions/">' in page.content.decode()
    fields = {"username": "bob", "password": "bob", "next": "/sessions/"}
    assert client.post("/login/", fields).status_code == 403
    token = client.cookies["csrftoken"].value
    done = client.post("/login/", {**fields, "csrfmiddlewaretoken": token})
    assert (done.status_code, done.headers["Location"]) == (302, "/sessions/")
    assert client.get("/sessions/").status_code == 200


def test_wrong_password_is_said_without_saying_which(cast: Cast) -> None:
    pages = [
        Client().post("/login/", {"username": name, "password": "wrong"}).content.decode()
        for name in ("bob", "nobody-at-all")
    ]
    assert "Please enter a correct username and password" in pages[0]
    assert "Please enter a correct username and password" in pages[1]


@pytest.mark.parametrize("url", FOREIGN[:4])
def test_foreign_next_is_not_followed(cast: Cast, url: str) -> None:
    done = Client().post("/login/", {"username": "bob", "password": "bob", "next": url})
    assert done.headers["Location"] == "/"


def test_session_id_changes_at_sign_in(cast: Cast) -> None:
    client = Client()
    client.get("/login/")
    session = client.session
    session["a"] = 1
    session.save()
    before = session.session_key
    client.post("/login/", {"username": "bob", "password": "bob"})
    assert client.session.session_key != before


def test_demo_accounts_are_shown_in_the_demo_only(cast: Cast, settings: Settings) -> None:
    assert "Demo accounts" not in Client().get("/login/").content.decode()
    settings.DEMO_ACCOUNTS = ({"name": "u1", "password": "p1", "role": "admin", "does": "runs it"},)
    page = Client().get("/login/").content.decode()
    assert '<input type="hidden" name="username" value="u1">' in page
    assert "runs it" in page


def test_sign_out_takes_a_post(bob: Client) -> None:
    assert bob.get("/logout/").status_code == 405
    assert bob.get("/").status_code == 200
    assert bob.post("/logout/").headers["Location"] == "/login/"
    assert bob.get("/").headers["Location"] == "/login/?next=/"


def test_theme_is_kept_in_the_browser(bob: Client) -> None:
    done = bob.post("/theme/", {"theme": "dark", "next": "/sessions/?q=a"})
    assert (done.status_code, done.headers["Location"]) == (302, "/sessions/?q=a")
    assert done.cookies["theme"]["httponly"]
    assert 'data-theme="dark"' in bob.get("/").content.decode()
    assert bob.post("/theme/", {"theme": "pink"}).status_code == 400
    bob.cookies["theme"] = '"><script>'
    assert "data-theme" not in bob.get("/").content.decode()


@pytest.mark.parametrize("url", FOREIGN)
def test_theme_leads_back_to_this_site_only(bob: Client, url: str) -> None:
    assert bob.post("/theme/", {"theme": "light", "next": url}).headers["Location"] == "/"
