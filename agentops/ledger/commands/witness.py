"""``manage.py ledger witness``: the program that cosigns checkpoints of a log elsewhere."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from agentops.ledger import witness_server
from agentops.ledger.commands import Subcommand


def _run(options: Mapping[str, Any], out: OutputWrapper) -> int:
    def say(words: str) -> None:
        out.write(words)
        out.flush()

    witness_server.serve(options, say)
    return 0


def _declare(parser: CommandParser) -> None:
    witness_server.declare(parser)


COMMAND = Subcommand("witness", "Cosign the checkpoints of a log, until it is stopped.", _declare, _run)
