"""Changes hidden by folding or white space: each is shown, named, or has to be opened."""

import pytest
from django.test import Client

from agentops.registry.preview_parts import Fields, File, Part, TextChange
from tests.approvals.conftest import Stage, decide, page_url
from tests.factories.pages import Page, page_of
from tests.factories.requests import rewritten

pytestmark = pytest.mark.django_db

BLANKS = {
    "a blank more": ("key: 1", "key:  1", "space"),
    "a blank at the end": ("key: 1", "key: 1 ", "space"),
    "a tab": ("key: 1", "key:\t1", "tab"),
    "another indent": ("if a:\n  b", "if a:\n    b", "2 spaces"),
    "no-break": ("key: 1", "key:\u00a01", "no-break space"),
    "thin": ("1 000", "1\u2009000", "thin space"),
    "windows line ends": ("a\nb\n", "a\r\nb\r\n", "U+000D carriage return"),
    "no line end": ("a\nb\n", "a\nb", "no line end"),
    "lone carriage return": ("safe", "evil\rsafe", "U+000D carriage return"),
    "zero width": ("admin", "ad\u200bmin", "U+200B"),
}


def shown(alice: Client, stage: Stage, *parts: Part) -> Page:
    request = rewritten(stage.ask(), preview={"parts": [part.as_json() for part in parts]})
    return page_of(alice, page_url(request))


def test_difference_of_blanks_is_named_in_text_file_and_field(
    stage: Stage, alice: Client, subtests: pytest.Subtests
) -> None:
    base = stage.ask()
    for which, (before, after, name) in BLANKS.items():
        with subtests.test(which):
            parts = (TextChange("Note", before, after), File("/etc/x", 1, "text/plain", "0" * 64, before, after))
            request = rewritten(
                base,
                preview={"changes": [["Value", before, after]], "parts": [part.as_json() for part in parts]},
            )
            page = page_of(alice, page_url(request))
            for part in ("part-1", "part-2"):
                assert name in page.by_id(part)
            assert name in page.section("h-change")


def test_one_line_among_many_is_marked_and_has_to_be_opened(stage: Stage, alice: Client) -> None:
    lines = [f"rule {n}: deny" for n in range(200)]
    before, after = "\n".join(lines), "\n".join([*lines[:150], "rule 150: allow", *lines[151:]])
    request = rewritten(stage.ask(), preview={"parts": [TextChange("Rules", before, after).as_json()]})
    page = page_of(alice, page_url(request))
    changed = [row.text_content() for row in page.all("//table[contains(@class, 'lines')]//tr[@class!='is-same']")]
    assert ["150: deny" in changed[0], "150: allow" in changed[1], len(changed)] == [True, True, 2]
    assert decide(alice, request).status_code == 422
    assert decide(alice, request, opened="part-1").status_code == 302


def test_nothing_of_a_text_is_left_out_between_changes(stage: Stage, alice: Client) -> None:
    lines = [f"line {n}" for n in range(300)]
    page = shown(alice, stage, TextChange("Text", "\n".join(lines), "\n".join([*lines, "more"])))
    rows = page.all("//table[contains(@class, 'lines')]/tbody/tr")
    # The last line had no line end, and has one now.
    assert len(rows) == 302


def test_field_that_stays_is_told_from_one_that_changes(stage: Stage, alice: Client) -> None:
    lines = (("Limit", "10", "1000"), ("Name", "x", "x"), ("Limit ", "10", "10"))
    part = shown(alice, stage, Fields("Policy", lines)).by_id("part-1")
    assert "Limit 10 1000" in part
    assert part.endswith("As it is: Name , Limit .")


def test_texts_that_differ_too_much_are_whole_and_it_is_said(stage: Stage, alice: Client) -> None:
    before, after = "\n".join(map(str, range(900))), "\n".join(f"x{n}" for n in range(900))
    page = shown(alice, stage, TextChange("Text", before, after))
    assert "Both are shown whole." in page.by_id("part-1")
    assert len(page.all("//table[contains(@class, 'lines')]/tbody/tr")) == 1800


def test_folded_text_is_in_the_page_without_scripts(stage: Stage, alice: Client) -> None:
    page = shown(alice, stage, TextChange("Text", "", "word " * 200 + "the end"))
    assert "the end" in page.by_id("part-1")
    assert page.all("//*[@id='part-1']//*[@hx-get]") == []


def test_open_and_tick_of_another_page_does_not_count(stage: Stage, alice: Client) -> None:
    old = rewritten(stage.ask(), preview={"parts": [TextChange("Text", "", "word " * 200).as_json()]})
    seen = old.digest
    new = rewritten(old, preview={"parts": [TextChange("Text", "", "other " * 200).as_json()]})
    assert decide(alice, new, opened="part-1", digest=seen).status_code == 409
