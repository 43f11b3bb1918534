"""What can be recorded as a piece of work: one plain address, some text, and nothing that a database cannot hold."""

import pytest

from agentops.registry.incoming import MOST_BODY_BYTES, BadIntake, byte_length, checked_intake, is_email, subject_of
from agentops.registry.role import Intake


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a@b.example", True),
        ("a.b+c@b-c.example", True),
        ("a@b", False),
        ("a b@c.example", False),
        ("a@b.example\n", False),
        ("Ann <a@b.example>", False),
        ("a@b.example,c@d.example", False),
        ("a\x00@b.example", False),
        ("a@b.example\u2028", False),
        (f"{'a' * 64}@{'b' * 63}.{'c' * 63}.{'d' * 63}.example", False),
    ],
)
def test_an_address_is_one_plain_one(text: str, expected: bool) -> None:
    assert is_email(text) is expected


def test_a_request_is_trimmed_and_has_a_title_on_one_line() -> None:
    assert checked_intake(Intake(" a@b.example ", " Two\n lines ", " x\n")) == Intake("a@b.example", "Two lines", "x")
    assert checked_intake(Intake("a@b.example", " ", "One two\nthree")).title == "One two three"


@pytest.mark.parametrize(
    ("intake", "words"),
    [
        (Intake("nobody", "t", "x"), "The sender is not an e-mail address."),
        (Intake("a@b.example", "t", " \n"), "There is no text."),
        (Intake("a@b.example", "t", "é" * (MOST_BODY_BYTES // 2 + 1)), "The text is longer than 102400 bytes."),
        (Intake("a@b.example", "t\x00", "x"), "The text holds characters that cannot be stored."),
        (Intake("a@b.example", "t", "x\udc00"), "The text holds characters that cannot be stored."),
    ],
)
def test_a_request_that_cannot_be_recorded_says_why(intake: Intake, words: str) -> None:
    with pytest.raises(BadIntake) as refused:
        checked_intake(intake)
    assert refused.value.message == words


def test_exactly_the_most_is_recorded() -> None:
    text = "é" * (MOST_BODY_BYTES // 2)
    assert byte_length(text) == MOST_BODY_BYTES
    assert checked_intake(Intake("a@b.example", "t", text)).text == text


@pytest.mark.parametrize(
    ("subject", "body", "line"),
    [("", "", "(no subject)"), ("", "a b c d e f g h i j", "a b c d e f g h"), ("x" * 400, "y", "x" * 300)],
)
def test_a_subject_is_never_empty_and_never_too_long(subject: str, body: str, line: str) -> None:
    assert subject_of(subject, body) == line
