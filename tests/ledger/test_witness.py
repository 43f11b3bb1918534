"""A witness signs one history of a log: by its pure core, over HTTP, and after it was killed."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from agentops.ledger.checkpoints import Checkpoint, format_checkpoint
from agentops.ledger.merkle import consistency_proof, root
from agentops.ledger.notes import COSIGNATURE, SigningKey, cosigned_at, parse_signatures, sign_note, verify_note
from agentops.ledger.witness import MOST_BYTES, Seen, Witness, format_request, parse_request
from agentops.ledger.witness_server import WitnessServer
from agentops.ledger.witness_state import BadState, StateFile

LOG = SigningKey("log.example", bytes(range(32)))
ROTATED = SigningKey("log.example", bytes(range(1, 33)))
STRANGER = SigningKey("log.example", bytes(range(2, 34)))
KEY = SigningKey("witness.example", bytes(32), COSIGNATURE)
OTHER = SigningKey("other.example", bytes(31) + b"x", COSIGNATURE)
WITNESS = Witness(KEY, {"log.example": [LOG.public, ROTATED.public]})
NOW = 1_700_000_000


class Log:
    """A log in memory. ``salt`` tells one history from another, from entry ``since`` on."""

    def __init__(self, salt: str = "", since: int = 0) -> None:
        self.leaves = [hashlib.sha256(f"{n}{salt if n >= since else ''}".encode()).digest() for n in range(40)]

    def _get(self, level: int, index: int) -> bytes:
        return root(self.leaves[index << level : (index + 1) << level])

    def note(self, size: int, *keys: SigningKey, origin: str = "log.example") -> bytes:
        text = format_checkpoint(Checkpoint(origin, size, root(self.leaves[:size])))
        return sign_note(text, keys or [LOG]).encoded()

    def request(self, old: int, size: int, *keys: SigningKey) -> bytes:
        return format_request(old, consistency_proof(old, size, self._get), self.note(size, *keys))

    def seen(self, size: int) -> dict[str, Seen]:
        return {"log.example": Seen(size, root(self.leaves[:size]))}


HONEST, FORKED = Log(), Log("forked", since=5)


@pytest.mark.parametrize(("old", "size"), [(0, 1), (0, 7), (1, 2), (7, 7), (7, 8), (8, 31), (13, 40)])
def test_growth_is_signed(old: int, size: int) -> None:
    reply = WITNESS.answer(HONEST.request(old, size), HONEST.seen(old), NOW)
    assert (reply.status, reply.origin, reply.seen) == (200, "log.example", HONEST.seen(size)["log.example"])
    (line,) = parse_signatures(reply.body.rstrip("\n"))
    note = parse_request(HONEST.request(old, size)).note.with_signatures([line])
    assert verify_note(note, [KEY.public]) == (KEY.public,)
    assert cosigned_at(line) == NOW


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        (HONEST.request(3, 8), 409, "7\n"),
        (HONEST.request(8, 9), 409, "7\n"),
        (HONEST.request(0, 9), 409, "7\n"),
        (FORKED.request(7, 7), 409, "7\n"),
        (FORKED.request(7, 12), 422, None),
        (format_request(7, [bytes(32)] * 4, HONEST.note(12)), 422, None),
        (format_request(7, [], HONEST.note(12)), 422, None),
        (format_request(9, [], HONEST.note(8)), 400, None),
        (HONEST.request(7, 8, STRANGER), 403, None),
        (format_request(7, [], HONEST.note(8, origin="another.example")), 404, None),
        (b"", 400, None),
        (b"old 7\n", 400, None),
        (b"old -1\n\n" + HONEST.note(8), 400, None),
        (b"old 7\nxx\n\n" + HONEST.note(8), 400, None),
        (format_request(7, [bytes(32)] * 64, HONEST.note(8)), 400, None),
        (b"x" * (MOST_BYTES + 1), 400, None),
        (format_request(7, [], sign_note("log.example\n8\nno root\n", [LOG]).encoded()), 400, None),
    ],
)
def test_what_contradicts_is_not_signed(body: bytes, status: int, words: str | None) -> None:
    reply = WITNESS.answer(body, HONEST.seen(7), NOW)
    assert (reply.status, reply.seen) == (status, None)
    assert words in (None, reply.body)


def test_key_is_rotated_without_a_gap() -> None:
    for keys in ([LOG], [LOG, ROTATED], [ROTATED]):
        assert WITNESS.answer(HONEST.request(7, 8, *keys), HONEST.seen(7), NOW).status == 200


def test_fork_shown_to_two_witnesses_is_found() -> None:
    """Each signs the history it was shown first. Neither signs what the other one did, so the two notes differ."""
    states: dict[str, dict[str, Seen]] = {"one": HONEST.seen(3), "two": FORKED.seen(3)}
    second = Witness(OTHER, WITNESS.logs)
    for name, witness, shown in (("one", WITNESS, HONEST), ("two", second, FORKED)):
        reply = witness.answer(shown.request(3, 10), states[name], NOW)
        assert reply.status == 200
        assert reply.seen is not None
        states[name] = {"log.example": reply.seen}
    assert states["one"]["log.example"].root != states["two"]["log.example"].root
    assert WITNESS.answer(FORKED.request(10, 20), states["one"], NOW).status == 422
    assert second.answer(HONEST.request(10, 20), states["two"], NOW).status == 422


@contextmanager
def serving(folder: Path, *, new: bool = True) -> Iterator[str]:
    state = StateFile(folder / "state", new=new)
    server = WitnessServer(("127.0.0.1", 0), WITNESS, state, now=lambda: NOW)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
        state.close()


def _post(url: str, body: bytes) -> tuple[int, str]:
    with httpx2.Client(trust_env=False) as client:
        answer = client.post(f"{url}/add-checkpoint", content=body)
    return answer.status_code, answer.text


def test_state_is_kept_over_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        assert _post(url, HONEST.request(0, 9))[0] == 200
    with serving(tmp_path, new=False) as url:
        assert _post(url, FORKED.request(0, 9)) == (409, "9\n")
        assert _post(url, FORKED.request(9, 9)) == (409, "9\n")
        assert _post(url, HONEST.request(9, 12))[0] == 200


def test_of_two_forks_at_once_one_is_signed(tmp_path: Path) -> None:
    found: list[int] = []
    with serving(tmp_path) as url:
        bodies = [HONEST.request(0, 9), FORKED.request(0, 9)] * 4
        threads = [threading.Thread(target=lambda b=body: found.append(_post(url, b)[0])) for body in bodies]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
    assert (found.count(200), found.count(409)) == (1, 7)


def test_long_and_endless_requests_are_turned_down(tmp_path: Path) -> None:
    with serving(tmp_path) as url:
        assert _post(url, b"x" * (MOST_BYTES + 1))[0] == 413
        with httpx2.Client(trust_env=False) as client:
            chunked = client.post(f"{url}/add-checkpoint", content=iter([b"old 0\n"]))
            assert chunked.status_code == 411
            assert client.post(f"{url}/other", content=b"").status_code == 404


@pytest.mark.parametrize("content", [b"", b"[]", b'{"log.example": {"size": -1, "root": ""}}', b"[" * 100_000])
def test_damaged_state_is_not_taken_for_none(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "state").write_bytes(content)
    with pytest.raises(BadState):
        StateFile(tmp_path / "state", new=False)


def test_missing_shared_and_overwritten_states_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadState):
        StateFile(tmp_path / "state", new=False)
    held = StateFile(tmp_path / "state", new=True)
    with pytest.raises(BadState):
        StateFile(tmp_path / "state", new=False)
    held.close()
    with pytest.raises(BadState):
        StateFile(tmp_path / "state", new=True)


# The program as it is, killed at the moment after its state is on disk.
_KILLED = """
import os, signal, sys
from agentops.ledger import witness_server
from agentops.ledger.witness_state import StateFile

