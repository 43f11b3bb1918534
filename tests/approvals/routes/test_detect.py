"""What detectors find, however it is written, and what they leave alone."""

import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.routes import detect
from approvals.routes.detect import Hit, Look, Part, first_hit, leaves_of, personal_in

LEGAL = Look("Legal threat", ("my lawyer", "small claims court", "Rechtsanwalt"))
SECURITY = Look("Security", ("password", "data breach"))
PERSONAL = Look("Personal data", personal=True)


def hit(text: str, *looks: Look) -> Hit | None:
    return first_hit(looks or (LEGAL,), [Part("the message", text)])


@pytest.mark.parametrize(
    "text",
    [
        "You will hear from my lawyer.",
        "MY   LAWYER\nwill write",
        "my\u00a0lawyer",
        "my law\u200byer",
        "mу lаwyer",  # Cyrillic
        "ｍｙ ｌａｗｙｅｒ",
        "𝐦𝐲 𝐥𝐚𝐰𝐲𝐞𝐫",
        "Mein RECHTSANWALT meldet sich",
        "my\u202e lawyer",
    ],
)
def test_a_phrase_is_found_however_it_is_written(text: str) -> None:
    found = hit(text)
    assert found is not None
    assert found.index == 0
    assert found.words.endswith("in the message")


@pytest.mark.parametrize("text", ["", "my law yers", "Claims of a small court", "the lawyers of my town", "mylawyer"])
def test_what_is_another_phrase_is_not_found(text: str) -> None:
    assert hit(text) is None


def test_of_several_detectors_the_first_decides_wherever_it_finds_something() -> None:
    parts = [Part("the message", "There was a data breach."), Part("the argument note", "ask my lawyer")]
    assert first_hit((LEGAL, SECURITY), parts) == Hit(0, "“my lawyer” in the argument note")
    assert first_hit((SECURITY, LEGAL), parts) == Hit(0, "“data breach” in the message")


def test_a_phrase_does_not_reach_from_one_text_into_the_next() -> None:
    assert first_hit((LEGAL,), [Part("the message", "my"), Part("its title", "lawyer")]) is None


def test_a_detector_without_phrases_finds_nothing() -> None:
    assert first_hit((Look("Empty", ("", "  ", "\u200b")),), [Part("the message", "anything")]) is None
    assert first_hit((), [Part("the message", "anything")]) is None


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("My card is 4242 4242 4242 4242, thanks", "a card number"),
        ("card:4242-4242-4242-4242", "a card number"),
        ("5555555555554444", "a card number"),
        ("378282246310005", "a card number"),
        ("4 2 4 2 4 2 4 2 4 2 4 2 4 2 4 2", "a card number"),
        ("4242.4242.4242.4242", "a card number"),
        ("４２４２ ４２４２ ４２４２ ４２４２", "a card number"),
        ("42\u200b42 4242 4242 4242", "a card number"),
        ("order 1 4242 4242 4242 4242", "a card number"),
        ("Pay to AT61 1904 3002 3457 3201 please", "a bank account number"),
        ("iban de89370400440532013000.", "a bank account number"),
        ("GB82-WEST-1234-5698-7654-32", "a bank account number"),
        ("NO9386011117947", "a bank account number"),
        ("I was born on 12 March 1980 in Graz", "a date of birth"),
        ("DOB: 03/12/1980", "a date of birth"),
        ("geboren am 12.03.1980", "a date of birth"),
        ("Geburtsdatum: 1980-03-12", "a date of birth"),
        ("March 12, 1980 is my date of birth", "a date of birth"),
        ("passport no. P1234567", "an identity document"),
        ("Reisepass U 1234567", "an identity document"),
        ("driver's licence number 99 123 456", "an identity document"),
        ("my SSN is 123-45-6789", "an identity document"),
        ("P<AUTMUSTERMANN<<ERIKA<<<<<<<<<<<<<<<<<<<<<<", "an identity document"),
    ],
)
def test_personal_data_is_found(text: str, kind: str) -> None:
    assert hit(text, PERSONAL) == Hit(0, f"{kind} in the message")


