"""``manage.py scenarios ROLE``: work a role's scenarios in a database of their own, and say what is not as expected."""

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.evals.suite import chosen
from agentops.kernel.errors import AgentOpsError
from agentops.llm.configuration import model_choice
from agentops.registry.role import RoleSpec
from agentops.registry.roles import all_roles

SETTINGS = "agentops.evals.settings"
OFFLINE, MODEL = "offline", "model"
USAGE = 2


class Command(BaseCommand):
    """Runs ``agentops.evals`` in a process with settings of its own, on a database that it makes and drops."""

    help = "Work a role's scenarios and compare what comes of them. Touches no data of the product."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("role", metavar="ROLE", help="a role of this installation, such as billing")
        parser.add_argument(
            "--only", action="append", default=[], metavar="NAME", help="only this scenario; may be given several times"
        )
        parser.add_argument(
            "--planner", choices=(OFFLINE, MODEL), default=OFFLINE, help="the role's playbook, or AGENT_MODEL"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object only")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run them; exit code 1 when any failed, 2 when what is asked for does not exist."""
        try:
            chosen(_role(options["role"]), options["only"])
            has_model = options["planner"] == MODEL and model_choice() is not None
        except AgentOpsError as error:
            raise CommandError(error.in_full, returncode=USAGE) from error
        if options["planner"] == MODEL and not has_model:
            raise CommandError("AGENT_MODEL names no model, so none can plan.", returncode=USAGE)
        command = [sys.executable, "-m", "agentops.evals", options["role"]]
        command += [f"--only={name}" for name in options["only"]]
        command += ["--json"] if options["json"] else []
        environment = {**os.environ, "DJANGO_SETTINGS_MODULE": SETTINGS}
        if options["planner"] == OFFLINE:
            environment["AGENT_MODEL"] = ""
        # This process becomes the run, so that a signal reaches whoever has to clean up.
        os.execve(sys.executable, command, environment)  # noqa: S606 - our own interpreter


def _role(name: str) -> RoleSpec:
    known = {role.name: role for role in all_roles()}
    if name not in known:
        words = f"There is no role {name[:60]!r}; this installation has {', '.join(known)}."
        raise CommandError(words, returncode=USAGE)
    return known[name]
