"""``manage.py vault keygen|rotate|status``: the master keys that wrap the keys of payloads."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.embedded.secret import new_master_key
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.rotating import rotate, standing


class Command(BaseCommand):
    """Parses, makes one call, tells what came of it."""

    help = "Make a master key, wrap all keys with the first one, or tell which wraps how many."
    # A first key can be made where none is set yet.
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        does = parser.add_subparsers(dest="does", required=True)
        does.add_parser("keygen", help="print a new master key; nothing is stored")
        does.add_parser("rotate", help="wrap every key with the first master key")
        does.add_parser("status", help="which master key wraps how many keys")

    def handle(self, *args: Any, **options: Any) -> None:
        """Do what was asked."""
        if options["does"] == "keygen":
            self.stdout.write(new_master_key())
            return
        try:
            self._rotate() if options["does"] == "rotate" else self._status()
        except AgentOpsError as error:
            raise CommandError(error.in_full) from error

    def _rotate(self) -> None:
        self.stdout.write(f"{rotate()} keys were wrapped anew.")
        self._status()

    def _status(self) -> None:
        for one in standing():
            part = "wraps new keys" if one.wraps else "opens" if one.known else "MISSING: its keys cannot be opened"
            self.stdout.write(f"{one.master}  {one.keys} keys  {part}")
