"""HTML, Markdown, template tags and htmx attributes in arguments: text, and nothing but text."""

import pytest
from django.test import Client

from agentops.registry.preview_parts import Command, Fields, File, Mail, Part, Sql, TextChange
from tests.approvals.conftest import Stage, decide, page_url, queue_url
from tests.factories.pages import Page, page_of
from tests.factories.requests import rewritten

pytestmark = pytest.mark.django_db

MARKUP = {
    "script": "<script>alert(1)</script>",
    "handler": "<img src=x onerror=alert(1)>",
    "htmx": "<b hx-post='/approvals/' hx-trigger='load' hx-vals='{\"verb\": \"approve\"}'>x</b>",
    "form": "</form><form id='decide' method='post' action='https://evil.example/'><input name='verb' value='approve'>",
    "attribute": '" autofocus onfocus=alert(1) x="',
    "closing": "</td></table></section></main><h1>Approved</h1>",
    "markdown": "[Approve](javascript:alert(1)) ![x](https://evil.example/p.png)",
    "template": "{{ 7|add:7 }}{% include 'base.html' %}",
    "style": "<style>.decide{display:none}</style><link rel=stylesheet href=//evil.example/x.css>",
    "svg": "<svg><animate onbegin=alert(1)></svg><math href=javascript:alert(1)>",
    "entities": "&lt;script&gt;&#60;img src=x&#62;",
    "comment": "<!-- hidden --><textarea><title>",
    "frame": "<iframe srcdoc='<script>1</script>'></iframe><base href=//evil.example/>",
}


def parts(text: str) -> list[Part]:
    return [
        Fields(text, ((text, text, f"{text}!"),)),
        Mail(text, (text,), (), text, text, f"<p>{text}</p>"),
        TextChange(text, text, f"{text}!"),
        Command(text, argv=(text,), body=text),
        Sql(text, (text,), ((text, text, 1),), ((text, text),)),
        File(text, 1, text, "0" * 64, text, f"{text}!"),
    ]


def test_markup_is_text(stage: Stage, alice: Client, subtests: pytest.Subtests) -> None:
    base = stage.ask()
    for which, text in MARKUP.items():
        with subtests.test(which):
            request = rewritten(
                base,
                effect=text,
                target=text,
                arguments={"note": text, "list": [text]},
                preview={
                    "changes": [[text, text, f"{text}!"]],
                    "versions": {text: 1},
                    "parts": [p.as_json() for p in parts(text)],
                },
                rationale=text,
                subject_text=text,
                sender=text,
            )
            own = page_of(alice, page_url(request))
            for page in (own, page_of(alice, queue_url(bucket="turn"))):
                assert page.acting == []
                assert [
                    form.attrib.get("action", "")
                    for form in page.all("//form")
                    if "evil" in form.attrib.get("action", "")
                ] == []
                assert page.all("//*[@id='decide']") == page.all("//form[@id='decide']")
                assert page.all("//main//b[@hx-post]") == []
                assert len(page.all("//h1")) == 1
            assert " ".join(text.split()) in own.section("h-args")


def test_form_has_the_fields_it_had(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    plain = page_of(alice, page_url(request))
    hostile = page_of(
        alice, page_url(rewritten(request, arguments={"account": MARKUP["form"], "minor": MARKUP["htmx"]}))
    )

    def controls(page: Page) -> list[tuple[str, str]]:
        found = page.all("//form[@id='decide']//*[@name] | //*[@form='decide']")
        return [
            (c.attrib.get("name", ""), c.attrib.get("value", "")[:8]) for c in found if c.attrib["name"] not in _ITS_OWN
        ]

    assert "verb" in {name for name, _ in controls(plain)}
    assert controls(plain) == controls(hostile)


_ITS_OWN = ("csrfmiddlewaretoken", "digest", "shown")


def test_typed_markup_comes_back_as_text(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    for text in MARKUP.values():
        response = decide(alice, request, "reject", why=text, digest="0" * 64)
        assert response.status_code == 409
        assert Page(response.content.decode()).acting == []


def test_links_of_a_mail_are_told_and_not_followed(stage: Stage, alice: Client) -> None:
    html = "<a href='https://evil.example/?token=1' hx-get='/approvals/' onclick='x()'>https://shop.example</a>"
    request = rewritten(stage.ask(), preview={"parts": [Mail("desk", ("d@x",), (), "Hi", "", html).as_json()]})
    page = page_of(alice, page_url(request))
    assert page.all("//*[@id='part-1']//a") == []
    assert "https://shop.example (link: https://evil.example/?token=1)" in page.by_id("part-1")
