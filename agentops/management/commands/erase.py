"""``manage.py erase --tenant SLUG --subject customer:ID``: erase what is held about a person."""

import getpass
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.erasing import erase
from agentops.tenancy.models import Tenant


class Command(BaseCommand):
    """Parses, asks, makes one call, tells what was erased."""

    help = "Erase what is held about a person: keys are destroyed and rows blanked. It cannot be taken back."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("--tenant", required=True, metavar="SLUG")
        parser.add_argument("--subject", required=True, help="customer:ID, user:NAME or sender:MAIL")
        parser.add_argument("--reason", default="", help="why, for the record; do not name the person in it")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *args: Any, **options: Any) -> None:
        """Erase, once somebody has typed the subject again."""
        tenant = Tenant.objects.filter(slug=options["tenant"]).first()
        if tenant is None:
            raise CommandError(f"There is no tenant {options['tenant'][:60]!r}.")
        if not options["yes"] and input(f"Type {options['subject']} to erase it for good: ") != options["subject"]:
            raise CommandError("Nothing was erased.")
        try:
            done = erase(
                tenant_id=tenant.pk,
                subject=options["subject"],
                reason=options["reason"],
                actor=f"command:{getpass.getuser()}",
            )
        except AgentOpsError as error:
            raise CommandError(error.in_full) from error
        self.stdout.write(f"{done.subject} was erased at {done.at:%Y-%m-%d %H:%M:%S} UTC.")
        self.stdout.write(f"Keys destroyed: {done.keys}.")
        for name, count in done.rows.items():
            self.stdout.write(f"Rows changed, {name}: {count}.")
