"""Each system of record in turn, with the cast in it."""

import pytest

from tests.billing_agent.contract.cast import Cast, make_cast
from tests.billing_agent.contract.embedded import Embedded
from tests.billing_agent.contract.harness import System


@pytest.fixture(params=["embedded"])
def system(request: pytest.FixtureRequest, transactional_db: None) -> System:
    """A system of record."""
    return Embedded()


@pytest.fixture
def cast(system: System) -> Cast:
    """The people of the suite in it."""
    return make_cast(system)
