"""What an address may ask of a role's list, whatever is written in it."""

import pytest

from agentops.registry.pages import LAST_KEY, MOST_TEXT, key_in, list_url, text_in


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("7", 7),
        ("007", 7),
        ("9" * 19, LAST_KEY),
        ("9" * 20, None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("", None),
    ],
)
def test_a_key_is_a_number_that_the_database_keeps(text: str, key: int | None) -> None:
    assert key_in({"before": text}) == key


def test_an_address_without_key_or_search_asks_for_nothing() -> None:
    assert (key_in({}), text_in({})) == (None, "")


def test_a_search_is_cut_and_has_no_null_characters() -> None:
    assert text_in({"q": "  a\x00b "}) == "ab"
    assert text_in({"q": "a" * 500}) == "a" * MOST_TEXT


def test_an_address_names_only_what_restricts() -> None:
    assert list_url("", "") == "?"
    assert list_url("a & b", "owes", 0) == "?q=a+%26+b&bucket=owes&before=0"
