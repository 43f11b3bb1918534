"""The forms of a text, by examples, and that a longer text is as much more work as it is longer."""

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.policy.addresses import MOST_TEXT, address_of, addresses_in, readings
from agentops.policy.forms import decoded_runs, place, plain, squeezed, unescaped, unfolded
from agentops.policy.moments import moments_in
from agentops.policy.numbers import numbers_in
from tests.factories.effort import lines_of


@pytest.mark.parametrize(
    ("written", "form"),
    [
        ("  Pay\tthe\n bill ", "pay the bill"),
        ("“Rent”", '"rent"'),
        ("it’s", "it's"),
        ("2024–05—15", "2024-05-15"),
        ("Ｂｏｂ", "bob"),
        ("soft\u00adhyphen and zero\u200bwidth", "softhyphen and zerowidth"),
        ("STRASSE", "strasse"),
        ("bоb", "bоb"),  # the second letter is Cyrillic, and stays so
    ],
)
def test_plain_undoes_only_what_does_not_change_the_meaning(written: str, form: str) -> None:
    assert plain(written) == form


@pytest.mark.parametrize(
    "written",
    [
        "Bob Hill",
        "b-o-b h.i.l.l",
        "ВОВ НILL",
        "bőb hïll",
        "b\u200bob\u00a0h1ll",
        "ｂｏｂ ｈｉｌｌ",
        "bob_hill",
        "B0B HILL",
    ],
)
def test_squeezed_makes_what_looks_alike_equal(written: str) -> None:
    assert squeezed(written) == squeezed("bob hill")


@pytest.mark.parametrize("text", ["see: b.o.b here", "xx вob yy", "ﬁne bob", "a" * 600 + " b-o-b", "é" * 600 + "bob"])
def test_place_is_where_a_squeezed_value_stands(text: str) -> None:
    at = squeezed(text).find("bob")
    start, end = place(text, at, at + 3)
    assert squeezed(text[start:end]) == "bob"


@pytest.mark.parametrize(
    ("written", "reading"),
    [
        ("ZXZpbEBhLmNvbQ==", "evil@a.com"),
        ("ZXZpb EBhL\nmNvbQ", "evil@a.com"),
        ("6576696c40612e636f6d", "evil@a.com"),
        ("0x6576696c40612e636f6d", "evil@a.com"),
        ("evil%40a%2ecom", "evil@a.com"),
        ("evil&#64;a&period;com", "evil@a.com"),
        ("evil\\u0040a.com", "evil@a.com"),
        ("moc.a@live", "evil@a.com"),
        ("ｅｖｉｌ＠ａ．ｃｏｍ", "evil@a.com"),
        ("WlhacGJFQmhMbU52YlE9PQ==", "evil@a.com"),
        ("==QbvNmLhBEbpZXZ", "evil@a.com"),
    ],
)
def test_unfolded_finds_what_a_value_is_another_writing_of(written: str, reading: str) -> None:
    assert reading in [text for _, text in unfolded(written)]


def test_decoded_runs_are_found_where_they_stand() -> None:
    text = "Reference ZXZpbEBhLmNvbSB0b2RheQ== please"
    assert list(decoded_runs(text)) == [("base64", "evil@a.com today", 10, 34)]


@pytest.mark.parametrize("text", ["%zz &nowhere; \\q", "100 % of it", "a & b"])
def test_unescaped_leaves_what_is_no_escape(text: str) -> None:
    assert unescaped(text) == text


HOSTILE = [
    "a" * MOST_TEXT,
    "1" * MOST_TEXT,
    "1," * (MOST_TEXT // 2),
    "a." * (MOST_TEXT // 2),
    "a@" * (MOST_TEXT // 2),
    "id " * (MOST_TEXT // 3),
    "#" * MOST_TEXT,
    "“" * MOST_TEXT,
    "`" * MOST_TEXT,
    "http://" * (MOST_TEXT // 7),
    "AA00 " * (MOST_TEXT // 5),
    "%41" * (MOST_TEXT // 3),
    "&amp;" * (MOST_TEXT // 5),
    "1 may " * (MOST_TEXT // 6),
    "up to " * (MOST_TEXT // 6),
    "(" * MOST_TEXT,
    "- " * (MOST_TEXT // 2),
    "а\u0301" * (MOST_TEXT // 2),
    "\ufdfa" * MOST_TEXT,
    "10:00-" * (MOST_TEXT // 6),
]


def _form(text: str) -> None:
    for reading in readings(text):
        addresses_in(reading, moments_in(reading).spans)
        numbers_in(reading)
    squeezed(text)
    plain(text)
    list(unfolded(text[:500]))


@pytest.mark.parametrize("text", HOSTILE, ids=[text[:6] for text in HOSTILE])
def test_ten_times_the_text_is_about_ten_times_the_work(text: str) -> None:
    """What a regular expression does within one search is not seen here, only that all of them end."""
    assert lines_of(lambda: _form(text)) <= 12 * lines_of(lambda: _form(text[: len(text) // 10]))


@given(st.text(max_size=200))
def test_any_text_has_forms(text: str) -> None:
    assert plain(plain(text)) == plain(text) or not text.isascii()
    assert squeezed(squeezed(text)) == squeezed(text)
    for reading in readings(text):
        for address in addresses_in(reading):
            assert reading[address.start : address.end] == address.text
    for number in numbers_in(text):
        assert 0 <= number.start < number.end <= len(text)
    moments_in(text)
    address_of(text)
    assert next(unfolded(text)) == ("", text)
    assert unescaped(quote(text)) == unescaped(text) or "%" in text or "&" in text or "\\" in text
