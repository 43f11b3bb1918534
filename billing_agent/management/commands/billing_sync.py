"""``manage.py billing_sync``: bring customers and disputes up to date with Stripe, of every tenant or of one."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.kernel.clock import utcnow
from agentops.registry.lending import lent
from agentops.registry.tool import ToolFailure
from agentops.tenancy.models import Tenant
from billing_agent.connectors import STRIPE_KEY, uses_stripe


class Command(BaseCommand):
    """Sync each tenant that has a key. One that cannot be synced keeps no other from it."""

    help = "Bring the customers and disputes of billing up to date with Stripe."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the tenant."""
        parser.add_argument("--tenant", default="", metavar="SLUG", help="only this tenant")

    def handle(self, *args: Any, tenant: str, **options: Any) -> None:
        """Print a line for each tenant. Raises CommandError for no such tenant, and when one could not be synced."""
        if not uses_stripe():
            raise CommandError("Billing is done in the embedded system. Set BILLING_SYSTEM to stripe first.")
        from billing_agent.connectors.stripe.syncing import sync  # noqa: PLC0415 - its SDK is an optional extra

        tenants = list(Tenant.objects.filter(slug=tenant) if tenant else Tenant.objects.order_by("slug"))
        if tenant and not tenants:
            raise CommandError(f"There is no tenant {tenant}.")
        failed = 0
        for each in tenants:
            try:
                with lent(each.pk, STRIPE_KEY) as secret:
                    done = sync(each.pk, secret, utcnow())
            except ToolFailure as failure:
                self.stderr.write(f"{each.slug}: {failure.message}")
                failed += 1
                continue
            self.stdout.write(
                f"{each.slug}: {done.made} new, {done.changed} changed, {done.deleted} deleted,"
                f" {done.left_out} never billed and left out, {done.disputes} new disputes"
            )
        if failed:
            raise CommandError(f"Could not be synced: {failed}.")
