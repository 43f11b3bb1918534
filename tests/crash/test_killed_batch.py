"""Workers are killed at any moment of the demo's batch: the books are those of an undisturbed run.

``CRASH_SEED=N`` repeats the choice of moments and victims; a failure prints the seed that it had.
"""

import os
import random
import time
from datetime import timedelta

from django.utils import timezone

from agentops.ledger.models import LedgerEvent
from agentops.runtime.models import Session
from approvals.models import ApprovalRequest
from benchmarks.worker_pool import workers
from support_agent.models import Ticket
from tests.crash.conftest import work_undisturbed
from tests.factories.books import Rows, Shop, accounts_of_effects, books_of, faults_of_ledger, open_shop

LEAST_KILLS = 5
PATIENCE = 240


def test_killed_workers_leave_the_same_books(undisturbed: dict[str, Rows]) -> None:
    seed = int(os.environ.get("CRASH_SEED", random.randrange(10**9)))
    note = f"repeat with CRASH_SEED={seed}"
    shop = open_shop("killed")
    kills = work_while_killing(shop, seed)

    assert not shop.is_open, f"{note}: {standing(shop)}"
    assert kills >= LEAST_KILLS, note
    assert books_of(shop.tenant) == undisturbed, note
    made, known = accounts_of_effects(shop.tenant)
    assert made == known, note
    assert len(made) == len(set(made)), note
    assert list(faults_of_ledger()) == [], note


def test_books_do_not_depend_on_which_ticket_came_first(undisturbed: dict[str, Rows]) -> None:
    """Otherwise a comparison with workers that run side by side would be worth nothing."""
    shop, now = open_shop("backwards"), timezone.now()
    first, second = "T-1001", "T-1036"  # two small refunds of one customer on one day: the later one asks
    for place, ticket in enumerate(Ticket.objects.filter(tenant=shop.tenant).order_by("received_at")):
        Ticket.objects.filter(pk=ticket.pk).update(received_at=now - timedelta(minutes=place))
    work_undisturbed(shop)
    asked = ApprovalRequest.objects.filter(tenant=shop.tenant, subject_id__in=[first, second])
    assert list(asked.values_list("subject_id", flat=True)) == [first]
    assert books_of(shop.tenant) == undisturbed


def work_while_killing(shop: Shop, seed: int) -> int:
    """Work the shop to its end with workers that are killed all the time; return how many were."""

    def progress() -> int:
        return LedgerEvent.objects.filter(tenant_id=shop.tenant.pk).count()

    deadline = time.monotonic() + PATIENCE
    with workers(2, progress=progress, seed=seed) as pool:
        while shop.is_open and time.monotonic() < deadline:
            shop.decide_all()
            time.sleep(0.05)
    assert pool.deaths == 0, f"{pool.deaths} workers ended by themselves, CRASH_SEED={seed}"
    return pool.kills


def standing(shop: Shop) -> list[tuple[str, str, str]]:
    return list(Session.objects.filter(tenant=shop.tenant).values_list("subject_id", "status", "stop_code"))
