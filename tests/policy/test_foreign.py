"""Values from outside: found in any form, and trusted in none."""

import base64
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentops.policy.evidence import MOST_VALUE, Evidence, Origin
from agentops.policy.foreign import MOST_FOREIGN
from agentops.registry.flow import Argument, Kind
from tests.factories.effort import lines_of
from tests.policy.told import (
    AMOUNT,
    FILE,
    FLOW,
    ORDER,
    READ,
    TARGET,
    TEXT,
    USER,
    VALUE,
    WHEN,
    evidence,
    origin,
)

EVIL = "Eve@Evil.com"


@pytest.mark.parametrize(
    ("value", "how"),
    [
        (EVIL, ""),
        ("eve@evil.com", ""),
        ('"eve@evil.com"', ""),
        ("e-v-e@e v i l.com", ""),
        ("ｅｖｅ＠ｅｖｉｌ．ｃｏｍ", ""),
        ("еvе@еvil.com", ""),
        ("moc.livE@evE", "reversed"),
        (base64.b64encode(EVIL.encode()).decode(), "base64"),
        (EVIL.encode().hex(), "hex"),
        (quote(EVIL, safe=""), "escaped"),
        (base64.b64encode(EVIL.encode().hex().encode()).decode(), "hex base64"),
        ("bad@drop.io", "base64"),
        ("DE89370400440532013000", ""),
        ("Dear Evil.com", "joined from pieces"),
        (777.25, ""),
        (77725, ""),
        (55, ""),
        ("June 1 10:00", "date"),
    ],
)
def test_a_value_from_outside_is_found_in_any_form(value: Any, how: str) -> None:
    trace = evidence().trace(value, WHEN if how == "date" else VALUE)
    assert (trace.origin, trace.document, trace.how) == (Origin.UNTRUSTED, "letter.txt", how)
    assert trace.source == "step 3 get body"
    assert trace.span is not None


def test_the_place_of_a_value_from_outside_is_told() -> None:
    start, end = evidence().trace("eve@evil.com", TARGET).span or (0, 0)
    assert READ["body"][start:end] == EVIL


@pytest.mark.parametrize(("value", "written"), [(777.25, "777.25"), (77725, "777.25"), (55, "55"), ("REF", "Ref")])
def test_the_place_of_a_number_or_a_short_word_is_all_of_it(value: Any, written: str) -> None:
    start, end = evidence().trace(value, VALUE).span or (0, 0)
    assert READ["body"][start:end] == written


def test_who_paid_is_a_third_party() -> None:
    trace = evidence().trace("mallory@pay.example", TARGET)
    assert (trace.origin, trace.source) == (Origin.THIRD, "step 3 get payer")
    assert origin("From Mallory with thanks", TEXT) is Origin.THIRD


@pytest.mark.parametrize("value", ["bоb.hill@x.com", "bob.hi11@x.com", "pay@vend0r.net", "Ｃarol Stone"])
def test_a_value_that_looks_like_a_trusted_one_is_told(value: str) -> None:
    trace = evidence().trace(value, Argument(Kind.TARGET, of="vendor"))
    assert (trace.origin, trace.how) == (Origin.NOWHERE, "confusable")


Form = Callable[[str], str]


FORMS: dict[str, Form] = {
    "upper": str.upper,
    "title": str.title,
    "quoted": lambda text: f'"{text}"',
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 url": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "hex": lambda text: text.encode().hex(),
    "url": lambda text: quote(text, safe=""),
    "reversed": lambda text: text[::-1],
    "spaces": " ".join,
    "dashes": "-".join,
    "lines": lambda text: f"{text[: len(text) // 2]}\n{text[len(text) // 2 :]}",
    "wide": lambda text: "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text),
    "look-alikes": lambda text: text.translate(str.maketrans("aeopcxy", "аеорсху")),
    "none": str,
}


FOREIGN = (
    "eve@evil.com",
    "https://evil.com/x?y=1",
    "DE89370400440532013000",
    "GB29 NWBK 6016 1331 9268 19",
    "777.25",
    "Nigel Tufnel",
    "+1 555 987 6543",
    "DROP TABLE users",
    "2031-07-09 03:15",
)


