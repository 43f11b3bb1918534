"""``manage.py ledger``: what people and schedulers run."""

import json
import os
import signal
import subprocess
import sys
import time
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connection, transaction

from agentops.ledger.chain import GENESIS
from agentops.ledger.commands import subcommands
from agentops.ledger.log import log_size, tree_head
from agentops.ledger.merkle import EMPTY_ROOT
from tests.factories.ledger_log import require_whole_log, sequence_until, write_events

pytestmark = pytest.mark.django_db(transaction=True)
ROOT = Path(__file__).parents[2]
PATIENCE = 60


def ran(*arguments: str) -> str:
    out = StringIO()
    call_command("ledger", *arguments, stdout=out)
    return out.getvalue()


def test_subcommands_have_names_of_their_own() -> None:
    names = [one.name for one in subcommands()]
    assert {"sequence", "status"} <= set(names)
    assert len(names) == len(set(names))


def test_sequencing_once_says_what_it_did() -> None:
    write_events("agent:x", 3)
    sequence_until(3)
    assert json.loads(ran("sequence", "--once", "--json")) == {"sequenced": 0, "size": 3}
    assert ran("sequence", "--once") == "0 events sequenced, the log has 3 entries.\n"


def test_status_tells_the_head_and_who_waits() -> None:
    empty = json.loads(ran("status", "--json"))
    assert (empty["size"], empty["root"], empty["chain"]) == (0, EMPTY_ROOT.hex(), GENESIS.hex())
    write_events("agent:x", 3)
    waiting = json.loads(ran("status", "--json"))
    assert (waiting["size"], waiting["waiting"], waiting["catching_up"]) == (0, 3, False)
    assert "3 events wait for their place" in ran("status")
    sequence_until(3)
    head = tree_head()
    assert json.loads(ran("status", "--json")) == {
        "size": 3,
        "root": head.root.hex(),
        "chain": head.chain_hash.hex(),
        "waiting": 0,
        "waiting_since": None,
        "lag_seconds": 0,
        "catching_up": False,
    }
    assert "no event waits" in ran("status")


def test_log_that_was_tampered_with_ends_with_two() -> None:
    write_events("agent:x", 3)
    sequence_until(3)
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")
        cursor.execute("DELETE FROM ledger_entry WHERE index = 2")
    with pytest.raises(CommandError, match="ledger verify") as raised:
        ran("sequence", "--once")
    assert raised.value.returncode == 2


def test_process_sequences_until_it_is_told_to_end() -> None:
    environment = {**os.environ, "AGENTOPS_TEST_DATABASE": str(connection.settings_dict["NAME"])}
    command = [sys.executable, "manage.py", "ledger", "sequence", "--json"]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            for number in range(1, 4):
                write_events("agent:x", 2)
                deadline = time.monotonic() + PATIENCE
                while log_size() < 2 * number:
                    assert process.poll() is None
                    assert time.monotonic() < deadline
                    time.sleep(0.02)
            process.send_signal(signal.SIGTERM)
            said, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 0
    lines = [json.loads(line) for line in said.splitlines()]
    assert (sum(line["sequenced"] for line in lines), lines[-1]["size"]) == (6, 6)
    require_whole_log(6)
