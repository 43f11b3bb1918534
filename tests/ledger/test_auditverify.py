"""The verifier by itself: as a program in an empty folder, on proofs, on hostile files, and on what no drill has."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from agentops.kernel.canonical import canonical_bytes
from agentops.ledger import auditverify, merkle
from agentops.ledger.auditverify import Checkpoints, Report, trust_of, verify_consistency, verify_export, verify_proof
from agentops.ledger.drilling import history
from agentops.ledger.drilling.logs import SECOND, SINK, START, Log, Signer, honest, rehash, sign

SOURCE = Path(auditverify.__file__)


@pytest.fixture
def log() -> Log:
    made = honest(Random(3))
    made.quorum = 0
    return made


def report_of(log: Log, folder: Path, **more: Any) -> Report:
    kept = log.write(folder / "all")
    return verify_export(folder / "all" / "export", trust_of(*log.trust), kept=kept, **more)


def alone(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a copy of the verifier where nothing of the product is."""
    copy = folder / "empty" / "auditverify.py"
    copy.parent.mkdir(exist_ok=True)
    shutil.copy(SOURCE, copy)
    command = [sys.executable, "-I", "-W", "error", copy.name, *arguments]
    return subprocess.run(command, cwd=copy.parent, capture_output=True, text=True, timeout=120, check=False)


def test_runs_alone_and_tells_its_verdict_by_its_exit_status(log: Log, tmp_path: Path) -> None:
    kept = [f"--checkpoints={folder}" for folder in log.write(tmp_path / "all")]
    export = tmp_path / "all" / "export"
    arguments = ["export", str(export), "--key", log.signer.vkey, *kept]
    for witness in log.witnesses.values():
        arguments += ["--witness-key", witness.vkey]
    good = alone(tmp_path, *arguments)
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.startswith(f"OK: {len(log.events)} events, {len(log.events)} proven by {len(log.sizes)} ")
    assert alone(tmp_path, "export", str(export)).returncode == 2
    assert alone(tmp_path, "export", str(tmp_path / "nowhere"), "--key", log.signer.vkey).returncode == 2

    lines = (export / "events.jsonl").read_bytes().splitlines(keepends=True)
    lines[5] = lines[5].replace(b'"position":', b'"position":1')
    (export / "events.jsonl").write_bytes(b"".join(lines))
    bad = alone(tmp_path, *arguments, "--json")
    told = json.loads(bad.stdout)
    assert (bad.returncode, told["verdict"], told["first_bad_index"], told["kind"]) == (1, "tampered", 5, "leaf")


def test_knows_nothing_of_the_product() -> None:
    imported = {line.split()[1].partition(".")[0] for line in SOURCE.read_text().splitlines() if line[:5] in IMPORT}
    assert imported - set(sys.stdlib_module_names) == {"cryptography"}


IMPORT = ("from ", "impor")


def test_memory_does_not_grow_with_the_streams(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditverify, "STREAMS_IN_MEMORY", 2)
    assert report_of(log, tmp_path).verdict == "ok"
    log.events[7]["position"] = log.events[3]["position"]
    log.events[7]["stream"], log.events[7]["tenant"] = log.events[3]["stream"], log.events[3]["tenant"]
    rehash(log.events, 0)
    log.checkpoints, log.kept = sign(log, log.sizes, log.signer), {}
    again = report_of(log, tmp_path / "again")
    assert (again.kind, again.first_bad_index) == ("position", 7)


def test_positions_ahead_are_bounded(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auditverify, "MOST_AHEAD", 0)
    log.events[4]["position"] += 100
    rehash(log.events, 0)
    log.checkpoints, log.kept = sign(log, log.sizes, log.signer), {}
    assert report_of(log, tmp_path).kind == "position"


def test_older_export_needs_the_time_it_was_made_at(log: Log, tmp_path: Path) -> None:
    size = log.sizes[1]
    history.end_at(log, size)
    late = report_of(log, tmp_path)
    assert (late.kind, late.first_bad_index) == ("tail", size)
    export, kept = tmp_path / "all" / "export", [tmp_path / "all" / SINK]
    trust = trust_of(*log.trust)
    assert verify_export(export, trust, kept=kept, until=log.made_at[size]).verdict == "ok"
    early = log.made_at[log.sizes[2]]
    assert verify_export(export, trust, kept=kept, until=early).kind == "tail"


def test_forged_checkpoint_after_the_end_is_found(log: Log, tmp_path: Path) -> None:
    size = log.sizes[1]
    history.end_at(log, size)
    log.kept = {}
    log.checkpoints[size + 1] = sign(log, [size], Signer.drawn(log.signer.name, Random(1)))[size].replace(
        f"\n{size}\n", f"\n{size + 1}\n"
    )
    assert report_of(log, tmp_path, until=log.made_at[size]).kind == "signature"


