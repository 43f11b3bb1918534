"""Locale, unit, rounding and duplicate JSON keys: a number means one thing, shown, searched for or typed."""

import pytest
from django.test import Client

from agentops.kernel.canonical import BadJSON, NotCanonical, canonical_bytes, parse_json
from agentops.kernel.money import BadMoney, Money
from agentops.registry.preview_parts import Amount
from approvals.duties.acknowledge import fact_of
from approvals.models import ApprovalRequest
from tests.approvals.conftest import Stage, client_of, decide, page_url, queue_url
from tests.factories.pages import page_of
from tests.factories.requests import rewritten

pytestmark = pytest.mark.django_db

UNITS = [
    (5000, "USD", "$50.00", "5,000 in the smallest unit of USD"),
    (5000, "JPY", "¥5,000", "5,000 in the smallest unit of JPY"),
    (5000, "KWD", "KWD5.000", "5,000 in the smallest unit of KWD"),
    (5000, "CAD", "CA$50.00", "5,000 in the smallest unit of CAD"),
    (1, "EUR", "€0.01", "1 in the smallest unit of EUR"),
    (123_456_789, "USD", "$1,234,567.89", "123,456,789 in the smallest unit of USD"),
    (-5000, "USD", "-$50.00", "-5,000 in the smallest unit of USD"),
]


def test_amount_is_shown_with_currency_and_smallest_unit(
    stage: Stage, alice: Client, subtests: pytest.Subtests
) -> None:
    base = stage.ask()
    for minor, currency, words, unit in UNITS:
        with subtests.test(minor=str(minor)):
            part = Amount("Refund", minor, currency, (("Sum", 0, minor),))
            request = rewritten(base, preview={"parts": [part.as_json()]})
            told = page_of(alice, page_url(request)).by_id("part-1")
            assert " ".join(words.split()) in told
            assert unit in told


def test_amount_is_the_same_whatever_the_reader_s_language(stage: Stage, subtests: pytest.Subtests) -> None:
    part = Amount("Refund", 123_456, "USD")
    request = rewritten(stage.ask(), preview={"parts": [part.as_json()]})
    for language in ("de", "fr-CH", "ar", "hi", "en-IN"):
        with subtests.test(language):
            client = client_of(stage.cast.alice, headers={"Accept-Language": language})
            told = page_of(client, page_url(request)).by_id("part-1")
            assert "$1,234.56 123,456 in the smallest unit of USD" in told


@pytest.mark.parametrize(
    ("text", "currency"),
    [
        ("1,50", "USD"),
        ("1.234,56", "EUR"),
        ("1.505", "USD"),
        ("0.5", "JPY"),
        ("1e3", "USD"),
        ("١٢", "USD"),
        ("１２", "USD"),
        (" 12", "USD"),
        ("NaN", "USD"),
        ("0x10", "USD"),
        ("12", "usd"),
        ("12", "XXL"),
    ],
)
def test_amount_that_could_be_read_in_two_ways_is_none(text: str, currency: str) -> None:
    with pytest.raises(BadMoney):
        Money.parse(text, currency)


@pytest.mark.parametrize("amount", [12.5, 12.0, True, "12"])
def test_amount_is_a_whole_number_of_minor_units(amount: object) -> None:
    with pytest.raises(BadMoney):
        Money(amount, "USD")  # type: ignore[arg-type]


def test_typed_fact_means_the_amount_and_its_currency(stage: Stage) -> None:
    fact = fact_of(stage.ask())
    for typed in ("50.00 USD", "50.0 USD", "usd 50"):
        assert fact.is_said_by(typed), typed
    others = ("50,00 USD", "5000 USD", "50.00 EUR", "50.00", "٥٠ USD", "5e1 USD", "-50 USD", "50.001 USD", "50.000 USD")
    for typed in (*others, "USD"):
        assert not fact.is_said_by(typed), typed


SEARCHES = {
    "amount:>49.99": True,
    "amount:>50": False,
    "amount:50.00USD": True,
    "amount:>=5000": False,
    "amount:>1EUR": False,
    "amount:<5e9": None,
    "amount:>1.234,56": None,
}


def test_search_compares_in_the_unit_that_is_shown(stage: Stage, alice: Client, subtests: pytest.Subtests) -> None:
    request = stage.ask()
    for text, found in SEARCHES.items():
        with subtests.test(text):
            page = page_of(alice, queue_url(bucket="turn", q=text))
            if found is None:
                assert "was left out" in page.text
            else:
                assert (str(request.pk) in page.body) is found


@pytest.mark.parametrize(
    "raw",
    [
        '{"minor": 1, "minor": 99000}',
        '{"a": {"minor": 1, "minor": 2}}',
        '{"minor": 1, "m\\u0069nor": 99000}',
        '[{"a": 1}, {"b": 1, "b": 1}]',
        '{"minor": NaN}',
        '{"minor": Infinity}',
        '{"minor": 1} {"minor": 2}',
        "[" * 100_000,
    ],
)
def test_json_that_says_two_things_is_refused(raw: str) -> None:
    with pytest.raises(BadJSON):
        parse_json(raw)


@pytest.mark.parametrize("value", [1.5, 2**53, {"a": float("nan")}, {"ключ": 1}, "\ud800"])
def test_number_that_is_not_exact_has_no_digest(value: object) -> None:
    with pytest.raises(NotCanonical):
        canonical_bytes(value)


def test_amount_of_another_type_reaches_nobody(stage: Stage, subtests: pytest.Subtests) -> None:
    for minor in ("5000", 50.5, True, None, [5000], "٥٠٠٠"):
        with subtests.test(minor=minor):
            with pytest.raises(ApprovalRequest.DoesNotExist):
                stage.ask(minor)  # type: ignore[arg-type]
            assert stage.toy.vendor.calls == []


def test_large_integer_is_shown_digit_by_digit(stage: Stage, alice: Client) -> None:
    arguments = {"id": 9_007_199_254_740_991, "text": "9007199254740993", "zero": 0, "minus": -1}
    page = page_of(alice, page_url(rewritten(stage.ask(), arguments=arguments)))
    for name, value in arguments.items():
        assert f"{name} {value}" in page.section("h-args")
    assert decide(alice, stage.ask()).status_code == 302
