"""The written-out list of roles (``settings.ROLES``), loaded once. No autodiscovery."""

from functools import cache
from typing import cast

from django.conf import settings
from django.utils.module_loading import import_string

from agentops.kernel.errors import AgentOpsError
from agentops.registry.role import RoleSpec


class UnknownRole(AgentOpsError):
    """A role that settings do not list."""

    code = "UNKNOWN_ROLE"
    next_step = "Name one of the roles in settings.ROLES."


@cache
def all_roles() -> tuple[RoleSpec, ...]:
    """Return every role, in the order of ``settings.ROLES`` (dotted paths of RoleSpec values)."""
    return tuple(cast("RoleSpec", import_string(path)) for path in settings.ROLES)


def get_role(name: str) -> RoleSpec:
    """Return the role of that name. Raises UnknownRole."""
    for role in all_roles():
        if role.name == name:
            return role
    raise UnknownRole(f"there is no role {name[:80]!r}")
