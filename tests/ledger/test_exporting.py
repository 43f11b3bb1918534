"""What is written out of the database is what the verifier accepts, and nothing else."""

import json
from io import StringIO
from pathlib import Path
from uuid import UUID

import pytest
from django.core.management import CommandError, call_command

from agentops.ledger.append import Event, append_to
from agentops.ledger.auditverify import Report, trust_of, verify_consistency, verify_export, verify_proof
from agentops.ledger.exporting import ExportRefused, NothingToExport, export
from agentops.ledger.proving import NotProvable, prove
from tests.factories.evidence import LOG, WITNESS, sequence_all, sign_log, triggers_off

pytestmark = pytest.mark.django_db(transaction=True)
TENANT = UUID(int=7)
KEY = LOG.public.vkey()
TRUST = trust_of([KEY], [], None)


@pytest.fixture
def stream() -> UUID:
    """A stream of 40 events, signed at 25 (with a witness) and at 40; one more has no index yet."""
    events = [
        Event("note.made", "user:alice", {"n": n, "text": "naïve \u202e"}, {"t": "T"}, {"say": n}) for n in range(40)
    ]
    made = append_to(tenant_id=TENANT, name="agent:a", events=events)
    sequence_all()
    sign_log(size=25, witness=True)
    sign_log(size=40)
    append_to(tenant_id=TENANT, name="agent:a", events=events[:1])
    return made


def report_of(folder: Path) -> Report:
    return verify_export(folder, TRUST)


def test_export_is_accepted(stream: UUID, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done = export(folder, keys=[KEY], payloads=True)
    assert (done.size, done.payloads, done.checkpoints, done.until) == (40, 40, 2, "2026-03-02T09:30:00.000000Z")
    report = report_of(folder)
    assert (report.verdict, report.events, report.proven, report.payloads) == ("ok", 40, 40, 40)
    assert sorted(path.name for path in folder.iterdir()) == [
        "checkpoints.jsonl",
        "events.jsonl",
        "manifest.json",
        "payloads.jsonl",
    ]


def test_export_without_payloads_holds_none_of_them(stream: UUID, tmp_path: Path) -> None:
    export(tmp_path / "out", keys=[KEY])
    assert not (tmp_path / "out" / "payloads.jsonl").exists()
    assert b'"say"' not in (tmp_path / "out" / "events.jsonl").read_bytes()
    assert report_of(tmp_path / "out").verdict == "ok"


def test_export_ends_where_enough_witnesses_signed(stream: UUID, tmp_path: Path) -> None:
    assert export(tmp_path / "out", keys=[KEY], quorum=1).size == 25
    trust = trust_of([KEY], [WITNESS.public.vkey()], None)
    assert verify_export(tmp_path / "out", trust).verdict == "ok"
    with pytest.raises(NothingToExport):
        export(tmp_path / "other", keys=[KEY], quorum=2)


def test_change_in_the_database_is_found_in_the_export(stream: UUID, tmp_path: Path) -> None:
    with triggers_off() as cursor:
        cursor.execute("UPDATE ledger_event SET actor = 'user:mallory' WHERE position = 30")
    export(tmp_path / "out", keys=[KEY])
    assert (report_of(tmp_path / "out").kind, report_of(tmp_path / "out").first_bad_index) == ("leaf", 30)


def test_export_needs_an_empty_folder_a_key_and_a_checkpoint(stream: UUID, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(ExportRefused):
        export(tmp_path / "full", keys=[KEY])
    with pytest.raises(ExportRefused):
        export(tmp_path / "out", keys=[])
    with triggers_off() as cursor:
        cursor.execute("DELETE FROM ledger_cosignature")
        cursor.execute("DELETE FROM ledger_checkpoint")
    with pytest.raises(NothingToExport):
        export(tmp_path / "out", keys=[KEY])


def test_commands_write_what_the_verifier_reads(stream: UUID, tmp_path: Path) -> None:
    out = StringIO()
    call_command("ledger", "export", str(tmp_path / "out"), "--key", KEY, stdout=out)
    assert out.getvalue().startswith("40 events, 0 payloads and 2 checkpoints")
    for arguments, check in (
        ([f"{stream}:12"], verify_proof),
        (["--consistency", "25", "40"], verify_consistency),
    ):
        out, path = StringIO(), tmp_path / "proof.json"
        call_command("ledger", "prove", *arguments, stdout=out)
        path.write_text(out.getvalue())
        assert check(path, TRUST).verdict == "ok"
    assert json.loads(out.getvalue())["format"] == "agentops-consistency-proof/1"
    for wrong in (
        ["x"],
        [f"{stream}:40"],
        [f"{stream}:-1"],
        ["--consistency", "25", "39"],
        ["--consistency", "40", "25"],
    ):
        with pytest.raises(CommandError):
            call_command("ledger", "prove", *wrong)


def test_proof_brings_the_payload_only_when_asked(stream: UUID) -> None:
    assert prove(stream, 12)["body"] == {"say": 12}
    assert "body" not in prove(stream, 12, body=False)
    with pytest.raises(NotProvable):
        prove(stream, 40)
