"""Where values lie: environment variables, files that nobody else may read, a vault over HTTP."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from agentops.gateway import vault as vault_module
from agentops.gateway.checks import check_capabilities, check_secret_source
from agentops.gateway.credentials import SOURCES, source_of
from agentops.gateway.sources import MOST_BYTES, EnvironmentSource, FileSource, Found, SourceFailed, Wanted
from agentops.gateway.vault import VaultSource
from agentops.kernel.errors import FailureKind
from tests.gateway.secrets import CAPABILITY, VALUE, Answering, held, vault

TENANT = UUID("019ad1a0-0000-7000-8000-00000000000a")
OTHER = UUID("019ad1a0-0000-7000-8000-00000000000b")
WANTED = Wanted(TENANT, "sandbox", CAPABILITY)
NOT_IT = [
    Wanted(OTHER, "sandbox", CAPABILITY),
    Wanted(TENANT, "production", CAPABILITY),
    Wanted(TENANT, "sandbox", "x"),
]


# -- Environment variables -----------------------------------------------------------------------------


def test_variable_of_the_tenant_and_environment() -> None:
    name = f"TOOL_SECRET_SANDBOX_{TENANT.hex.upper()}_SHOP_API"
    source = EnvironmentSource({name: f" {VALUE}\n"})
    assert source.find(WANTED) == Found(VALUE)
    assert [source.find(other) for other in NOT_IT] == [None, None, None]
    assert EnvironmentSource({name: " "}).find(WANTED) is None


# -- Files ---------------------------------------------------------------------------------------------


def put(folder: Path, content: bytes = VALUE.encode(), mode: int = 0o400) -> Path:
    path = folder / "sandbox" / str(TENANT) / CAPABILITY
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o440, 0o640])
def test_file_that_is_private(tmp_path: Path, mode: int) -> None:
    put(tmp_path, f"{VALUE}\n".encode(), mode)
    assert FileSource(tmp_path).find(WANTED) == Found(VALUE)
    assert [FileSource(tmp_path).find(other) for other in NOT_IT] == [None, None, None]


@pytest.mark.parametrize("mode", [0o444, 0o404, 0o460, 0o401, 0o777])
def test_file_that_others_may_read_or_change(tmp_path: Path, mode: int) -> None:
    put(tmp_path, mode=mode)
    with pytest.raises(SourceFailed, match=f"is open to others .mode {mode:o}") as raised:
        FileSource(tmp_path).find(WANTED)
    assert raised.value.kind is FailureKind.AUTH


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"\xff\xfe\xfd" * 9, "is no text"), (b"x" * (MOST_BYTES + 1), "is larger than 65536 bytes")],
)
def test_file_that_holds_no_secret(tmp_path: Path, content: bytes, words: str) -> None:
    put(tmp_path, content)
    with pytest.raises(SourceFailed, match=words):
        FileSource(tmp_path).find(WANTED)


def test_empty_file_is_no_value(tmp_path: Path) -> None:
    put(tmp_path, b" \n")
    assert FileSource(tmp_path).find(WANTED) is None


def test_links_inside_the_folder_are_followed_and_others_are_not(tmp_path: Path) -> None:
    inside, outside = tmp_path / "secrets", tmp_path / "outside"
    path = put(inside)
    path.rename(inside / "data")
    path.symlink_to(inside / "data")
    assert FileSource(inside).find(WANTED) == Found(VALUE)
    outside.write_text(VALUE)
    outside.chmod(0o400)
    path.unlink()
    path.symlink_to(outside)
    with pytest.raises(SourceFailed, match="lies outside the folder"):
        FileSource(inside).find(WANTED)


def test_pipe_and_folder_in_its_place(tmp_path: Path) -> None:
    path = put(tmp_path)
    path.unlink()
    os.mkfifo(path, 0o400)
    with pytest.raises(SourceFailed, match="is not a regular file"):
        FileSource(tmp_path).find(WANTED)
    path.unlink()
    path.mkdir()
    with pytest.raises(SourceFailed, match="is not a regular file"):
        FileSource(tmp_path).find(WANTED)


# -- A vault -------------------------------------------------------------------------------------------


def test_vault_is_asked_by_path_and_token() -> None:
    with vault(held(VALUE)) as fake:
        source = VaultSource(f"{fake.address}/", "t-1", "kv/team")
        assert source.find(WANTED) == Found(VALUE)
    assert fake.asked == [(f"/v1/kv/team/data/agentops/sandbox/{TENANT}/{CAPABILITY}", "t-1")]


def test_vault_says_until_when_a_value_is_valid() -> None:
    with vault(held(VALUE, expires_at="2026-12-01T00:00:00Z")) as fake:
        found = VaultSource(fake.address, "t-1", "secret").find(WANTED)
    assert found == Found(VALUE, datetime(2026, 12, 1, tzinfo=UTC))


def answering(status: int, body: bytes = b"{}", **headers: str) -> Answering:
    return lambda path: (status, {name.replace("_", "-"): value for name, value in headers.items()}, body)


ANSWERS: list[tuple[Answering, FailureKind, str]] = [
    (answering(403), FailureKind.AUTH, "status 403"),
    (answering(503), FailureKind.UNAVAILABLE, "status 503"),
    (answering(302, Location="http://127.0.0.1:1/"), FailureKind.UNAVAILABLE, "status 302"),
    (answering(200, b"<html>"), FailureKind.AUTH, "no readable value"),
    (answering(200, b"[1]"), FailureKind.AUTH, "no readable value"),
    (answering(200, b'{"data": null}'), FailureKind.AUTH, "no readable value"),
    (
        answering(200, json.dumps({"data": {"data": {"password": VALUE}}}).encode()),
        FailureKind.AUTH,
        "no readable value",
    ),
    (held({"key": VALUE}), FailureKind.AUTH, "no readable value"),
    (held(VALUE, expires_at=f"soon {VALUE}"), FailureKind.AUTH, "no readable value"),
    (held(VALUE, expires_at="2026-12-01T00:00:00"), FailureKind.AUTH, "no readable value"),
    (answering(200, b"x" * 300_000), FailureKind.UNAVAILABLE, "more than 262144 bytes"),
    (answering(200, b"x", Content_Encoding="gzip"), FailureKind.UNAVAILABLE, "compressed"),
]


@pytest.mark.parametrize(("answer", "kind", "words"), ANSWERS, ids=range(len(ANSWERS)))
def test_vault_that_answers_something_else(answer: Answering, kind: FailureKind, words: str) -> None:
    with vault(answer) as fake, pytest.raises(SourceFailed, match=words) as raised:
        VaultSource(fake.address, "token-of-the-vault", "secret").find(WANTED)
    assert raised.value.kind is kind
    assert VALUE not in raised.value.in_full
    assert "token-of-the-vault" not in raised.value.in_full
    assert len(fake.asked) == 1


def test_vault_without_the_value() -> None:
    with vault(answering(404)) as fake:
        assert VaultSource(fake.address, "t-1", "secret").find(WANTED) is None
    with vault(held("")) as fake:
        assert VaultSource(fake.address, "t-1", "secret").find(WANTED) is None


def test_vault_that_is_not_there_or_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SourceFailed, match="could not be reached") as raised:
        VaultSource("http://127.0.0.1:1", "t-1", "secret").find(WANTED)
    assert raised.value.kind is FailureKind.UNAVAILABLE
    monkeypatch.setattr(vault_module, "SECONDS", 0.05)

    def slow(path: str) -> Any:
        import time  # noqa: PLC0415 - the one test that waits

        time.sleep(0.3)
        return 200, {}, b"{}"

    with vault(slow) as fake, pytest.raises(SourceFailed, match="did not answer in time"):
        VaultSource(fake.address, "t-1", "secret").find(WANTED)


# -- Settings ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "more", "problems"),
    [
        ("environment", {}, []),
        ("files", {"SECRET_DIR": "/run/secrets"}, []),
        ("files", {"SECRET_DIR": ""}, ["agentops.E106"]),
        ("files", {"SECRET_DIR": "secrets"}, ["agentops.E106"]),
        ("vault", {"SECRET_VAULT_URL": "https://vault", "SECRET_VAULT_TOKEN": "t"}, []),
        ("vault", {"SECRET_VAULT_URL": "https://vault", "SECRET_VAULT_TOKEN": ""}, ["agentops.E106"]),
        (
            "vault",
            {"SECRET_VAULT_URL": "https://vault", "SECRET_VAULT_TOKEN": "t", "SECRET_VAULT_MOUNT": "../x"},
            ["agentops.E106"],
        ),
    ],
)
def test_settings_of_the_source_are_checked(
    settings: Any, source: str, more: dict[str, str], problems: list[str]
) -> None:
    source_of.cache_clear()
    settings.SECRET_SOURCE = source
    for name, value in more.items():
        setattr(settings, name, value)
    assert [problem.id for problem in check_secret_source()] == problems
    source_of.cache_clear()


def test_every_source_can_be_named() -> None:
    assert set(SOURCES) == {"environment", "files", "vault"}


@pytest.mark.parametrize("name", ["Shop", "shop-api", "../x", "1x", "x" * 61, "shop api"])
def test_capability_that_is_no_plain_name_is_reported(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("agentops.gateway.checks.capabilities", lambda: ["fine_name", name])
    assert [problem.id for problem in check_capabilities()] == ["agentops.E105"]
