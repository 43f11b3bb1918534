"""``manage.py open_tenant SLUG --name NAME``: a tenant, an agent for each role, and the queues of the agents' tools."""

from collections.abc import Sequence
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from agentops.registry.role import RoleSpec
from agentops.registry.roles import all_roles
from agentops.runtime.opening import CannotOpen, open_tenant

_NEXT = """\
Next:
  1. An admin account, if there is none yet: manage.py createsuperuser
  2. In the admin, Tenants, {name}: add a membership for each person, the admin's own as well.
     Approver, Admin and Support staff say what a person does here.
  3. In the admin, Approval queues, each of {queues}: open Object permissions and give
     "Can decide requests of this queue" to whoever decides it. Until then nobody can.
  4. Work for the agents: what the role's own commands bring in, or "New session" in the console."""


class Command(BaseCommand):
    """Parses, calls ``open_tenant``, tells what is there and what people do next."""

    help = "Make a tenant with an agent for each role. Running it again adds what is missing and changes nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the arguments."""
        parser.add_argument("slug", metavar="SLUG", help="short name for commands and addresses, such as larkspur")
        parser.add_argument("--name", required=True, help="the company's name, as people read it")
        parser.add_argument(
            "--role", action="append", metavar="ROLE", help="only this role; may be given several times"
        )
        parser.add_argument("--timezone", default="", metavar="TZ", help="IANA name, for business days (default: UTC)")

    def handle(self, *args: Any, **options: Any) -> None:
        """Open the tenant."""
        roles = _roles(options["role"])
        try:
            opened = open_tenant(slug=options["slug"], name=options["name"], timezone=options["timezone"], roles=roles)
        except CannotOpen as error:
            raise CommandError(error.in_full) from error
        tenant, did = opened.tenant, "is open" if opened.is_new else "was there already"
        self.stdout.write(f"{tenant.name} ({tenant.slug}, {tenant.timezone}) {did}.")
        self.stdout.write(f"Agents made: {', '.join(opened.employed) or 'none'}.")
        queues = [queue.name for role in roles for queue in role.queues]
        self.stdout.write(_NEXT.format(name=tenant.name, queues=", ".join(queues)))


def _roles(names: Sequence[str] | None) -> tuple[RoleSpec, ...]:
    """Return the named roles, or all of the installation."""
    known = {role.name: role for role in all_roles()}
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise CommandError(f"There is no role {unknown[0][:60]!r}; this installation has {', '.join(known)}.")
    return tuple(known[name] for name in dict.fromkeys(names or known))
