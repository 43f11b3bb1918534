"""Concealed characters are named; nothing is lost."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.console.marks import Segment, has_concealed
from agentops.console.reveal import reveal, reveal_cut


def names(text: str) -> list[str]:
    return [part.name for part in reveal(text) if part.concealed]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\u202eb", ["U+202E right-to-left override"]),
        ("a\u200b\u200b\u200bb", ["U+200B zero width space × 3"]),
        ("a\x1b[2Jb", ["U+001B control"]),
        ("a\x00b", ["U+0000 control"]),
        ("".join(chr(0xE0000 + ord(c)) for c in "pay now") + "x", ["hidden tags: pay now"]),
        ("a\ufe01b", ["U+FE01 variation selector-2"]),
        ("a\u3164b", ["U+3164 hangul filler"]),
        ("p\u0430ypal", ["U+0430 cyrillic small letter a"]),
        ("a" + " " * 60 + "b", ["60 blanks"]),
        ("a" + "\n" * 30 + "b", ["30 line breaks"]),
        ("a\u2028b", ["U+2028 line separator"]),
        ("paid\rnot", ["U+000D carriage return"]),
        ("a" + "\u3000" * 60 + "b", ["60 blanks"]),
        ("a" + "\n \t" * 20 + "b", ["20 line breaks and 40 blanks"]),
        ("e" + "\u0301\u0302\u0303\u0304" + "x", ["4 combining marks, the first U+0301"]),
    ],
)
def test_concealed_is_named(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain text, with a tab\tand\n\nlines",
        "שלום עולם",
        "Привет",
        "Grüße, Ærø, naïve",
        "日本語",
        "👨‍👩‍👧 ❤️ 👍🏽",
        "a" + " " * 40 + "b",
        "1\u00a0000",
        "\r\nwindows\r\n",
    ],
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert not has_concealed(reveal(text))
    assert "".join(part.text for part in reveal(text)) == text.replace("\r\n", "\n")


@given(st.text(max_size=200))
def test_nothing_is_left_out_and_nothing_hidden_is_shown(text: str) -> None:
    parts = reveal(text)
    assert "".join(part.text for part in parts) == text.replace("\r\n", "\n")
    for part in parts:
        assert part.concealed == bool(part.name)
        if not part.concealed:
            assert not set(part.text) & set(
                "\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\x1b\x00"
            )


def test_long_hidden_run_is_read_in_one_go() -> None:
    assert len(reveal("\u200b" * 100_000)) == 1
    assert len(reveal("\u200b\u200c" * 1000)) == 2000


def test_cut_shows_that_it_cut() -> None:
    assert reveal_cut("a b\n\nc", 10) == (Segment("a b c"),)
    assert reveal_cut("x" * 11, 10) == (Segment("x" * 10 + "…"),)
    assert reveal_cut(" " * 100 + "x", 10) == (Segment("…"),)