@pytest.mark.parametrize(
    "text",
    [
        "Order 4242424242424241",  # the check digit is wrong
        "Tracking 1Z999AA10123456784",
        "1234567890123456",
        "AT61 1904 3002 3457 3202",
        "XX61 1904 3002 3457 3201",
        "AT61 1904 3002",
        "It was delivered on 12.03.2026.",
        "My birthday present arrived broken.",
        "Born in Graz. " + "x" * 60 + " Ordered on 12.03.2026.",
        "I need my passport holder, order 1042",
        "000-12-3456",
        "555-12-3456-99",
        "please restore it",
        "#W1042 over $48.20",
    ],
)
def test_what_only_looks_like_personal_data_is_left_alone(text: str) -> None:
    assert hit(text, PERSONAL) is None


def test_the_name_of_a_field_counts_as_a_word_beside_its_value() -> None:
    parts = leaves_of({"birth_date": "1980-03-12", "paid_on": "2026-03-12"}, "the arguments")
    assert first_hit((PERSONAL,), parts) == Hit(0, "a date of birth in the arguments")
    assert first_hit((PERSONAL,), leaves_of({"paid_on": "2026-03-12"}, "the arguments")) is None
    assert first_hit((Look("Paid", ("paid",)),), leaves_of({"paid": "yes"}, "the arguments")) is None


def test_leaves_are_all_texts_and_numbers_of_a_value() -> None:
    value = {"a": ["x", {"b": 4242424242424242}], "c": True, "d": None}
    assert [part.text for part in leaves_of(value, "the arguments")] == ["x", "4242424242424242"]
    deep: object = "my lawyer"
    for _ in range(200):
        deep = [deep]
    assert first_hit((LEGAL,), leaves_of(deep, "the arguments")) is not None


def test_words_repeat_no_personal_data() -> None:
    found = hit("4242 4242 4242 4242 and AT61 1904 3002 3457 3201", PERSONAL)
    assert found is not None
    assert not any(letter.isdigit() for letter in found.words)


def test_more_text_than_is_read_goes_where_the_first_detector_sends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "MOST_CHARACTERS", 1000)
    parts = [Part("the message", "x" * 1001 + " my lawyer")]
    assert first_hit((SECURITY, LEGAL), parts) == Hit(0, detect.TOO_LONG)
    many = [Part("the arguments", f"n{number}") for number in range(500)]
    assert first_hit((SECURITY,), many) == Hit(0, detect.TOO_LONG)


def _steps(call: object, *args: object) -> int:
    """Count the lines of this package that a call runs through."""
    lines: Counter[str] = Counter()

    def trace(frame: object, event: str, arg: object) -> object:
        name = frame.f_code.co_filename  # type: ignore[attr-defined]
        if "/routes/detect" not in name and "/policy/phrases" not in name:
            return None
        lines[event] += 1
        return trace

    sys.settrace(trace)  # type: ignore[arg-type]
    try:
        call(*args)  # type: ignore[operator]
    finally:
        sys.settrace(None)
    return lines.total()


def test_two_hundred_detectors_read_a_text_once() -> None:
    looks = [Look(f"d{number}", tuple(f"word{number} number{each}" for each in range(50))) for number in range(200)]
    text = "nothing of that kind is here " * 40
    first_hit(looks, [])
    one, all_ = _steps(hit, text, looks[0]), _steps(hit, text, *looks)
    assert all_ < one * 1.5 + 60_000  # the rest is making the index, once


@pytest.mark.parametrize(
    "piece", ["4", "1 ", "at61", "at61 ", "passport ", "born 1.1.", "p<aut", "a1", "1-", "12 may "]
)
def test_texts_made_to_be_slow_are_not(piece: str) -> None:
    def steps(size: int) -> int:
        text = (piece * size)[:size]
        return _steps(personal_in, text)

    assert steps(16_000) < 12 * steps(1_600) + 2_000


@given(st.text(max_size=200), st.text(max_size=20))
def test_no_text_breaks_it(text: str, label: str) -> None:
    first_hit((PERSONAL, LEGAL), [Part("the message", text, label)])
