"""A shop worked without disturbance, and the environment of worker processes."""

from collections.abc import Iterator

import pytest
from django.db import connection

from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Invocation
from agentops.runtime.sweep import sweep_once
from approvals.models import Decision
from tests.factories.books import Rows, Shop, books_of, faults_of_ledger, open_shop

LEASE_SECONDS = "2"


@pytest.fixture(autouse=True)
def worker_environment(transactional_db: None) -> Iterator[None]:
    """Let processes that a test starts find its database, and lose a lease soon."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTOPS_TEST_DATABASE", str(connection.settings_dict["NAME"]))
        patch.setenv("LEASE_SECONDS", LEASE_SECONDS)
        yield


@pytest.fixture(scope="session")
def worked_before() -> dict[str, Rows]:
    """Where the books of the undisturbed run are kept for the tests that compare with them."""
    return {}


@pytest.fixture
def undisturbed(transactional_db: None, worked_before: dict[str, Rows]) -> dict[str, Rows]:
    """The books of a shop that was worked by one process without disturbance."""
    if not worked_before:
        shop = open_shop("undisturbed")
        work_undisturbed(shop)
        worked_before.update(books_of(shop.tenant))
        require_worth_comparing(shop, worked_before)
    return worked_before


def work_undisturbed(shop: Shop) -> None:
    """Work every ticket in this process, one after the other."""
    while sweep_once() + work_until_quiet() + shop.decide_all():
        pass


def require_worth_comparing(shop: Shop, books: dict[str, Rows]) -> None:
    """Fail unless the run did everything that a disturbance could spoil."""
    assert not shop.is_open
    assert len(books["sessions"]) == len(books["tickets"]) == 36
    assert {status for _, status in books["tickets"]} == {"answered", "escalated"}
    assert {outcome for *_, outcome in books["sessions"]} >= {"answered", "refunded", "changed", "escalated"}
    assert set(Decision.objects.values_list("verdict", flat=True)) == {"approve", "reject"}
    assert set(Invocation.objects.values_list("state", flat=True)) == {"succeeded", "refused"}
    assert len(books["sums"]) > 1
    assert list(faults_of_ledger()) == []
