"""The role that this drill is about (``settings.DRILLED``), with what it declares for being drilled."""

from dataclasses import replace
from typing import cast

from django.conf import settings
from django.db import connection
from django.utils.module_loading import import_string

from agentops.chaos.models import Attempt
from agentops.kernel.errors import AgentOpsError
from agentops.registry.drill import DrillSpec
from agentops.registry.role import RoleSpec


class NoDrill(AgentOpsError):
    """A role that is not listed, or that declares no drill."""

    code = "NO_DRILL"
    next_step = "Name a role of settings.DRILL_ROLES that declares a drill."


def attempts(key: str) -> int:
    """Count one more attempt, whatever becomes of it, and return how many that are."""
    table = Attempt._meta.db_table  # noqa: SLF001 - Django's public interface to a model
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {table} (key, count) VALUES (%s, 1)"  # noqa: S608 - a name of our own
            f" ON CONFLICT (key) DO UPDATE SET count = {table}.count + 1 RETURNING count",
            [key],
        )
        return int(cursor.fetchone()[0])


def _listed(name: str) -> tuple[RoleSpec, DrillSpec]:
    for path in settings.DRILL_ROLES:
        role = cast("RoleSpec", import_string(path))
        if role.name == name and role.drill is not None:
            return role, role.drill
    raise NoDrill(f"there is no drill of a role {name[:80]!r}")


_LISTED, SPEC = _listed(settings.DRILLED)
ROLE = replace(
    _LISTED,
    tools=tuple(SPEC.way(tool, attempts) for tool in _LISTED.tools),
    processes=SPEC.processes,
    playbook=SPEC.planner,
)
