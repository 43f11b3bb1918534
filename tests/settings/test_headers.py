import pytest
from django.http import HttpResponse
from django.test import Client, override_settings


def policy(response: HttpResponse) -> dict[str, str]:
    directives = response.headers["Content-Security-Policy"].split("; ")
    return dict(directive.partition(" ")[::2] for directive in directives)


def test_pages_have_the_strict_policy(client: Client) -> None:
    assert policy(client.get("/healthz")) == {
        "default-src": "'self'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
        "object-src": "'none'",
    }


@pytest.mark.django_db
def test_only_the_admin_has_its_own_policy(client: Client) -> None:
    admin = policy(client.get("/admin/login/"))
    assert admin["script-src"] == "'self' 'unsafe-inline' 'unsafe-eval'"
    assert admin["style-src"] == "'self' 'unsafe-inline'"
    assert (admin["default-src"], admin["frame-ancestors"]) == ("'self'", "'none'")
    assert "unsafe" not in client.get("/administrator").headers["Content-Security-Policy"]


def test_other_headers(client: Client) -> None:
    headers = client.get("/healthz").headers
    assert headers["X-Frame-Options"] == "DENY"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"
    assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert headers["Permissions-Policy"].startswith("camera=()")


@override_settings(ALLOWED_HOSTS=["agents.example.com"])
def test_request_for_another_host_is_refused(client: Client) -> None:
    assert client.get("/readyz", headers={"host": "evil.example.com"}).status_code == 400
