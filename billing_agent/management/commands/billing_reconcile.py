"""``manage.py billing_reconcile --tenant SLUG [--since DAY --until DAY] [--json]``: do the books agree."""

import json
from collections import Counter
from dataclasses import asdict
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.registry.reconcile import Gap, Reconciliation
from agentops.registry.tool import ToolFailure
from billing_agent.management.days import add_days, period_of
from billing_agent.reconciling import reconcile


class Command(BaseCommand):
    """Say where the three differ; ends with 1 when they do."""

    help = "Compare the calls of billing in the ledger with what took effect at the vendor and with the books."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the tenant, the days and the form of the answer."""
        add_days(parser)
        parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON instead of sentences")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what differs. Raises CommandError when something does, or when nothing can be compared."""
        period = period_of(options)
        try:
            found = reconcile(period.tenant.pk, period.begins, period.ends)
        except ToolFailure as failure:
            raise CommandError(f"Nothing could be compared: {failure.message}") from failure
        days = {"first": period.first.isoformat(), "last": period.last.isoformat()}
        self.stdout.write(json.dumps(days | asdict(found)) if options["as_json"] else _words(found))
        if found.differences:
            count = len(found.differences)
            raise CommandError(f"They differ in {count} {'place' if count == 1 else 'places'}.")


def _words(found: Reconciliation) -> str:
    told = [f"Compared: calls {found.calls}, effects {found.effects}, entries {found.entries}."]
    counts = Counter(each.gap for each in found.differences)
    for gap in Gap:
        if counts[gap]:
            told.append(f"{gap.label}: {counts[gap]}")
            told += [f"  {each.words} {each.key}".rstrip() for each in found.differences if each.gap is gap]
    return "\n".join(told)
