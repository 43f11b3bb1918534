"""``manage.py contracts``: compare the tools with their contracts on file, and write those of new versions."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.registry.contracts import (
    BadContracts,
    Stored,
    findings,
    read_contracts,
    renewed,
    write_contracts,
)
from agentops.registry.role import RoleSpec
from agentops.registry.roles import all_roles, contracts_path


class Command(BaseCommand):
    """Say what differs; with ``--write`` bring the files up to date as far as versions were raised."""

    help = "Compare every tool with its contract on file. A changed tool needs a new version before it can be written."
    requires_system_checks = []  # a file that is missing or old is what this command is for

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the flag."""
        parser.add_argument("--write", action="store_true", help="write the contracts of new tools and new versions")

    def handle(self, *args: Any, write: bool, **options: Any) -> None:
        """Print what differs. Raises CommandError when something is left that does."""
        left = [words for role in all_roles() for words in self._of(role, write=write)]
        if left:
            raise CommandError("\n".join(left))
        self.stdout.write("The contracts on file are those of the tools.")

    def _of(self, role: RoleSpec, *, write: bool) -> list[str]:
        path = contracts_path(role)
        stored: Stored = {}
        try:
            stored = read_contracts(path)
        except BadContracts as error:
            if path.exists():
                return [f"{role.name}: {error.in_full}"]
        if write:
            self._told(role, stored)
            stored = renewed(role, stored)
            write_contracts(path, stored)
        return [f"{role.name}: {found.words}" for found in findings(role, stored)]

    def _told(self, role: RoleSpec, stored: Stored) -> None:
        """What a new version breaks is known only until its contract takes the place of the old one."""
        for found in findings(role, stored):
            if not found.is_error:
                self.stdout.write(f"{role.name}: {found.words}")
