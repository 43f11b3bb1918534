import pytest
from hypothesis import given
from hypothesis import strategies as st

from approvals.duties.acknowledge import Fact, fact_of
from approvals.models import ApprovalRequest

AMOUNT = Fact("the amount with its currency", "1249.50 USD", "USD")


def request_(**given: object) -> ApprovalRequest:
    return ApprovalRequest(**{"preview": {}, "money_minor": None, "target": "", **given})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "typed", ["1249.50 USD", "USD 1249.5", "1,249.50usd", " usd  1249.50 ", "\uff11\uff12\uff14\uff19.50 USD"]
)
def test_amount_is_said_in_many_ways(typed: str) -> None:
    assert AMOUNT.is_said_by(typed)


@pytest.mark.parametrize(
    "typed",
    [
        *("", "yes", "1249.50", "1249.50 EUR", "$1249.50", "1.249,50 USD", "124950 USD", "1249.51 USD"),
        *("-1249.50 USD", "12,49.50 USD", "1249.500001 USD", "1e3 USD", "1249.50 USD USD", "1249.50 USD\u202e"),
        *("NaN USD", "0" * 4000),
    ],
)
def test_what_says_something_else_does_not_count(typed: str) -> None:
    assert not AMOUNT.is_said_by(typed)


@given(st.text(max_size=30))
def test_no_text_breaks_it(typed: str) -> None:
    assert AMOUNT.is_said_by(typed) in (True, False)


def test_fact_is_of_the_request() -> None:
    yen = fact_of(request_(money_minor=1200, money_currency="JPY"))
    assert (yen.expected, yen.is_said_by("1,200 jpy"), yen.is_said_by("12.00 JPY")) == ("1200 JPY", True, False)
    order = fact_of(request_(target="order:SO-1001"))
    assert (order.label, order.is_said_by("so-1001"), order.is_said_by("so-1002")) == ("the target", True, False)
    assert not order.is_said_by("")


@pytest.mark.parametrize("target", ["", "  ", "\u043erder-1", "a\u202eb", "customer:"])
def test_target_that_nobody_can_type_is_not_asked_for(target: str) -> None:
    request = request_(target=target, preview={"versions": {"a": 1, "b": 1}})
    fact = fact_of(request)
    if target == "customer:":
        assert fact.expected == "customer:"
    else:
        assert fact.expected == f"2 {request.code}"
        assert fact.is_said_by(f"2 {request.code.lower()}")
    assert not fact.is_said_by("yes")
