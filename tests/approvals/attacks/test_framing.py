"""CSRF, clickjacking, double-clickjacking: only a whole form from our own page decides, and no page can be framed."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import ApprovalRequest, Decision
from tests.approvals.conftest import Stage, client_of, decide, page_url, queue_url
from tests.factories.pages import page_of

pytestmark = pytest.mark.django_db


def untouched() -> bool:
    return not Decision.objects.exists() and set(ApprovalRequest.objects.values_list("state", flat=True)) == {"pending"}


def forged(stage: Stage, request: ApprovalRequest, **headers: Any) -> int:
    client = client_of(stage.cast.alice, enforce_csrf_checks=True)
    data = {"verb": "approve", "digest": request.digest, "checked": "x"}
    return client.post(reverse("approval_decide", args=[request.pk]), data, **headers).status_code


ELSEWHERE: list[dict[str, Any]] = [
    {},
    {"headers": {"Origin": "https://evil.example"}},
    {"headers": {"Origin": "null"}},
    {"headers": {"Referer": "https://evil.example/"}},
    {"headers": {"X-CSRFToken": "a" * 64}},
    {"headers": {"HX-Request": "true"}},
    {"headers": {"X-Requested-With": "XMLHttpRequest"}},
]


def test_a_form_from_elsewhere_decides_nothing(stage: Stage, subtests: pytest.Subtests) -> None:
    request = stage.ask()
    for headers in ELSEWHERE:
        with subtests.test(headers=headers):
            assert forged(stage, request, **headers) == 403
            assert untouched()


def test_a_token_from_elsewhere_decides_nothing(stage: Stage) -> None:
    request, client = stage.ask(), client_of(stage.cast.alice, enforce_csrf_checks=True)
    client.cookies["csrftoken"] = "a" * 32
    data = {"verb": "approve", "digest": request.digest, "csrfmiddlewaretoken": "b" * 32}
    assert client.post(reverse("approval_decide", args=[request.pk]), data).status_code == 403
    assert untouched()


def test_no_other_method_decides(stage: Stage, alice: Client, subtests: pytest.Subtests) -> None:
    request = stage.ask()
    query = f"?verb=approve&digest={request.digest}&checked=x"
    for method in ("get", "head", "options", "put", "patch", "delete", "trace"):
        with subtests.test(method):
            for url in (reverse("approval_decide", args=[request.pk]), page_url(request)):
                getattr(alice, method)(url + query, headers={"X-HTTP-Method-Override": "POST"})
            assert untouched()


def test_no_page_can_be_framed_or_reached_by_its_opener(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    for url in (page_url(request), queue_url(), reverse("approval_edit", args=[request.pk])):
        headers = alice.get(url).headers
        assert "frame-ancestors 'none'" in headers["Content-Security-Policy"]
        assert "form-action 'self'" in headers["Content-Security-Policy"]
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["Cross-Origin-Opener-Policy"] == "same-origin"
        assert "no-store" in headers["Cache-Control"] or "private" in headers["Cache-Control"]


def test_answer_to_a_post_cannot_be_framed_either(stage: Stage, alice: Client) -> None:
    response = decide(alice, stage.ask(), "")
    assert response.status_code == 422
    assert response.headers["X-Frame-Options"] == "DENY"
    assert "frame-ancestors 'none'" in response.headers["Content-Security-Policy"]


def test_one_click_decides_nothing(stage: Stage, alice: Client) -> None:
    """A second click that lands on the page which the first one opened finds nothing chosen."""
    request = stage.ask()
    page = page_of(alice, page_url(request))
    assert page.all("//form[@id='decide']//input[@name='verb'][@checked]") == []
    assert page.all("//form[@id='decide']//button[@name='verb']") == []
    assert page.all("//*[@autofocus]") == []
    fields = {
        field.attrib["name"]: field.attrib.get("value", "")
        for field in page.all("//form[@id='decide']//input[@type='hidden' or @type='text' or not(@type)]")
        if "name" in field.attrib
    }
    assert alice.post(reverse("approval_decide", args=[request.pk]), fields).status_code == 422
    assert untouched()


def test_a_chosen_verb_alone_decides_nothing_of_weight(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    data = {"verb": "approve", "digest": request.digest}
    assert alice.post(reverse("approval_decide", args=[request.pk]), data).status_code == 422
    assert untouched()


def test_the_session_cookie_is_not_sent_from_elsewhere_and_not_read_by_scripts(stage: Stage) -> None:
    client = Client()
    client.post(reverse("login"), {"username": "alice", "password": "alice"})
    cookie = client.cookies.get("sessionid")
    assert cookie is not None
    assert (cookie["samesite"], cookie["httponly"]) == ("Lax", True)
