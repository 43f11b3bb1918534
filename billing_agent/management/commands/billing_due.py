"""``manage.py billing_due``: carry out what is due in the embedded billing system, of every tenant or of one."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.kernel.clock import utcnow
from agentops.tenancy.models import Tenant
from billing_agent.connectors import uses_stripe
from billing_agent.connectors.renewing import run_due

MOST = 1_000


class Command(BaseCommand):
    """Renew, collect, resume and end what is due; whatever is refused stays due and is told each time."""

    help = "Carry out the renewals, charges, pauses and cancellations of billing that are due."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the tenant."""
        parser.add_argument("--tenant", default="", metavar="SLUG", help="only this tenant")

    def handle(self, *args: Any, tenant: str, **options: Any) -> None:
        """Print a line for each thing. Raises CommandError for no such tenant, a refusal, and where Stripe bills."""
        if uses_stripe():
            raise CommandError("Billing is done at Stripe, which renews, collects and resumes by itself.")
        tenants = list(Tenant.objects.filter(slug=tenant) if tenant else Tenant.objects.order_by("slug"))
        if tenant and not tenants:
            raise CommandError(f"There is no tenant {tenant}.")
        refused = 0
        for each in tenants:
            run = run_due(each.pk, utcnow(), MOST)
            for words in run.done:
                self.stdout.write(f"{each.slug}: {words}")
            for words in run.refused:
                self.stderr.write(f"{each.slug}: refused: {words}")
            refused += len(run.refused)
        if refused:
            raise CommandError(f"Refused, and still due: {refused}.")
