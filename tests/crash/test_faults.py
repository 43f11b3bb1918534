"""What workers stand on fails under load: the database restarts, the broker dies, messages get lost and repeated."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from agentops.embedded.home import remove_home
from agentops.embedded.postgres import EmbeddedPostgres
from agentops.embedded.processes import runs_in
from agentops.ledger.models import LedgerEvent
from agentops.runtime import doorbell
from tests.crash.broker import Broker
from tests.crash.installation import ROOT, installation, said_in
from tests.crash.messages import careless_workers
from tests.factories.books import Rows, Shop, accounts_of_effects, books_of, faults_of_ledger, open_shop

PATIENCE = 120
DRILL_PATIENCE = 400
OUT, SAID = "drill.out", "drill.said"
CLUSTER = "restarted"
RESTARTS = 4
EVENTS_BETWEEN = 60


def require_same_books(shop: Shop, undisturbed: dict[str, Rows]) -> None:
    assert not shop.is_open
    assert books_of(shop.tenant) == undisturbed
    made, known = accounts_of_effects(shop.tenant)
    assert made == known
    assert len(made) == len(set(made))
    assert list(faults_of_ledger()) == []


@pytest.fixture
def base(tmp_path: Path) -> Iterator[Path]:
    """The folder of a database server of this test's own."""
    yield tmp_path
    remove_home(tmp_path)


def test_database_that_is_restarted_under_load_loses_nothing(base: Path) -> None:
    """The server is told to stop at once, without a checkpoint, again and again, while workers work and die."""
    seed = int(os.environ.get("CRASH_SEED", random.randrange(10**9)))
    drill = start_drill(base, seed)
    server = EmbeddedPostgres(base, CLUSTER, durable=False)
    restarts, deadline = 0, time.monotonic() + DRILL_PATIENCE
    seen = 0
    while drill.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
        if restarts < RESTARTS and events_in(server) >= seen + EVENTS_BETWEEN:
            seen = events_in(server)
            restarts += stop_at_once(server)
    drill.terminate()
    drill.wait()
    out, said = ((base / name).read_text(encoding="utf-8") for name in (OUT, SAID))
    assert out, f"CRASH_SEED={seed}: {said}"
    figures = json.loads(out)
    found = {name: figures[name] for name in ("lost", "duplicated", "mismatches", "deaths")}
    assert found == {"lost": 0, "duplicated": 0, "mismatches": 0, "deaths": 0}, f"CRASH_SEED={seed}: {said}"
    assert restarts == RESTARTS
    assert figures["sessions"] > 20


def start_drill(base: Path, seed: int) -> "subprocess.Popen[str]":
    """Start a drill on an embedded server below ``base``, where it also leaves what it says.

    Not in pipes: nobody reads while it runs, and a full pipe would stop it.
    """
    ours = ("AGENTOPS_TEST_DATABASE", "DATABASE_URL", "DATABASE_URL_FILE")
    environment = {name: value for name, value in os.environ.items() if name not in ours}
    environment |= {"DEMO_DIR": str(base), "AGENTOPS_TEST_CLUSTER": CLUSTER}
    with (base / OUT).open("w") as out, (base / SAID).open("w") as said:
        return subprocess.Popen(
            [sys.executable, "manage.py", "chaos", "--kills", "25", "--seed", str(seed), "--json"],
            cwd=ROOT,
            env=environment,
            stdout=out,
            stderr=said,
            text=True,
        )


def events_in(server: EmbeddedPostgres) -> int:
    """Return how much the drill has recorded; 0 while its server cannot be asked. Starts nothing."""
    pid, port = server.cluster.recorded()
    if not runs_in(pid, server.cluster.data):
        return 0
    place = {"host": "127.0.0.1", "port": port, "user": "agentops", "password": server.cluster.password()}
    try:
        with psycopg.connect(**place, dbname="postgres", connect_timeout=5) as connection:
            row = connection.execute("SELECT datname FROM pg_database WHERE datname LIKE 'chaos_%'").fetchone()
        if row is None:
            return 0
        with psycopg.connect(**place, dbname=row[0], connect_timeout=5) as connection:
            (count,) = connection.execute("SELECT count(*) FROM ledger_event").fetchone() or (0,)
    except psycopg.Error:
        return 0
    return int(count)


def stop_at_once(server: EmbeddedPostgres) -> bool:
    """Stop the server in immediate mode; whoever needs it next starts it again. Return whether it ran."""
    pid, _ = server.cluster.recorded()
    if not runs_in(pid, server.cluster.data):
        return False
    os.kill(pid, signal.SIGQUIT)
    return True


@pytest.mark.skipif(shutil.which("redis-server") is None, reason="no redis-server on this machine")
def test_broker_that_is_emptied_and_killed_loses_nothing(undisturbed: dict[str, Rows], tmp_path: Path) -> None:
    shop = open_shop("brokerless")
    with Broker() as broker, installation(tmp_path, workers=2, redis_url=broker.url) as running:
        deadline, due, faults = time.monotonic() + PATIENCE, 0, 0
        while shop.is_open:
            assert time.monotonic() < deadline, said_in(tmp_path)
            shop.decide_all()
            recorded = LedgerEvent.objects.filter(tenant_id=shop.tenant.pk).count()
            if recorded >= due:
                broker.flush() if faults % 2 else broker.kill_and_start()
                due, faults = recorded + EVENTS_BETWEEN, faults + 1
            time.sleep(0.05)
        assert faults >= 4
        assert running.workers
    require_same_books(shop, undisturbed)


def test_rings_that_are_lost_repeated_and_late_lose_nothing(
    undisturbed: dict[str, Rows], monkeypatch: pytest.MonkeyPatch
) -> None:
    seed = int(os.environ.get("CRASH_SEED", random.randrange(10**9)))
    shop = open_shop("careless")
    with careless_workers(2, seed=seed) as (ring, tally):
        monkeypatch.setattr(doorbell, "ring", ring)
        deadline = time.monotonic() + PATIENCE
        while shop.is_open:
            assert time.monotonic() < deadline, f"CRASH_SEED={seed}: {tally}"
            shop.decide_all()
            time.sleep(0.05)
    require_same_books(shop, undisturbed)
    assert min(tally.counts()) >= 5, f"CRASH_SEED={seed}: {tally}"
