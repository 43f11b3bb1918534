"""Text from outside on the approver's pages: escaped, visible, and never markup."""

import re
from html.parser import HTMLParser

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import ApprovalRequest
from tests.approvals.conftest import Stage, page_url, queue_url

pytestmark = pytest.mark.django_db

MARKUP = "</p><script>alert(1)</script><img src=x onerror=alert(2)><b hx-get=/approvals/ hx-trigger=load>{{ 7|add:7 }}"
HIDDEN = "pay\u202epal\u200b \u2066x\u2069 p\u0430ypal \U000e0041\U000e0042 \x1b[2J\ufeff"
NAMES = ("U+202E", "U+200B", "U+2066", "U+0430", "hidden tags: AB", "U+001B", "U+FEFF")
FIELDS = {
    "effect": HIDDEN + MARKUP,
    "target": MARKUP[:200],
    "agent": MARKUP[:110],
    "rationale": HIDDEN + MARKUP,
    "subject_id": MARKUP[:110],
    "subject_title": HIDDEN + MARKUP,
    "subject_text": HIDDEN + MARKUP,
    "sender": MARKUP[:200],
    "requester": MARKUP[:140],
    "tool": MARKUP[:80],
    "reversibility": MARKUP[:190],
    "void_reason": MARKUP[:290],
    "arguments": {MARKUP[:40]: HIDDEN + MARKUP, "nested": {"list": [HIDDEN, MARKUP]}, "long": MARKUP * 20},
    "reasons": [["rule" + MARKUP, "ask", "words" + MARKUP]],
}


class Elements(HTMLParser):
    """Everything on a page that could act: elements, and attributes that make htmx or the browser act."""

    def __init__(self, body: str) -> None:
        super().__init__()
        self.acting: list[tuple[str, str]] = []
        self.feed(body)

    def handle_starttag(self, tag: str, attrs: "list[tuple[str, str | None]]") -> None:
        given = dict(attrs)
        if tag == "script" and "src" not in given:
            self.acting.append((tag, "inline"))
        if tag in ("img", "iframe", "object", "embed", "base", "style"):
            self.acting.append((tag, ""))
        self.acting += [(tag, name) for name in given if name.startswith("on") or name == "style"]
        if tag == "b" and any(name.startswith("hx-") for name in given):
            self.acting.append((tag, "htmx"))


@pytest.fixture(params=["pending", "voided"])
def hostile(stage: Stage, request: pytest.FixtureRequest) -> ApprovalRequest:
    """A request in which every text that can come from outside is an attack."""
    found = stage.ask()
    fields = dict(FIELDS)
    preview = dict(found.preview)
    preview["changes"] = [[MARKUP, HIDDEN, MARKUP], ["same" + MARKUP, "a", "a"]]
    preview["versions"] = {MARKUP: 1}
    fields["preview"] = preview
    if request.param == "voided":
        fields |= {"state": "voided", "closed_at": found.created_at}
    ApprovalRequest.objects.filter(pk=found.pk).update(**fields)
    return ApprovalRequest.objects.get(pk=found.pk)


def test_no_text_becomes_markup(hostile: ApprovalRequest, alice: Client) -> None:
    bucket = "turn" if hostile.state == "pending" else "decided"
    for url in (page_url(hostile), queue_url(bucket=bucket), queue_url(bucket=bucket, q="alert")):
        body = alice.get(url).content.decode()
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in body
        assert Elements(body).acting == []
        assert "{{ 7|add:7 }}" in body
        assert ">14<" not in body


def test_hidden_characters_are_named_and_not_sent(hostile: ApprovalRequest, alice: Client) -> None:
    body = alice.get(page_url(hostile)).content.decode()
    for character in "\u202e\u200b\u2066\u2069\u0430\U000e0041\x1b\ufeff":
        assert character not in body
    for name in NAMES:
        assert body.count(name) >= 4, name
    assert "Marked characters were invisible in the original." in body


def test_refused_form_gives_typed_text_back_as_text(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    url = reverse("approval_decide", args=[request.pk])
    response = alice.post(
        url, {"verb": MARKUP, "digest": MARKUP, "why": MARKUP, "checked": f'"{MARKUP}', "reason": MARKUP}
    )
    body = response.content.decode()
    assert response.status_code == 422
    assert Elements(body).acting == []
    assert re.search(r'name="checked" value="&quot;&lt;/p&gt;&lt;script', body)


def test_conflict_gives_the_draft_back_as_text(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    url = reverse("approval_decide", args=[request.pk])
    response = alice.post(url, {"verb": "reject", "digest": "0" * 64, "why": MARKUP})
    assert response.status_code == 409
    assert Elements(response.content.decode()).acting == []
    assert "&lt;script&gt;alert(1)" in response.content.decode()
