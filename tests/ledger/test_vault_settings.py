"""Where master keys come from, and that an installation without one is told so."""

import stat
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from pytest_django.fixtures import Settings

from agentops.embedded.secret import new_master_key, stored_secret
from agentops.ledger.sealing import master_keys
from agentops.ledger.vault_checks import check_master_keys
from agentops.settings.readers import Environment


@pytest.mark.parametrize("text", ["", "nonsense", "c2hvcnQ="])
def test_check_names_a_missing_or_unusable_master_key(settings: Settings, text: str) -> None:
    settings.VAULT_KEY = text
    assert [found.id for found in check_master_keys()] == ["agentops.E107"]
    settings.VAULT_KEY = new_master_key()
    assert check_master_keys() == []


def test_demo_keeps_one_key_that_only_its_owner_reads(tmp_path: Path) -> None:
    made = stored_secret(tmp_path / "demo", "vault_key", make=new_master_key)
    assert len(master_keys(made)) == 1
    assert stored_secret(tmp_path / "demo", "vault_key", make=new_master_key) == made
    assert stat.S_IMODE((tmp_path / "demo/vault_key").stat().st_mode) == 0o600


def test_file_may_hold_several_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# since June\n{new_master_key()}\n{new_master_key()}\n")
    text = Environment({"VAULT_KEY_FILE": str(file)}).secret("VAULT_KEY", "")
    assert len(master_keys(text)) == 2


def test_command_makes_a_key_that_can_be_used_without_having_one(settings: Settings) -> None:
    settings.VAULT_KEY = ""
    out = StringIO()
    call_command("vault", "keygen", stdout=out)
    assert len(master_keys(out.getvalue())) == 1


@pytest.mark.django_db
def test_command_rotates_and_tells_the_standing(settings: Settings) -> None:
    out = StringIO()
    call_command("vault", "rotate", stdout=out)
    first = master_keys(settings.VAULT_KEY)[0].id
    assert out.getvalue().splitlines() == ["0 keys were wrapped anew.", f"{first}  0 keys  wraps new keys"]
    settings.VAULT_KEY = "nonsense"
    with pytest.raises(CommandError, match="6 bytes, not 32"):
        call_command("vault", "status")
