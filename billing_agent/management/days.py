"""The tenant and the days that a command is about."""

from argparse import ArgumentTypeError
from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any

from django.core.management.base import CommandError, CommandParser

from agentops.kernel.clock import utcnow
from agentops.tenancy.models import Tenant
from agentops.tenancy.zones import zone_of
from billing_agent.exporting import Period

USUAL = 30


def add_days(parser: CommandParser) -> None:
    """Take ``--tenant``, ``--since`` and ``--until``."""
    parser.add_argument("--tenant", required=True, metavar="SLUG", help="whose")
    days = "a day of the tenant's zone, as YYYY-MM-DD"
    parser.add_argument("--since", type=_day, metavar="DAY", help=f"the first day, {days} (default: {USUAL} days)")
    parser.add_argument("--until", type=_day, metavar="DAY", help=f"the last day, {days} (default: today)")


def _day(text: str) -> date:
    try:
        found = date.fromisoformat(text)
    except ValueError as error:
        raise ArgumentTypeError(f"{text[:20]!r} is no day") from error
    # The first and last years that a date can hold lead out of what a time can hold.
    if not 1970 <= found.year <= 9990:
        raise ArgumentTypeError(f"{text[:20]!r} is too far away")
    return found


def period_of(options: Mapping[str, Any]) -> Period:
    """Return the period that the options name. Raises CommandError."""
    tenant = Tenant.objects.filter(slug=options["tenant"]).first()
    if tenant is None:
        raise CommandError(f"There is no tenant {options['tenant'][:60]!r}.")
    last = options["until"] or utcnow().astimezone(zone_of(tenant.timezone)).date()
    first = options["since"] or last - timedelta(days=USUAL - 1)
    if first > last:
        raise CommandError("The first day comes after the last one.")
    return Period.of(tenant, first, last)
