"""``manage.py open_tenant SLUG --name NAME``: a tenant, an agent for each role, and the queues of the agents' tools."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import transaction

from agentops.agents.models import Agent
from agentops.kernel.canonical import JSON
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Event, append_to
from agentops.registry.role import RoleSpec
from agentops.registry.roles import all_roles
from agentops.runtime.operations import employ_agent
from agentops.runtime.ports import approval_gate
from agentops.tenancy.models import Tenant

ACTOR = "command:open_tenant"

_NEXT = """\
Next:
  1. An admin account, if there is none yet: manage.py createsuperuser
  2. In the admin, Tenants, {name}: add a membership for each person, the admin's own as well.
     Approver, Admin and Support staff say what a person does here.
  3. In the admin, Approval queues, each of {queues}: open Object permissions and give
     "Can decide requests of this queue" to whoever decides it. Until then nobody can.
  4. Work for the agents: what the role's own commands bring in, or "New session" in the console."""


class CannotOpen(AgentOpsError):
    """A tenant that cannot be opened as it was asked for. Nothing was changed."""

    code = "CANNOT_OPEN"
    next_step = "Correct the argument and run the command again."


@dataclass(frozen=True)
class Opened:
    """What is there now. ``is_new`` says so of the tenant, ``employed`` names the agents that were made."""

    tenant: Tenant
    is_new: bool
    employed: tuple[str, ...]


@transaction.atomic
def open_tenant(*, slug: str, name: str, timezone: str, roles: Sequence[RoleSpec]) -> Opened:
    """Make the tenant, and an agent with its queues for each role that has none there; keep what is there.

    ``timezone`` is an IANA name; "" keeps the tenant's own, UTC for a new one. Raises CannotOpen, having
    changed nothing: a bad slug, name or time zone, or a tenant of that slug that differs.
    """
    _require_usable(slug, name, timezone)
    defaults = {"name": name, "timezone": timezone or "UTC"}
    tenant, is_new = Tenant.objects.select_for_update().get_or_create(slug=slug, defaults=defaults)
    if is_new:
        changes: dict[str, JSON] = {"slug": ["", slug], **{key: ["", value] for key, value in defaults.items()}}
        facts: dict[str, JSON] = {"model": "Tenant", "object": name, "changes": changes}
        event = Event("config.added", ACTOR, facts, {"object": str(tenant.pk)})
        append_to(tenant_id=tenant.pk, name=f"tenant:{tenant.pk}", events=[event])
    elif (tenant.name, tenant.timezone) != (name, timezone or tenant.timezone):
        raise CannotOpen(
            f"The tenant {slug!r} is there already, as {tenant.name!r} in {tenant.timezone}.",
            next_step="Change its name or time zone in the admin, or choose another slug.",
        )
    employed = tuple(role.title for role in roles if _employ(tenant, role))
    return Opened(tenant, is_new, employed)


def _require_usable(slug: str, name: str, timezone: str) -> None:
    try:
        Tenant._meta.get_field("slug").clean(slug, None)  # noqa: SLF001 - Django's public interface to a model's fields
    except ValidationError as error:
        raise CannotOpen(
            f"{slug[:60]!r} is no slug.",
            next_step="Use letters, digits, hyphens and underscores, at most 50, such as larkspur.",
        ) from error
    if not name.strip() or len(name) > 120 or not name.isprintable():
        raise CannotOpen("The name must have 1 to 120 printable characters.")
    if timezone and timezone not in available_timezones():
        raise CannotOpen(
            f"There is no time zone {timezone[:60]!r}.", next_step="Use an IANA name, such as America/Chicago."
        )


def _employ(tenant: Tenant, role: RoleSpec) -> bool:
    """Make the role's agent unless one is there; then only what its tools may lack is added."""
    if Agent.objects.filter(tenant=tenant, role=role.name).exists():
        approval_gate().ensure_queues(tenant.pk, role.queues)
        return False
    if Agent.objects.filter(tenant=tenant, name=role.title).exists():
        raise CannotOpen(
            f"The tenant has an agent of another role that is called {role.title!r}.",
            next_step="Rename that agent in the admin.",
        )
    employ_agent(tenant_id=tenant.pk, role=role, name=role.title, actor=ACTOR)
    return True


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
            raise CommandError(f"{error.message} {error.next_step}") from error
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
