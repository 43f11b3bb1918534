"""The parts of the contract in which localstripe is faithful: who is who, and what goes back of a charge.

Keys are not tried there: it ignores them.
"""

from collections.abc import Iterator

import pytest

from agentops.kernel.errors import FailureKind
from agentops.kernel.money import Money
from agentops.registry.tool import ToolFailure
from billing_agent.connectors.port import ApplyCredit, RefundCharge
from tests.billing_agent.contract import test_contract_money as money
from tests.billing_agent.contract.at_localstripe import AtLocalStripe, at_localstripe, make_cast
from tests.billing_agent.contract.cast import Cast, usd

REFUNDS = [name for name in money.WRONG if name.startswith("refund")]


@pytest.fixture
def system(transactional_db: None) -> Iterator[AtLocalStripe]:
    """A localstripe of its own."""
    with at_localstripe() as made:
        yield made


@pytest.fixture
def cast(system: AtLocalStripe) -> Cast:
    """Dana and Erin there."""
    return make_cast(system)


def test_never_more_goes_back_than_was_paid(cast: Cast) -> None:
    money.test_never_more_goes_back_than_was_paid(cast)


@pytest.mark.parametrize("name", REFUNDS)
def test_what_can_never_be_right_is_refused(cast: Cast, name: str) -> None:
    money.test_what_can_never_be_right_is_refused(cast, name)


def test_a_charge_of_another_customer_is_not_found(cast: Cast) -> None:
    money.test_records_of_another_customer_are_not_found(cast, "refund")


def test_a_charge_that_never_was_is_not_found_either(cast: Cast) -> None:
    never = Cast(cast.system, cast.dana, cast.erin, *["ch_never"] * 8)
    assert money.refused(never, RefundCharge("ch_never", usd(1), "No")) is FailureKind.NOT_FOUND


def test_yen_go_back_whole(system: AtLocalStripe) -> None:
    kei = system.customer("Kei", currency="JPY")
    charge = system.charged(kei, 1320, "jpy")
    system.act(kei, RefundCharge(charge, Money(500, "JPY"), "Half"))
    books = system.books(kei)
    assert (books.charged, books.refunded) == (1320, 500)


def test_for_a_deleted_customer_nothing_is_begun(cast: Cast) -> None:
    cast.system.delete(cast.dana)
    with pytest.raises(ToolFailure) as failure:
        cast.system.show(cast.dana, ApplyCredit(usd(1), "No"))
    assert failure.value.kind in (FailureKind.CONFLICT, FailureKind.NOT_FOUND)


def test_it_ignores_keys_which_is_why_they_are_not_tried(cast: Cast, system: AtLocalStripe) -> None:
    for _ in range(2):
        system.api.refunds.create({"charge": cast.charge, "amount": 100}, {"idempotency_key": "k"})
    assert system.books(cast.dana).refunds == 2
