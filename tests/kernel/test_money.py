import pytest

from agentops.kernel.money import BadMoney, Money


@pytest.mark.parametrize(
    ("text", "currency", "minor", "shown"),
    [
        ("12.50", "USD", 1250, "$12.50"),
        ("-0.01", "EUR", -1, "-€0.01"),
        ("1234567.8", "USD", 123456780, "$1,234,567.80"),
        ("500", "JPY", 500, "¥500"),
        ("1.234", "KWD", 1234, "KWD1.234"),
    ],
)
def test_amount_is_read_and_shown_exactly(text: str, currency: str, minor: int, shown: str) -> None:
    money = Money.parse(text, currency)
    assert money == Money(minor, currency)
    assert str(money).replace("\xa0", " ") == shown


@pytest.mark.parametrize(
    ("text", "currency"),
    [
        ("1.005", "USD"),
        ("1.000", "USD"),
        ("1.000", "JPY"),
        ("100.0", "JPY"),
        ("1.", "USD"),
        (".5", "USD"),
        ("1e400", "USD"),
        ("Infinity", "USD"),
        ("12.50\n", "USD"),
        ("1.5", "JPY"),
        ("NaN", "USD"),
        ("1e3", "USD"),
        ("1,000.00", "USD"),
        ("", "USD"),
        ("٣", "USD"),
        ("9" * 16, "USD"),
        ("1", "XXQ"),
        ("1", "usd"),
    ],
)
def test_amount_that_does_not_exist_is_refused(text: str, currency: str) -> None:
    with pytest.raises(BadMoney):
        Money.parse(text, currency)


@pytest.mark.parametrize("minor", [1.0, "1", True, None])
def test_minor_units_are_integers(minor: object) -> None:
    with pytest.raises(BadMoney):
        Money(minor, "USD")  # type: ignore[arg-type] # the point of the test
