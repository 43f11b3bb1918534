"""A write of several requests to Stripe that is cut at any of them has its effect once, whoever goes on with it."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db.models import F

from agentops.registry.tool import OutcomeUnknown, ToolFailure
from billing_agent.models import StripeWrite
from tests.billing_agent.contract.at_stripe import AtStripe, at_stripe
from tests.billing_agent.contract.cast import MOVES, WRITES, make_cast
from tests.factories.fake_stripe import AFTER, BEFORE, CUT

ANY_WRITE = r"^(POST|DELETE) /v1/(?!invoices/create_preview)"
REQUESTS = {
    "invoice": 3,
    "charge": 2,
    "declined charge": 2,
    "credit over an invoice": 2,
    "plan changed later": 2,
    "cancelled": 1,
    "void": 1,
}
CASES = [(name, number) for name, count in REQUESTS.items() for number in range(count)]


@pytest.fixture
def system(transactional_db: None) -> Iterator[AtStripe]:
    """A system of its own."""
    with at_stripe() as made:
        yield made


@pytest.mark.parametrize("asks", [True, False], ids=["asks first", "just goes on"])
@pytest.mark.parametrize("when", [BEFORE, AFTER])
@pytest.mark.parametrize(("name", "number"), CASES)
def test_a_write_that_is_cut_at_a_request_has_its_effect_once(
    system: AtStripe, name: str, number: int, when: str, asks: bool
) -> None:
    cast = make_cast(system)
    write, context, before = WRITES[name](cast), system.context(cast.dana, "k"), system.books(cast.dana)
    fault = system.fake.fault(ANY_WRITE, CUT, when=when, skip=number)
    with pytest.raises((OutcomeUnknown, ToolFailure)):
        system.billing.write(context, write)
    assert fault.times == 0
    # A request without an idempotency key, as an end is, is waited for as long as one takes.
    StripeWrite.objects.update(begun_at=F("begun_at") - timedelta(minutes=2))
    if asks:
        system.billing.outcome(context)
    result = system.billing.write(context, write)
    assert system.billing.outcome(context) == result == system.billing.write(context, write)
    assert system.books(cast.dana).since(before) == MOVES.get(name, {})
    assert len(system.fake.objects("subscription_schedule")) == (name == "plan changed later")
