"""Homoglyphs: a letter, digit or sign that passes for another is marked wherever it stands."""

import pytest
from django.test import Client

from agentops.registry.preview_parts import Mail, TextChange
from tests.approvals.conftest import Stage, page_url, queue_url
from tests.factories.pages import page_of
from tests.factories.requests import rewritten

pytestmark = pytest.mark.django_db

FAKES = {
    "cyrillic a in a latin name": ("p\u0430ypal", "U+0430"),
    "greek omicron": ("g\u03bfogle", "U+03BF"),
    "a word of twins": ("\u0441\u043e\u0441\u043e", "U+0441"),
    "twins in an address": ("\u0441\u043e\u0441\u043e.example", "U+0441"),
    "armenian": ("\u0585range", "U+0585"),
    "cherokee": ("\u13a0ccount", "U+13A0"),
    "mathematical letters": ("\U0001d41account", "U+1D41A"),
    "mathematical digits": ("\U0001d7cf00 USD", "U+1D7CF"),
    "fullwidth": ("\uff50ay me", "U+FF50"),
    "arabic digit": ("1\u0660 USD", "U+0660"),
    "bengali digit": ("\u09ea USD", "U+09EA"),
    "division slash": ("bank.example\u2215evil", "U+2215"),
    "fullwidth stop": ("bank\uff0eexample", "U+FF0E"),
}


def test_what_passes_for_another_character_is_marked(stage: Stage, alice: Client, subtests: pytest.Subtests) -> None:
    base = stage.ask()
    for which, (text, name) in FAKES.items():
        with subtests.test(which):
            request = rewritten(
                base,
                effect=f"Pay {text}",
                target=f"customer:{text}",
                arguments={"account": text},
                sender=f"{text}@example.com",
                preview={
                    "changes": [["Payee", "", text]],
                    "parts": [
                        Mail("desk", (f"{text}@example.com",), (), text, text).as_json(),
                        TextChange("Payee", "paypal", text).as_json(),
                    ],
                },
            )
            page = page_of(alice, page_url(request))
            for section in ("h-args", "h-change", "h-evidence"):
                assert name in page.section(section), section
            assert name in page.by_id("part-1")
            assert name in page.by_id("part-2")
            assert name in page_of(alice, queue_url(bucket="turn")).text


def test_swapped_letter_is_a_difference_that_is_seen(stage: Stage, alice: Client) -> None:
    part = TextChange("Payee", "pay to paypal", "pay to p\u0430ypal")
    page = page_of(alice, page_url(rewritten(stage.ask(), preview={"parts": [part.as_json()]})))
    marked = page.all("//table[contains(@class, 'lines')]//tr[@class='is-add']//b[@class='differs']")
    assert "U+0430 cyrillic small letter a" in "".join(mark.text_content() for mark in marked)


def test_a_name_in_its_own_script_is_not_marked(stage: Stage, alice: Client, subtests: pytest.Subtests) -> None:
    base = stage.ask()
    for text in ("Привет, как дела", "Καλημέρα κόσμε", "日本語ＡＢＣ", "السعر ١٢٣", "Zoë Müller"):
        with subtests.test(text=str(text)):
            page = page_of(alice, page_url(rewritten(base, arguments={"name": text})))
            assert text in page.section("h-args")
            assert page.glyphs == []


def test_composed_letters_that_look_the_same_are_told(stage: Stage, alice: Client) -> None:
    request = rewritten(stage.ask(), preview={"changes": [["Payee", "Ren\u00e9", "Rene\u0301"]]})
    assert "Both look the same, but are made of other characters." in page_of(alice, page_url(request)).by_id("part-1")
