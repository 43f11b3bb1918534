"""``manage.py billing_check``: compare the books with the records of every tenant, or of one."""

import json
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.tenancy.models import Tenant
from billing_agent.books import Finding, imbalances
from billing_agent.models import Entry


class Command(BaseCommand):
    """Say where books and records disagree; ends with 1 when they do."""

    help = "Compare the books of billing with the invoices, charges, refunds, disputes and credits that they are about."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the tenant and the form of the answer."""
        parser.add_argument("--tenant", default="", metavar="SLUG", help="only this tenant")
        parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of sentences")

    def handle(self, *args: Any, tenant: str, as_json: bool, **options: Any) -> None:
        """Print what was found. Raises CommandError when something was, or when there is no such tenant."""
        tenants = Tenant.objects.filter(slug=tenant) if tenant else Tenant.objects.order_by("slug")
        found = {each: imbalances(each.id) for each in tenants}
        if tenant and not found:
            raise CommandError(f"There is no tenant {tenant}.")
        self.stdout.write(_as_json(found) if as_json else "\n".join(map(_words, found, found.values())))
        count = sum(map(len, found.values()))
        if count:
            raise CommandError(f"Books and records disagree in {count} {'place' if count == 1 else 'places'}.")


def _as_json(found: dict[Tenant, list[Finding]]) -> str:
    return json.dumps({tenant.slug: [asdict(each) for each in findings] for tenant, findings in found.items()})


def _words(tenant: Tenant, findings: list[Finding]) -> str:
    if findings:
        return "\n".join([f"{tenant.name}:", *(f"  {each.words}" for each in findings)])
    entries = Entry.objects.filter(tenant=tenant).count()
    return f"{tenant.name}: the books ({entries} {'entry' if entries == 1 else 'entries'}) agree with the records."
