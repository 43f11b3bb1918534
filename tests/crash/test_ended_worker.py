"""A worker that is told to end finishes its step and hands the session on: nobody waits for its lease."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
import redis

from agentops.ledger.models import LedgerEvent
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Invocation, Session
from agentops.runtime.operations import start_session
from approvals.models import Verdict
from support_agent.models import DeskOperation, Ticket
from tests.crash.installation import CELERY, QUIET, ROOT
from tests.factories.books import accounts_of_effects, decide, faults_of_ledger, open_shop

pytestmark = pytest.mark.skipif(
    not (os.environ.get("DATABASE_URL") and os.environ.get("REDIS_URL")),
    reason="a worker process needs DATABASE_URL and REDIS_URL",
)
CANCEL = "cancel_pending_order"
PATIENCE = 60


def test_worker_that_is_ended_in_the_middle_of_a_step_hands_its_session_on(tmp_path: Path) -> None:
    shop = open_shop("ending")
    Ticket.objects.exclude(ref="T-1002").delete()
    session = start_session(agent=shop.agent, subject_id="T-1002", actor="tests")
    work_until_quiet()
    (request,) = shop.pending()
    assert request.tool == CANCEL
    decide(request, shop.approver, Verdict.APPROVE)

    with worker(tmp_path) as process:
        wait((tmp_path / "writing").exists, tmp_path)
        assert Invocation.objects.get(tool=CANCEL).state == "intended"
        process.send_signal(signal.SIGTERM)
        wait((tmp_path / "ending").exists, tmp_path)
        session.refresh_from_db()
        assert session.status == "running"
        (tmp_path / "go-on").touch()
        assert process.wait(PATIENCE) == 0, said(tmp_path)

    session.refresh_from_db()
    assert (session.status, session.lease_owner, session.lease_until) == ("queued", "", None)
    types = list(LedgerEvent.objects.filter(stream=session.pk).order_by("position").values_list("type", flat=True))
    step = types[types.index("call.intended") :]
    assert [name for name in step if not name.startswith("process.")] == [
        "call.intended",
        "call.succeeded",
        "session.handed_on",
    ]
    work_until_quiet()
    session.refresh_from_db()
    assert session.status == "finished"
    assert DeskOperation.objects.filter(action="CancelOrder").count() == 1
    made, known = accounts_of_effects(shop.tenant)
    assert made == known
    assert list(faults_of_ledger()) == []
    assert not LedgerEvent.objects.filter(type="session.lease_expired").exists()
    assert Session.objects.count() == 1


@contextmanager
def worker(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a Celery worker with one thread on the test's database, and leave nothing of it behind."""
    prefix = f"test-{uuid4().hex[:12]}:"
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.crash.settings_held",
        "APART_PREFIX": prefix,
        "APART_FOLDER": str(folder),
        "WORKER_THREADS": "1",
        "LEASE_SECONDS": "600",
    }
    command = [*CELERY, "worker", *QUIET, "-n", "ending@test"]
    with (folder / "worker.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        with redis.Redis.from_url(os.environ["REDIS_URL"]) as server:
            for key in server.scan_iter(match=f"{prefix}*", count=1000):
                server.delete(key)


def wait(there: Callable[[], bool], folder: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while not there():
        assert time.monotonic() < deadline, said(folder)
        time.sleep(0.05)


def said(folder: Path) -> str:
    return (folder / "worker.log").read_text(errors="replace")[-4000:]
