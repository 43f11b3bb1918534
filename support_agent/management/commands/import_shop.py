"""``manage.py import_shop DIR``: customers, orders and products of a shop from three JSON files."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.kernel.canonical import BadJSON, parse_json
from agentops.tenancy.models import Tenant
from support_agent.connectors.shop_json import BadShop, load_shop

MOST_BYTES = 200_000_000
FILES = ("users", "orders", "products")


class Command(BaseCommand):
    """Parses, calls ``load_shop``, tells the counts."""

    help = (
        "Add a shop to a tenant from DIR/users.json, DIR/orders.json and DIR/products.json, each one JSON object by "
        "id, in the form of the tau-bench retail files. All of it is added or nothing; known ids are refused."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("dir", type=Path, metavar="DIR")
        parser.add_argument("--tenant", metavar="SLUG", required=True, help="whose shop this is")
        parser.add_argument("--currency", default="USD", help="ISO currency of every amount (default: USD)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import the shop."""
        tenant = Tenant.objects.filter(slug=options["tenant"]).first()
        if tenant is None:
            raise CommandError(f"There is no tenant {options['tenant'][:60]!r}.")
        shop = {name: _read(options["dir"] / f"{name}.json") for name in FILES}
        try:
            load_shop(tenant, **shop, currency=options["currency"])
        except BadShop as error:
            raise CommandError(f"Nothing was added: {error.message}.") from error
        counts = ", ".join(f"{len(records)} {name}" for name, records in shop.items())
        self.stdout.write(f"Added to {tenant.name}: {counts}.")


def _read(path: Path) -> dict[str, Any]:
    # Prices in these files are decimal fractions; load_shop turns each into whole minor units or refuses it.
    try:
        value = parse_json(path.read_bytes(), max_bytes=MOST_BYTES)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from error
    except BadJSON as error:
        raise CommandError(f"{path}: {error.message}.") from error
    if not isinstance(value, dict):
        raise CommandError(f"{path} is not one JSON object by id.")
    return value
