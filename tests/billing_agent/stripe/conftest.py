"""The desk at the fake Stripe."""

from collections.abc import Iterator

import pytest

from tests.billing_agent.stripe.account import Desk, desk_at_stripe


@pytest.fixture
def desk(db: None) -> Iterator[Desk]:
    with desk_at_stripe() as made:
        yield made
