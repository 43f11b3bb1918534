"""Bidirectional, zero-width and tag characters: named wherever they stand, and never sent to the browser."""

import pytest
from django.test import Client

from agentops.registry.preview_parts import Command, File, Mail, Part, Sql, TextChange
from tests.approvals.conftest import Stage, page_url, queue_url
from tests.factories.pages import page_of
from tests.factories.requests import rewritten

pytestmark = pytest.mark.django_db

HIDDEN = {
    "right-to-left override": ("\u202e", "U+202E"),
    "left-to-right isolate": ("\u2066", "U+2066"),
    "pop isolate": ("\u2069", "U+2069"),
    "zero width space": ("\u200b", "U+200B"),
    "zero width joiner": ("\u200d", "U+200D"),
    "word joiner": ("\u2060", "U+2060"),
    "byte order mark": ("\ufeff", "U+FEFF"),
    "soft hyphen": ("\u00ad", "U+00AD"),
    "tag": ("\U000e0070\U000e0061\U000e0079", "hidden tags: pay"),
    "variation selector": ("\U000e0101", "U+E0101"),
    "invisible times": ("\u2062", "U+2062"),
    "private use": ("\ue000", "U+E000"),
}


def parts(text: str) -> list[Part]:
    return [
        Mail(text, (text,), (text,), text, text, ""),
        Mail("desk", ("d@x",), (), "Hi", text, f"<p>{text}</p><a href='https://x.example/{text}'>{text}</a>"),
        TextChange(text, f"a {text}", f"b {text}"),
        Command(text, argv=("run", text)),
        Command("p", line=text),
        Sql(text, (text,), ((text, text, 1),), ((text, text),)),
        File(text, 1, text, "0" * 64, text, "x"),
    ]


def test_hidden_characters_are_named_everywhere_and_not_sent(
    stage: Stage, alice: Client, subtests: pytest.Subtests
) -> None:
    base = stage.ask()
    for which, (hidden, name) in HIDDEN.items():
        with subtests.test(which):
            text = f"pay{hidden}pal"
            request = rewritten(
                base,
                effect=text,
                target=f"customer:{text}",
                arguments={"account": text, "nested": {"deep": [text]}},
                preview={
                    "changes": [[text, text, f"{text}s"]],
                    "parts": [part.as_json() for part in parts(text)],
                },
                reasons=[["rule", "ask", text]],
                rationale=text,
                subject_title=text,
                subject_text=text,
                sender=text,
                reversibility=text,
            )
            page, *lists = (
                page_of(alice, url)
                for url in (page_url(request), queue_url(bucket="turn"), queue_url(bucket="turn", q="pal"))
            )
            for shown in (page, *lists):
                assert not set(shown.body) & set(hidden)
                assert name in shown.body
            for number in range(1, 8):
                assert name in page.by_id(f"part-{number}"), number
            for section in ("h-args", "h-change", "h-evidence"):
                assert name in page.section(section)


def test_direction_of_a_value_cannot_turn_the_sentence_around(stage: Stage, alice: Client) -> None:
    request = rewritten(stage.ask(), effect="Pay \u05d0\u05d1\u05d2 $50.00", arguments={"account": "\u05d0\u05d1"})
    page = page_of(alice, page_url(request))
    (head,) = page.all("//h1")
    assert [child.tag for child in head] == ["bdi"]


def test_ordinary_right_to_left_and_emoji_are_not_marked(stage: Stage, alice: Client) -> None:
    request = rewritten(stage.ask(), arguments={"a": "שלום עולם", "b": "مرحبا", "c": "👨‍👩‍👧 ❤️"})
    page = page_of(alice, page_url(request))
    assert "שלום עולם" in page.section("h-args")
    assert "👨‍👩‍👧 ❤️" in page.section("h-args")
    assert page.glyphs == []
