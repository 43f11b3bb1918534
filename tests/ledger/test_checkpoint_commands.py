"""``manage.py ledger``: keys, checkpoints and deliveries as operators use them, and what is checked at the start."""

import stat
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from agentops.ledger.checkpoint_checks import check_evidence, check_log_key, check_sinks
from agentops.ledger.notes import COSIGNATURE, PublicKey, SigningKey

KEY = SigningKey("log.example", bytes(range(32)))


def _ledger(*words: str) -> str:
    out = StringIO()
    call_command("ledger", *words, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize(("more", "kind"), [((), 1), (("--witness",), COSIGNATURE)])
def test_keygen_writes_a_private_file_once(tmp_path: Path, more: tuple[str, ...], kind: int) -> None:
    path = tmp_path / "key"
    printed = _ledger("keygen", "--name", "log.example", "--out", str(path), *more)
    assert SigningKey.from_skey(path.read_text()).public == PublicKey.from_vkey(printed)
    assert PublicKey.from_vkey(printed).kind == kind
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    before = path.read_bytes()
    with pytest.raises(CommandError):
        _ledger("keygen", "--name", "log.example", "--out", str(path), *more)
    assert path.read_bytes() == before


@pytest.mark.django_db
def test_checkpoint_needs_a_key_and_an_entry(settings: Settings) -> None:
    with pytest.raises(CommandError, match="no key"):
        _ledger("checkpoint")
    settings.LEDGER_KEY = KEY.skey()
    assert _ledger("checkpoint") == f"key {KEY.public.vkey()}\nNo checkpoint was made: the log is empty.\n"
    assert _ledger("deliver") == "0 checkpoints delivered.\n"


def _ids(settings: Settings, **values: object) -> list[str]:
    for name, value in values.items():
        setattr(settings, name, value)
    return [str(one.id) for check in (check_log_key, check_sinks, check_evidence) for one in check()]


def test_what_cannot_work_is_said_at_the_start(settings: Settings) -> None:
    witness = SigningKey("log.example", bytes(32), COSIGNATURE)
    assert _ids(settings) == ["agentops.W002"]
    assert _ids(settings, LEDGER_LAG_STOPS_WRITES=True) == ["agentops.E108", "agentops.W002"]
    assert _ids(settings, LEDGER_KEY=KEY.skey()) == ["agentops.W003"]
    assert _ids(settings, LEDGER_SINKS=["folder audit /mnt/audit"]) == []
    assert _ids(settings, LEDGER_SINKS=["tape audit /mnt/audit"]) == ["agentops.E109"]
    assert _ids(settings, LEDGER_SINKS=["folder a /mnt/a"], LEDGER_ORIGIN="other.example") == ["agentops.E108"]
    assert _ids(settings, LEDGER_ORIGIN="", LEDGER_KEY=witness.skey()) == ["agentops.E108"]
    assert _ids(settings, LEDGER_KEY="nonsense") == ["agentops.E108"]
    assert _ids(settings, LEDGER_KEY="\n".join([KEY.skey()] * 5)) == ["agentops.E108"]
