"""What is changed in the database with triggers off is found, and where it is."""

import json
from io import StringIO
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from agentops.ledger.append import Event, append_to
from agentops.ledger.auditverify import trust_of
from agentops.ledger.chain import links
from agentops.ledger.entries import entries
from agentops.ledger.log import leaf_hashes
from agentops.ledger.verifying import verify
from tests.factories.evidence import LOG, sequence_all, sign_log, triggers_off

pytestmark = pytest.mark.django_db(transaction=True)
TENANT = UUID(int=7)
TRUST = trust_of([LOG.public.vkey()], [], None)
PLACE = "(stream, position) = (SELECT stream, position FROM ledger_entry WHERE index = %s)"


@pytest.fixture
def signed() -> Path:
    """A log of 300 entries, with checkpoints over 100, 200 and all of them, and one event that waits for its index."""
    events = [Event("note.made", "user:alice", {"n": n}, {"t": "T"}, {"text": f"n {n}"}) for n in range(50)]
    for name in "abcdef":
        append_to(tenant_id=TENANT, name=f"agent:{name}", events=events)
    assert sequence_all() == 300
    for size in (100, 200, 300):
        sign_log(size=size)
    append_to(tenant_id=TENANT, name="agent:g", events=events[:1])
    return Path()


def test_honest_ledger_is_in_order(signed: Path) -> None:
    found = verify(trust=TRUST)
    assert found.findings == []
    assert (found.events, found.waiting, found.payloads, found.checkpoints) == (300, 1, 301, 3)


def test_empty_ledger_is_in_order() -> None:
    assert verify().findings == []


EVENT_COLUMNS = {
    "position": "position + 1000",
    "at": "at + interval '1 second'",
    "tenant_id": "'00000000-0000-0000-0000-000000000008'",
    "type": "type || 'x'",
    "actor": "'user:bob'",
    "refs": "'{}'",
    "facts": "facts || '{\"n\": 77}'",
    "payload_digest": "sha256('x')",
    "leaf_hash": "sha256('x')",
}


@pytest.mark.parametrize("column", EVENT_COLUMNS)
def test_changed_column_of_an_event_is_found(signed: Path, column: str) -> None:
    with triggers_off() as cursor:
        cursor.execute(f"UPDATE ledger_event SET {column} = {EVENT_COLUMNS[column]} WHERE {PLACE}", [137])
    assert verify().first_bad_index == 137


def test_changed_stream_of_an_event_is_found(signed: Path) -> None:
    with triggers_off() as cursor:
        cursor.execute(f"UPDATE ledger_event SET stream = gen_random_uuid() WHERE {PLACE}", [137])
    assert verify().first_bad_index == 137


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (f"DELETE FROM ledger_event WHERE {PLACE.replace('%s', '137')}", 137),
        (f"DELETE FROM ledger_payload WHERE {PLACE.replace('%s', '137')}", 137),
        (f"UPDATE ledger_payload SET body = '{{}}' WHERE {PLACE.replace('%s', '137')}", 137),
        (f"UPDATE ledger_payload SET body = '\\x01ff' WHERE {PLACE.replace('%s', '137')}", 137),
        ("UPDATE ledger_entry SET leaf_hash = sha256('x') WHERE index = 137", 137),
        ("UPDATE ledger_entry SET chain_hash = sha256('x') WHERE index = 137", 137),
        ("UPDATE ledger_entry SET position = 1000 WHERE index = 137", 137),
        ("DELETE FROM ledger_entry WHERE index = 137", 137),
        ("DELETE FROM ledger_entry WHERE index >= 290", 290),
        ("UPDATE ledger_entry SET index = 1000 WHERE index = 137", 137),
        ("UPDATE ledger_subtree SET hash = sha256('x')", 0),
        ("DELETE FROM ledger_subtree", 0),
        ("INSERT INTO ledger_subtree (level, index, hash) VALUES (2, 0, sha256('x'))", 300),
        ("UPDATE ledger_head SET size = 400", 300),
        ("UPDATE ledger_head SET chain_hash = sha256('x')", 300),
        ("UPDATE ledger_checkpoint SET root = sha256('x') WHERE size = 200", 100),
        ("UPDATE ledger_checkpoint SET chain_hash = sha256('x') WHERE size = 200", 100),
        ("UPDATE ledger_checkpoint SET note = replace(note, 'ledger.example', 'other.example') WHERE size = 200", 100),
        ("UPDATE ledger_checkpoint SET note = replace(note, '2026-', '2025-') WHERE size = 200", 100),
        ("UPDATE ledger_checkpoint SET note = 'x' WHERE size = 200", 100),
        ("UPDATE ledger_checkpoint SET size = 250 WHERE size = 200", 100),
    ],
)
def test_change_in_the_tables_is_found(signed: Path, statement: str, index: int) -> None:
    with triggers_off() as cursor:
        cursor.execute(statement)
    assert verify(trust=TRUST).first_bad_index == index


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM ledger_head",
        "UPDATE ledger_stream SET position = position + 1 WHERE name = 'agent:g'",
        "DELETE FROM ledger_event WHERE stream = (SELECT id FROM ledger_stream WHERE name = 'agent:g')",
        "UPDATE ledger_event SET actor = 'x' WHERE stream = (SELECT id FROM ledger_stream WHERE name = 'agent:g')",
        "DELETE FROM ledger_payload WHERE stream = (SELECT id FROM ledger_stream WHERE name = 'agent:g')",
        "DELETE FROM ledger_stream WHERE name = 'agent:g'",
        "INSERT INTO ledger_payload VALUES (gen_random_uuid(), 0, '{}')",
    ],
)
def test_change_without_an_index_is_found(signed: Path, statement: str) -> None:
    with triggers_off() as cursor:
        cursor.execute(statement)
    assert not verify(trust=TRUST).ok


