"""``manage.py add_drills SLUG``: the drills of the catalogue for a tenant."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.tenancy.models import Tenant
from approvals.insight.drills import ensure
from approvals.models import ApprovalQueue


class Command(BaseCommand):
    """Parses, calls ``ensure``, tells how many were added."""

    help = "Add the drills that a tenant lacks. Running it again changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("slug", metavar="SLUG", help="the tenant's short name")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run. Raises CommandError for a tenant that does not exist or has no queue."""
        tenant = Tenant.objects.filter(slug=options["slug"]).first()
        if tenant is None:
            raise CommandError(f"There is no tenant {options['slug']!r}.")
        if not ApprovalQueue.objects.filter(tenant=tenant).exists():
            raise CommandError(f"{tenant.name} has no queue yet, and a drill belongs to one. Give it an agent first.")
        added = ensure(tenant)
        self.stdout.write(f"{added} drills added for {tenant.name}.")
