"""``manage.py ledger``: everything about the evidence. The subcommands are in ``agentops/ledger/commands``."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.commands import subcommands

USAGE = 2


class Command(BaseCommand):
    """Hands over to a subcommand, and ends with its exit code."""

    help = "The ledger: give events their place in the log, and say how the log stands."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the subcommands and their options."""
        chosen = parser.add_subparsers(dest="subcommand", metavar="SUBCOMMAND", required=True)
        for one in subcommands():
            one.declare(chosen.add_parser(one.name, help=one.help, description=one.help))

    def handle(self, *args: Any, **options: Any) -> None:
        """Run it; the exit code is its own, or 2 when it could not do what was asked."""
        chosen = {one.name: one for one in subcommands()}[options["subcommand"]]
        try:
            code = chosen.run(options, self.stdout)
        except AgentOpsError as error:
            raise CommandError(error.in_full, returncode=USAGE) from error
        if code:
            sys.exit(code)