remember = StateFile.remember

def and_die(self, origin, seen):
    remember(self, origin, seen)
    os.kill(os.getpid(), signal.SIGKILL)

if "--killed" in sys.argv:
    sys.argv.remove("--killed")
    StateFile.remember = and_die
sys.exit(witness_server.main(sys.argv[1:]))
"""


@contextmanager
def _program(folder: Path, *more: str) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    (folder / "key").write_text(KEY.skey())
    files = ["--key", str(folder / "key"), "--state", str(folder / "state")]
    command = [sys.executable, "-c", _KILLED, *files, "--log-key", LOG.public.vkey(), "--port", "0", *more]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "PYTHONPATH": "."}
    )
    assert process.stdout is not None
    try:
        yield f"http://127.0.0.1:{process.stdout.readline().rsplit(' ', 1)[1].strip()}", process
    finally:
        process.kill()
        process.wait(20)
        process.stdout.close()


def test_killed_before_it_answers_it_signs_no_fork_afterwards(tmp_path: Path) -> None:
    with _program(tmp_path, "--new", "--killed") as (url, process):
        with pytest.raises(httpx2.HTTPError):
            _post(url, HONEST.request(0, 9))
        assert process.wait(20) == -signal.SIGKILL
    with _program(tmp_path) as (url, _):
        assert _post(url, FORKED.request(0, 9)) == (409, "9\n")
        assert _post(url, FORKED.request(9, 9)) == (409, "9\n")
        assert _post(url, HONEST.request(9, 9))[0] == 200