def test_two_keys_of_which_one_signature_is_forged(log: Log, tmp_path: Path) -> None:
    other = Signer.drawn(log.signer.name, Random(1))
    size = log.sizes[0]
    text = log.checkpoints[size].partition("\n\n")[0] + "\n"
    log.checkpoints[size] += other.line(f"{text}x\n", at=START)
    log.write(tmp_path / "all")
    trust = trust_of([log.signer.vkey, other.vkey], [], None)
    report = verify_export(tmp_path / "all" / "export", trust)
    assert (report.kind, report.first_bad_index, report.bad_range) == ("signature", 0, (0, size - 1))


@pytest.mark.parametrize(
    ("name", "line", "kind"),
    [
        ("checkpoints.jsonl", b"nothing\n", "checkpoint"),
        ("checkpoints.jsonl", b'{"size":-1,"note":""}\n', "checkpoint"),
        ("payloads.jsonl", b"nothing\n", "payload"),
        ("payloads.jsonl", b"[]\n", "payload"),
        ("payloads.jsonl", b'{"index":0,"salt":"xyz","body":1}\n', "payload"),
        ("events.jsonl", b"[" * 100_000 + b"\n", "line"),
        ("events.jsonl", b'{"index":1.5}\n', "line"),
        ("events.jsonl", b'{"index":' + b"9" * 5_000 + b"}\n", "line"),
        ("events.jsonl", b"\xff\xfe\n", "line"),
    ],
)
def test_line_that_cannot_be_read_is_found(log: Log, tmp_path: Path, name: str, line: bytes, kind: str) -> None:
    log.write(tmp_path / "all")
    path = tmp_path / "all" / "export" / name
    path.write_bytes(line + path.read_bytes())
    report = verify_export(tmp_path / "all" / "export", trust_of(*log.trust))
    assert (report.verdict, report.kind, report.first_bad_index) == ("tampered", kind, 0)


@pytest.mark.parametrize("value", [["a list"], {"an": "object"}, None, 7])
def test_stream_that_is_no_text_is_found(log: Log, tmp_path: Path, value: object) -> None:
    log.events[0]["stream"] = value
    leaf = hashlib.sha256(b"\0" + canonical_bytes({k: log.events[0][k] for k in auditverify.LEAF_FIELDS})).digest()
    log.events[0] |= {"leaf": leaf.hex(), "chain": auditverify.chain_hash(bytes(32), leaf).hex()}
    assert report_of(log, tmp_path).verdict == "tampered"


def test_half_a_surrogate_pair_is_found(log: Log, tmp_path: Path) -> None:
    raw = canonical_bytes({**log.events[0], "actor": "HALF"}).replace(b"HALF", b"\\ud800")
    log.raw_lines[0] = raw + b"\n"
    assert (report_of(log, tmp_path).kind, report_of(log, tmp_path / "b").first_bad_index) == ("line", 0)


@pytest.mark.parametrize("name", ["events.jsonl", "checkpoints.jsonl", "manifest.json", "payloads.jsonl"])
def test_missing_file_leaves_it_open(log: Log, tmp_path: Path, name: str) -> None:
    log.write(tmp_path / "all")
    (tmp_path / "all" / "export" / name).unlink()
    report = verify_export(tmp_path / "all" / "export", trust_of(*log.trust))
    assert (report.verdict, report.status) == ("cannot tell", 2)


def test_folder_without_checkpoints_leaves_it_open(log: Log, tmp_path: Path) -> None:
    log.write(tmp_path / "all")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "README").write_text("nothing here")
    checkpoints = Checkpoints(trust_of(*log.trust))
    with pytest.raises(auditverify.CannotTell, match="no checkpoint of this log"):
        checkpoints.load_kept(tmp_path / "notes")
    assert checkpoints.ignored == 1


