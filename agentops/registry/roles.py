"""The written-out list of roles (``settings.ROLES``), loaded once. No autodiscovery."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from django.conf import settings
from django.utils.module_loading import import_string

from agentops.kernel.errors import AgentOpsError
from agentops.registry.contracts import FILE
from agentops.registry.role import RoleSpec


class UnknownRole(AgentOpsError):
    """A role that settings do not list."""

    code = "UNKNOWN_ROLE"
    next_step = "Name one of the roles in settings.ROLES."


@cache
def all_roles() -> tuple[RoleSpec, ...]:
    """Return every role, in the order of ``settings.ROLES`` (dotted paths of RoleSpec values)."""
    return tuple(cast("RoleSpec", import_string(path)) for path in settings.ROLES)


_standing_in: dict[str, RoleSpec] = {}


@contextmanager
def standing_in(role: RoleSpec) -> Iterator[None]:
    """Let ``role`` stand for the installed one of its name, in this process: for rehearsals (``agentops.evals``).

    Raises ValueError when one stands there already.
    """
    if role.name in _standing_in:
        raise ValueError(f"there is a stand-in for {role.name} already")
    _standing_in[role.name] = role
    try:
        yield
    finally:
        del _standing_in[role.name]


def get_role(name: str) -> RoleSpec:
    """Return the role of that name. Raises UnknownRole."""
    if name in _standing_in:
        return _standing_in[name]
    for role in all_roles():
        if role.name == name:
            return role
    raise UnknownRole(f"there is no role {name[:80]!r}")


def contracts_path(role: RoleSpec) -> Path:
    """Return where the role's contracts lie: beside the module that settings name. Raises UnknownRole."""
    for path, listed in zip(settings.ROLES, all_roles(), strict=True):
        if listed is role:
            spec = find_spec(path.rpartition(".")[0])
            if spec is not None and spec.origin is not None:
                return Path(spec.origin).with_name(FILE)
    raise UnknownRole(f"settings name no module for the role {role.name[:80]!r}")
