"""``manage.py ledger prove``: print the proof of one event, or that a checkpoint continues another."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.core.management.base import CommandParser, OutputWrapper

from agentops.kernel.canonical import dumps
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.commands import Subcommand
from agentops.ledger.proving import prove, prove_consistency


class BadEventName(AgentOpsError):
    """What was given names no event and no two checkpoints."""

    code = "BAD_EVENT_NAME"
    next_step = "Name an event as STREAM:POSITION, or two checkpoints as --consistency OLD NEW."


def _declare(parser: CommandParser) -> None:
    parser.add_argument("event", nargs="?", default="", metavar="STREAM:POSITION", help="as the admin shows it")
    parser.add_argument("--consistency", nargs=2, type=int, metavar=("OLD", "NEW"), help="sizes of two checkpoints")
    parser.add_argument("--without-payload", action="store_true", help="leave out what was said")


def _run(options: Mapping[str, Any], out: OutputWrapper) -> int:
    if options["consistency"]:
        out.write(dumps(prove_consistency(*options["consistency"])))
        return 0
    stream, _, position = options["event"].rpartition(":")
    try:
        place = (UUID(stream), int(position))
    except ValueError as error:
        raise BadEventName(f"{options['event']!r} names no event.") from error
    out.write(dumps(prove(*place, body=not options["without_payload"])))
    return 0


COMMAND = Subcommand("prove", "Print the proof that one event is in the signed log, as JSON.", _declare, _run)
