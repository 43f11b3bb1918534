"""``manage.py ledger deliver``: bring checkpoints to their sinks now."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from agentops.kernel.clock import utcnow
from agentops.ledger.commands import Subcommand
from agentops.ledger.delivering import deliver_due, try_again
from agentops.ledger.evidence import evidence

_MOST = 1_000_000


def _declare(parser: CommandParser) -> None:
    parser.add_argument("--again", action="store_true", help="try at once, also what a sink refused")
    parser.add_argument("--seconds", type=float, default=600.0, help="begin nothing after so many seconds (600)")


def _run(options: Mapping[str, Any], out: OutputWrapper) -> int:
    if options["again"]:
        try_again()
    out.write(f"{deliver_due(limit=_MOST, seconds=options['seconds'])} checkpoints delivered.")
    found = evidence()
    for trouble in found.troubles(utcnow()):
        out.write(f"{trouble.code}: {trouble.words}.")
    return 1 if found.contradicted else 0


COMMAND = Subcommand("deliver", "Bring checkpoints to their sinks now.", _declare, _run)
