"""``manage.py ledger export``: write the log out for an auditor."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from agentops.ledger.commands import Subcommand
from agentops.ledger.commands.keys import KeysNeeded, declare_keys, trust_of
from agentops.ledger.exporting import export
from agentops.ledger.signing_keys import public_keys


def _declare(parser: CommandParser) -> None:
    declare_keys(parser)
    parser.add_argument("folder", type=Path, metavar="DIR", help="a folder that does not exist yet, or is empty")
    parser.add_argument("--payloads", action="store_true", help="also what was said: personal data, in the clear")


def _run(options: Mapping[str, Any], out: OutputWrapper) -> int:
    keys = options["key"] or [key.vkey() for key in public_keys()]
    trust = trust_of({**options, "key": keys})
    if trust is None:
        raise KeysNeeded("The export names the keys of its log.")
    done = export(options["folder"], keys=keys, payloads=options["payloads"], quorum=trust.quorum)
    out.write(f"{done.size} events, {done.payloads} payloads and {done.checkpoints} checkpoints: {options['folder']}")
    if done.until:
        out.write(f"Checkpoints signed after {done.until} cover more. Who has those verifies with --until {done.until}")
    return 0


COMMAND = Subcommand("export", "Write the log up to its last checkpoint into a folder.", _declare, _run)
