"""Opening a tenant: the tenant itself, an agent for each role, and the queues of the agents' tools."""

from collections.abc import Sequence
from dataclasses import dataclass
from zoneinfo import available_timezones

from django.core.exceptions import ValidationError
from django.db import transaction

from agentops.agents.models import Agent
from agentops.kernel.canonical import JSON
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Event, append_to
from agentops.policy.rule_check import BadRules
from agentops.registry.role import RoleSpec
from agentops.runtime.operations import employ_agent
from agentops.runtime.ports import approval_gate
from agentops.tenancy.models import Tenant

ACTOR = "command:open_tenant"


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
    try:
        employ_agent(tenant_id=tenant.pk, role=role, name=role.title, actor=ACTOR)
    except BadRules as error:
        raise CannotOpen(
            f"The rules of {tenant.name!r} and the default rules of {role.title!r} do not go together. {error.message}",
            next_step="Change the tenant's rules in the admin, and run the command again.",
        ) from error
    return True
