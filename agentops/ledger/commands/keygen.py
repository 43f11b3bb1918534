"""``manage.py ledger keygen``: a new key for the log, or for a witness."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from agentops.ledger.commands import Subcommand
from agentops.ledger.keygen import new_key, write_key
from agentops.ledger.notes import COSIGNATURE, ED25519


def _declare(parser: CommandParser) -> None:
    parser.add_argument(
        "--name", required=True, help="the log's origin, or the witness's name, such as log.example.com"
    )
    parser.add_argument("--out", type=Path, required=True, help="a new file for the private key")
    parser.add_argument("--witness", action="store_true", help="make the key of a witness")


def _run(options: Mapping[str, Any], out: OutputWrapper) -> int:
    key = new_key(options["name"], COSIGNATURE if options["witness"] else ED25519)
    write_key(key, options["out"])
    out.write(key.public.vkey())
    return 0


COMMAND = Subcommand("keygen", "Make a private key in a new file, and print the public one.", _declare, _run)
