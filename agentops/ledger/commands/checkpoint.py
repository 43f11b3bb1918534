"""``manage.py ledger checkpoint``: sign what the log is now, and say by which key."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from agentops.kernel.clock import utcnow
from agentops.ledger.checkpoint_models import LedgerCheckpoint
from agentops.ledger.checkpointing import make_checkpoint
from agentops.ledger.commands import Subcommand
from agentops.ledger.signing_keys import BadLogKey, public_keys


def _declare(parser: CommandParser) -> None:
    parser.add_argument("--show", action="store_true", help="sign nothing; print the last one, and the public keys")


def _run(options: Mapping[str, Any], out: OutputWrapper) -> int:
    keys = public_keys()
    if not keys:
        raise BadLogKey("There is no key to sign with.")
    if not options["show"]:
        make_checkpoint(utcnow(), at_once=True)
    last = LedgerCheckpoint.objects.order_by("-size").first()
    for key in keys:
        out.write(f"key {key.vkey()}")
    if last is None:
        out.write("No checkpoint was made: the log is empty.")
        return 0
    lines = "".join(last.cosignatures.order_by("at", "id").values_list("line", flat=True))
    out.write(f"{last.note}{lines}", ending="")
    return 0


COMMAND = Subcommand("checkpoint", "Sign what the log is now, and print the note.", _declare, _run)
