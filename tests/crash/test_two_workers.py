"""One web process and two workers over Redis leave the books of an undisturbed run in one process."""

import os
import re
import time
from pathlib import Path

import pytest

from agentops.ledger.models import LedgerEvent
from approvals.models import ApprovalRequest, Verdict
from tests.crash.installation import Visitor, installation, said_in
from tests.factories.books import (
    NO,
    Rows,
    Shop,
    accounts_of_effects,
    books_of,
    decide,
    faults_of_ledger,
    open_shop,
    verdict_on,
)

pytestmark = pytest.mark.skipif(
    not (os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL")),
    reason="several processes need DATABASE_URL and REDIS_URL",
)
PATIENCE = 180


def test_web_and_two_workers_leave_the_same_books(undisturbed: dict[str, Rows], tmp_path: Path) -> None:
    shop = open_shop("apart")
    with installation(tmp_path, workers=2) as running:
        visitor = Visitor(running.url)
        visitor.sign_in("approver-apart", "approver-apart")
        deadline = time.monotonic() + PATIENCE
        while shop.is_open:
            assert time.monotonic() < deadline, said_in(tmp_path)
            decide_listed(visitor, shop)
            time.sleep(0.1)

    assert books_of(shop.tenant) == undisturbed
    made, known = accounts_of_effects(shop.tenant)
    assert made == known
    assert list(faults_of_ledger()) == []
    assert pids_that_worked(shop) == running.workers


def decide_listed(visitor: Visitor, shop: Shop) -> None:
    """Open every request that the queue lists, and send its form; what takes two people they decide elsewhere."""
    for pk in re.findall(r'<a href="/approvals/([0-9a-f-]{36})/"[^>]*data-open', visitor.get("/approvals/")):
        path = f"/approvals/{pk}/"
        page = visitor.get(path)
        request = ApprovalRequest.objects.get(pk=pk)
        verdict = verdict_on(request)
        if request.irreversible:
            decide(request, shop.approver, verdict)
            continue
        said = {"why": NO} if verdict is Verdict.REJECT else {"checked": "Seen."}
        answer = visitor.send(f"{path}decide/", page, verb=verdict.value, **said)
        assert f"<b>{verdict.label}</b> by you" in answer


def pids_that_worked(shop: Shop) -> frozenset[int]:
    claims = LedgerEvent.objects.filter(tenant_id=shop.tenant.pk, type="session.claimed")
    return frozenset(int(actor.split(":")[-2]) for actor in claims.values_list("actor", flat=True))