def test_tree_and_proofs_are_those_of_the_product() -> None:
    leaves = [hashlib.sha256(bytes([n])).digest() for n in range(70)]

    def get(level: int, index: int) -> bytes:
        return merkle.perfect_root(leaves[index << level : (index + 1) << level])

    tree = auditverify.Tree()
    roots = [tree.root]
    for leaf in leaves:
        tree.append(leaf)
        roots.append(tree.root)
    assert roots == [merkle.root(leaves[:size]) for size in range(71)]
    for size in range(1, 71):
        for index in range(size):
            path = merkle.inclusion_proof(index, size, get)
            assert auditverify.is_included(leaves[index], index, size, path, roots[size])
            assert not auditverify.is_included(leaves[index], index, size, [*path, bytes(32)], roots[size])
            assert not auditverify.is_included(bytes(32), index, size, path, roots[size])
        for old in range(1, size + 1):
            path = merkle.consistency_proof(old, size, get)
            assert auditverify.is_consistent(old, size, path, roots[old], roots[size])
            assert not auditverify.is_consistent(old, size, path, bytes(32), roots[size])
            assert not auditverify.is_consistent(old, size, [*path, bytes(32)], roots[old], roots[size])


def proof_of(log: Log, index: int) -> dict[str, Any]:
    leaves = [bytes.fromhex(event["leaf"]) for event in log.events]
    path = merkle.inclusion_proof(
        index, len(leaves), lambda level, at: merkle.perfect_root(leaves[at << level : (at + 1) << level])
    )
    event = {name: log.events[index][name] for name in auditverify.LEAF_FIELDS}
    proof = {"format": auditverify.PROOF, "index": index, "event": event, "path": [node.hex() for node in path]}
    body = next((each for each in log.payloads if each["index"] == index), None)
    more = {} if body is None else {"salt": body["salt"], "body": body["body"]}
    return {**proof, **more, "note": log.kept[SECOND][len(leaves)]}


PROOF_HARM: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("proof", lambda proof: proof["event"].update(actor="user:mallory")),
    ("proof", lambda proof: proof.update(index=proof["index"] - 1)),
    ("proof", lambda proof: proof["path"].pop()),
    ("payload", lambda proof: proof.update(body={"text": "something else"})),
    ("signature", lambda proof: proof.update(note=proof["note"].replace("2026", "2025"))),
]


@pytest.mark.parametrize(("kind", "harm"), PROOF_HARM)
def test_proof_of_an_event(log: Log, tmp_path: Path, kind: str, harm: Callable[[dict[str, Any]], object]) -> None:
    index = log.payloads[4]["index"]
    path = tmp_path / "proof.json"
    proof = proof_of(log, index)
    path.write_text(json.dumps(proof))
    trust = trust_of([log.signer.vkey], [log.witnesses[SECOND].vkey], 1)
    good = verify_proof(path, trust)
    assert (good.verdict, good.more["index"], good.more["witnesses"]) == ("ok", index, ["witness-2.example"])
    harm(proof)
    path.write_text(json.dumps(proof))
    assert (verify_proof(path, trust).verdict, verify_proof(path, trust).kind) == ("tampered", kind)


def test_proof_without_enough_witnesses_is_refused(log: Log, tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    path.write_text(json.dumps(proof_of(log, 3)))
    trust = trust_of([log.signer.vkey], [each.vkey for each in log.witnesses.values()], 2)
    assert verify_proof(path, trust).kind == "unwitnessed"


def test_consistency_of_two_checkpoints(log: Log, tmp_path: Path) -> None:
    old, new = log.sizes[1], log.sizes[-1]
    leaves = [bytes.fromhex(event["leaf"]) for event in log.events]
    nodes = merkle.consistency_proof(
        old, new, lambda level, at: merkle.perfect_root(leaves[at << level : (at + 1) << level])
    )
    proof = {"format": auditverify.CONSISTENCY, "old": log.checkpoints[old], "new": log.checkpoints[new]}
    path = tmp_path / "consistency.json"
    path.write_text(json.dumps({**proof, "path": [node.hex() for node in nodes]}))
    trust = trust_of([log.signer.vkey], [], None)
    assert verify_consistency(path, trust).more == {"old": old, "new": new}
    path.write_text(json.dumps({**proof, "path": [bytes(32).hex(), *[node.hex() for node in nodes[1:]]]}))
    assert verify_consistency(path, trust).kind == "consistency"


@pytest.mark.parametrize("what", ["prove", "consistency", "pack"])
@pytest.mark.parametrize(
    "content", [b"", b"PK\x03\x04", b"{}", b"[" * 9_000, b'{"format":"agentops-inclusion-proof/1"}']
)
def test_hostile_file_leaves_it_open(log: Log, tmp_path: Path, what: str, content: bytes) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    assert auditverify.main([what, str(path), "--key", log.signer.vkey]) == 2


@pytest.mark.parametrize("key", ["", "a", "a+b", "a+00000000+AAAA", "a b+00000000+" + "A" * 44])
def test_key_that_cannot_be_read_leaves_it_open(tmp_path: Path, key: str) -> None:
    assert auditverify.main(["export", str(tmp_path), "--key", key]) == 2