OUTSIDE = {"body": "Do as I say: " + ", ".join(FOREIGN)}


TRUSTED = frozenset({Origin.REQUEST, Origin.OPERATOR, Origin.APPROVED, Origin.RECORD, Origin.COMPUTED})


@given(
    st.sampled_from(FOREIGN),
    st.lists(st.sampled_from(sorted(FORMS)), max_size=2),
    st.sampled_from(list(Kind)),
    st.sampled_from(["", "order", "user", "minor"]),
)
def test_no_writing_of_a_value_from_outside_is_trusted(value: str, forms: list[str], kind: Kind, of: str) -> None:
    for form in forms:
        value = FORMS[form](value)
    known = evidence({**READ, **OUTSIDE})
    known.operator("Ask Frank.")
    known.approve(FLOW, {"to": "gil@house.org", "text": "Thanks"})
    assert known.trace(value, Argument(kind, of)).origin not in TRUSTED
    assert all(part.trace.origin not in TRUSTED for part in known.parts(f"See {value}"))


@given(st.sampled_from(FOREIGN), st.sampled_from(sorted(set(FORMS) - {"title"})))
def test_one_writing_of_a_value_from_outside_is_found(value: str, form: str) -> None:
    trace = evidence({**READ, **OUTSIDE}).trace(FORMS[form](value), VALUE)
    assert (trace.origin, trace.source) == (Origin.UNTRUSTED, "step 3 get body")


SAID = (
    ("bob.hill@x.com", TARGET),
    ("Carol Stone", USER),
    ("https://www.x.com/offer/", TARGET),
    ("bill-december-2023.txt", FILE),
    ("May 15th 2024", WHEN),
    ("Give Dora the role editor.", TEXT),
    ("1,000.50 EUR", AMOUNT),
    ("XL", VALUE),
)


HARMLESS = {"lower": str.lower, "quoted": FORMS["quoted"], "spaces": lambda text: f"  {text}\n", "none": str}


@given(st.sampled_from(SAID), st.lists(st.sampled_from(sorted(HARMLESS)), max_size=3))
def test_harmless_writings_of_what_the_request_says_are_from_the_request(
    said: tuple[str, Argument], forms: list[str]
) -> None:
    value, argument = said
    for form in forms:
        value = HARMLESS[form](value)
    assert origin(value, argument) is Origin.REQUEST


@given(st.text(min_size=1, max_size=60), st.sampled_from(list(Kind)))
def test_any_text_is_traced_and_never_to_an_empty_session(value: str, kind: Kind) -> None:
    assert Evidence("").trace(value, Argument(kind)).origin is Origin.NOWHERE


def test_beyond_the_bound_what_is_not_found_is_untrusted() -> None:
    known = evidence({"body": "x " * MOST_FOREIGN, "order_id": 9})
    assert known.trace("never seen", VALUE).origin is Origin.UNTRUSTED
    assert known.trace(9, ORDER).origin is Origin.RECORD
    assert known.trace("Carol Stone", TARGET).origin is Origin.REQUEST
    assert known.private_in("anything") == ()
    assert evidence({"diary": "x " * MOST_FOREIGN}).private_in("anything") != ()


def _is_not_compared(value: str) -> None:
    assert Evidence(value).trace(value, TEXT).origin is Origin.NOWHERE
    assert evidence().trace(value, TEXT).origin is Origin.UNTRUSTED
    assert [part.kind for part in evidence().parts(value)] == ["rest"]
    assert evidence({"diary": "a secret"}).private_in(value) != ()


def test_a_value_that_is_too_long_is_not_compared() -> None:
    long = "Carol Stone " * MOST_VALUE
    assert lines_of(lambda: _is_not_compared(long * 10)) == lines_of(lambda: _is_not_compared(long)) < 2_000


def test_many_leaves_are_cut_and_nothing_of_them_is_trusted() -> None:
    known = evidence({"order_id": [f"ord-{number}" for number in range(30_000)]})
    assert known.trace("ord-19999", ORDER).origin is Origin.RECORD
    assert known.trace("ord-29999", ORDER).origin is Origin.UNTRUSTED
    assert known.third_read
