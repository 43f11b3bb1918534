"""``manage.py chaos``: kill workers of a role at every crash point, and compare books, ledger and effects."""

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from agentops.registry.roles import all_roles

SETTINGS = "agentops.chaos.settings"
OWN = "drill"


class Command(BaseCommand):
    """Runs ``agentops.chaos`` in a process with settings of its own, on a database that it makes and drops."""

    help = "Fault drill: kill workers at every crash point and compare the books. Touches no data of the product."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options."""
        roles = [OWN, *(role.name for role in all_roles() if role.drill is not None)]
        parser.add_argument("--role", default=OWN, choices=roles, help="whose work it is (default: the drill's own)")
        parser.add_argument("--kills", type=int, default=100, help="how many workers are killed (default 100)")
        parser.add_argument("--seed", type=int, help="repeats the choices of an earlier drill")
        parser.add_argument("--json", action="store_true", help="print one JSON object only")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the drill; exit code 1 when anything was lost, made twice or told wrongly, or faults did not happen."""
        command = [sys.executable, "-m", "agentops.chaos", "--kills", str(options["kills"])]
        if options["seed"] is not None:
            command += ["--seed", str(options["seed"])]
        if options["json"]:
            command.append("--json")
        environment = {**os.environ, "DJANGO_SETTINGS_MODULE": SETTINGS, "CHAOS_ROLE": options["role"]}
        # This process becomes the drill, so that a signal reaches whoever has to clean up.
        os.execve(sys.executable, command, environment)  # noqa: S606 - our own interpreter
