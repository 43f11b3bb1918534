"""Each system of record in turn, with the cast in it."""

from collections.abc import Iterator

import pytest

from tests.billing_agent.contract.at_stripe import at_stripe
from tests.billing_agent.contract.cast import Cast, make_cast
from tests.billing_agent.contract.embedded import Embedded
from tests.billing_agent.contract.harness import System


@pytest.fixture(params=["embedded", "stripe"])
def system(request: pytest.FixtureRequest, transactional_db: None) -> Iterator[System]:
    """A system of record."""
    if request.param == "embedded":
        yield Embedded()
        return
    with at_stripe() as made:
        yield made


@pytest.fixture
def cast(system: System) -> Cast:
    """The people of the suite in it."""
    return make_cast(system)
