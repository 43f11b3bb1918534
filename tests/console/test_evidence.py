"""The evidence pack of a call: who may take it, what it says, that it proves it, and that taking it is on record."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from agentops.ledger.auditverify import Report, page_of, trust_of, verify_pack
from agentops.ledger.models import LedgerEvent
from agentops.runtime.models import Invocation
from approvals.models import Verdict
from tests.console.conftest import DONE, LOOK, Stage, pay, signed_in
from tests.factories.evidence import LOG, WITNESS, sequence_all, sign_log

pytestmark = pytest.mark.django_db(transaction=True)
TRUST = trust_of([LOG.public.vkey()], [], None)


@pytest.fixture
def paid(stage: Stage) -> Invocation:
    """A payment that a person approved and that was made."""
    session = stage.work(LOOK, pay(5_000), DONE)
    stage.decide(session, Verdict.APPROVE, "<script>alert('seen')</script>")
    stage.go_on(session)
    return Invocation.objects.get(tool="pay")


def url_of(call: Invocation) -> str:
    return reverse("step_evidence", args=[call.session_id, call.position])


def taken(call: Invocation, person: User) -> bytes:
    response = signed_in(person).post(url_of(call))
    assert (response.status_code, response["Content-Type"]) == (200, "application/zip")
    return response.content


def check(content: bytes, folder: Path) -> Report:
    path = folder / "pack.zip"
    path.write_bytes(content)
    return verify_pack(path, TRUST)


def members_of(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as file:
        return {name: file.read(name) for name in file.namelist()}


def rezipped(members: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return buffer.getvalue()


def test_pack_says_and_proves_what_happened(stage: Stage, paid: Invocation, tmp_path: Path) -> None:
    sequence_all()
    sign_log(witness=True)
    content = taken(paid, stage.cast.alice)
    report = check(content, tmp_path)
    assert (report.verdict, report.what) == ("ok", "")
    members = members_of(content)
    assert sorted(members) == ["README.txt", "evidence.html", "keys.txt", "pack.json"]
    pack = json.loads(members["pack.json"])
    told = {(each["section"], each["label"]): each["value"] for each in pack["claims"]}
    assert told["Decision", "approval.approved: who"] == "user:alice"
    assert told["Result", "call.succeeded: result"] == {"receipt": "r-1", "minor": 5_000}
    assert {each["section"] for each in pack["claims"]} >= {"Request", "Decision", "Tool call", "Result"}
    page = members["evidence.html"].decode()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    trust = trust_of([LOG.public.vkey()], [WITNESS.public.vkey()], None)
    (tmp_path / "pack.zip").write_bytes(content)
    assert verify_pack(tmp_path / "pack.zip", trust).verdict == "ok"


def test_taking_it_is_an_event(stage: Stage, paid: Invocation) -> None:
    sequence_all()
    sign_log()
    taken(paid, stage.cast.alice)
    event = LedgerEvent.objects.get(type="evidence.exported")
    assert (event.actor, event.refs, event.tenant_id) == (
        "user:alice",
        {"session": str(paid.session_id)},
        paid.tenant_id,
    )
    assert paid.position in event.facts["positions"]


def test_before_a_checkpoint_covers_it_there_is_no_pack(stage: Stage, paid: Invocation) -> None:
    response = signed_in(stage.cast.alice).post(url_of(paid))
    assert (response.status_code, b"checkpoint" in response.content) == (409, True)
    assert not LedgerEvent.objects.filter(type="evidence.exported").exists()


def test_page_offers_it_to_whoever_may(stage: Stage, paid: Invocation) -> None:
    page = reverse("session_detail", args=[paid.session_id])
    assert url_of(paid) in signed_in(stage.cast.alice).get(page).content.decode()
    assert url_of(paid) not in signed_in(stage.cast.bob).get(page).content.decode()


def _claim(pack: dict[str, Any]) -> dict[str, Any]:
    return next(each for each in pack["claims"] if each["label"] == "approval.approved: who")


PACK_HARM: list[tuple[str, Callable[[dict[str, Any]], object]]] = [
    ("statement", lambda pack: _claim(pack).update(value="user:mallory")),
    ("statement", lambda pack: _claim(pack).update(index=10_000)),
    ("proof", lambda pack: pack["proofs"][1]["event"].update(actor="user:mallory")),
    ("payload", lambda pack: next(each for each in pack["proofs"] if "body" in each).update(body={"a": 1})),
    ("signature", lambda pack: pack.update(note=pack["note"].replace("2026", "2025"))),
]


@pytest.mark.parametrize(("kind", "harm"), PACK_HARM)
def test_changed_pack_is_found(
    stage: Stage, paid: Invocation, tmp_path: Path, kind: str, harm: Callable[[dict[str, Any]], object]
) -> None:
    sequence_all()
    sign_log()
    members = members_of(taken(paid, stage.cast.alice))
    pack = json.loads(members["pack.json"])
    harm(pack)
    changed = {**members, "pack.json": json.dumps(pack).encode(), "evidence.html": page_of(pack).encode()}
    report = check(rezipped(changed), tmp_path)
    assert (report.verdict, report.kind) == ("tampered", kind)


def test_page_that_shows_something_else_is_found(stage: Stage, paid: Invocation, tmp_path: Path) -> None:
    sequence_all()
    sign_log()
    members = members_of(taken(paid, stage.cast.alice))
    members["evidence.html"] = members["evidence.html"].replace(b"user:alice", b"user:carol")
    assert check(rezipped(members), tmp_path).kind == "page"
