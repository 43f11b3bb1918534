"""What nobody can inspect is told from what people write, in any language."""

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.previews.unshowable import MOST_SHOWN, unshowable, unshowable_in

BLOB = base64.b64encode(bytes(range(256)) * 2).decode()


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x" * (MOST_SHOWN + 1), "too large to be read"),
        ("\ufffd" * 8 + "PNG", "not text"),
        ("\x01\x02\x03\x04\x05\x06\x07\x08abc", "not text"),
        ("\ue000" * 20, "not text"),
        (BLOB, "encoded, not readable"),
        (base64.urlsafe_b64encode(bytes(range(256))).decode(), "encoded, not readable"),
        (bytes(range(256)).hex(), "encoded, not readable"),
        (base64.b64encode(b"Pay 500 to account 12 at once, it was approved. " * 8).decode(), "encoded, not readable"),
    ],
)
def test_what_cannot_be_inspected_says_why(text: str, why: str) -> None:
    assert unshowable(text) == why


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x" * 500,
        "a" * MOST_SHOWN,
        "Please refund the mug. " * 100,
        "Привет, верните деньги. " * 40,
        "返金してください。" * 60,
        "0123456789" * 40,
        "f" * 600,
        "\x1b[2J a few escapes are named, not hidden",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "https://example.com/" + "path/" * 60,
        json.dumps({"a": list(range(200))}),
    ],
)
def test_what_people_write_can_be_inspected(text: str) -> None:
    assert unshowable(text) == ""


@given(st.text(alphabet=st.characters(categories=("L", "N", "P", "Z", "S", "M")), max_size=300))
def test_text_of_letters_is_never_taken_for_binary(text: str) -> None:
    assert unshowable(text.replace("\ufffd", "")) in ("", "encoded, not readable")


def test_leaves_and_keys_of_an_argument_are_looked_at() -> None:
    assert list(unshowable_in({"a": [1, None, {"b": BLOB}]})) == ["encoded, not readable"]
    assert list(unshowable_in({BLOB: 1})) == ["encoded, not readable"]
    assert list(unshowable_in(["y" * 60_000, "z" * 60_000])) == ["too large to be read"]
    assert not list(unshowable_in(12))