def forge(index: int) -> None:
    """Change an event, and compute everything anew that needs no key."""
    with triggers_off() as cursor:
        cursor.execute(f"UPDATE ledger_event SET actor = 'user:mallory' WHERE {PLACE}", [index])
        entry = next(entries(index, index + 1))
        cursor.execute(f"UPDATE ledger_event SET leaf_hash = %s WHERE {PLACE}", [entry.leaf.hash, index])
        cursor.execute("UPDATE ledger_entry SET leaf_hash = %s WHERE index = %s", [entry.leaf.hash, index])
        chain = links(bytes(32), leaf_hashes(0, 300))
        for place, link in enumerate(chain):
            cursor.execute("UPDATE ledger_entry SET chain_hash = %s WHERE index = %s", [link, place])
        cursor.execute("UPDATE ledger_head SET chain_hash = %s", [chain[-1]])


def test_rewritten_history_contradicts_the_checkpoint_over_it(signed: Path) -> None:
    forge(137)
    assert {each.index for each in verify(trust=TRUST).findings if each.kind == "root"} == {100}


def test_rewritten_history_without_checkpoints_contradicts_what_others_kept(signed: Path, tmp_path: Path) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT size, note FROM ledger_checkpoint")
        for size, note in cursor.fetchall():
            (tmp_path / f"{size}.checkpoint").write_text(note)
    assert verify(trust=TRUST, kept=[tmp_path]).ok
    forge(137)
    with triggers_off() as cursor:
        cursor.execute("DELETE FROM ledger_checkpoint")
        cursor.execute("UPDATE ledger_subtree SET hash = sha256('x') WHERE false")
    found = verify(trust=TRUST, kept=[tmp_path])
    assert ("root", 100) in {(each.kind, each.index) for each in found.findings}


def run(*arguments: str) -> tuple[int, str]:
    out = StringIO()
    try:
        call_command("ledger", "verify", *arguments, stdout=out)
    except SystemExit as ended:
        return int(ended.code or 0), out.getvalue()
    except CommandError as error:
        return error.returncode, str(error)
    return 0, out.getvalue()


def test_command_says_what_and_where(signed: Path) -> None:
    assert run("--key", LOG.public.vkey())[0] == 0
    with triggers_off() as cursor:
        cursor.execute(f"UPDATE ledger_event SET actor = 'x' WHERE {PLACE}", [137])
    code, told = run("--json")
    findings = json.loads(told)["findings"]
    assert (code, json.loads(told)["first_bad_index"], findings[0]["kind"]) == (1, 137, "leaf")
    assert "the first bad index is 137" in run()[1]
    assert run("--key", "nonsense")[0] == 2
    assert run("--key", LOG.public.vkey(), "--checkpoints", "/nowhere")[0] == 2
