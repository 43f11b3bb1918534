"""What passes for something else is marked; a text in its own script is not."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.console.lookalikes import lookalikes
from agentops.console.reveal import reveal, reveal_line


def marked(text: str) -> str:
    return "".join(text[place] for place in sorted(lookalikes(text)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p\u0430ypal", "\u0430"),
        ("сосо", "сосо"),
        ("pay to сосо now", "сосо"),
        ("Привет, пишите на сосо.com", "сосо"),
        ("\U0001d429aypal", "\U0001d429"),
        ("\U0001d7cf\U0001d7ce USD", "\U0001d7cf\U0001d7ce"),
        ("ｐａｙ now", "ｐａｙ"),
        ("1\u06600 USD", "\u0660"),
        ("৪৪ USD", "৪৪"),
        ("shop\uff0eexample", "\uff0e"),
        ("example.com\u2215evil", "\u2215"),
        ("ΒΑΝΚ transfer", "ΒΑΝΚ"),
        ("Ꭰccount", "Ꭰ"),
        ("օրinal", "օր"),
    ],
)
def test_what_passes_for_something_else_is_marked(text: str, expected: str) -> None:
    assert marked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "plain",
        "Grüße an Zoë, naïve façade",
        "Привет, это обычный текст про рост и сор.",
        "Καλημέρα κόσμε",
        "日本語のテキスト、ＡＢＣ１２３",
        "السعر ١٢٣ ريال",
        "ราคา ๑๒๓ บาท",
        "Write to Привет today",
        "5\u00a0€ – “quoted”",
    ],
)
def test_a_text_in_its_own_script_is_not(text: str) -> None:
    assert marked(text) == ""


@given(st.text(max_size=120))
def test_only_visible_characters_that_are_not_ascii_are_marked(text: str) -> None:
    for place in lookalikes(text):
        assert not text[place].isascii()
        assert unicodedata.category(text[place])[0] in "LNP" or unicodedata.category(text[place]) in ("Sm", "Sk")


def test_a_line_is_judged_by_the_text_that_it_stands_in() -> None:
    assert [part.concealed for part in reveal_line("сосо", lookalikes("сосо\nplain"))] == [True] * 4
    assert [part.concealed for part in reveal_line("сор", lookalikes("сор\nобычный текст"))] == [False]


def test_marked_characters_are_named() -> None:
    assert [part.name for part in reveal("\U0001d7cf") if part.concealed] == [
        "U+1D7CF mathematical bold digit one",
    ]
