"""What the parts of a session's page read beside the session, its events and its writes. Each is one query at most."""

from django.db.models import F, Q

from agentops.agents.models import Elevation, ToolGrant
from agentops.console.queries import freezes_of
from agentops.kernel.clock import utcnow
from agentops.registry.role import RoleSpec
from agentops.registry.roles import UnknownRole, get_role
from agentops.registry.tool import ToolSpec
from agentops.runtime.models import ProcessInstance, Session, SpendDay
from agentops.runtime.spend import TENANT, business_day
from agentops.tenancy.models import Freeze, Tenant
from agentops.tenancy.zones import zone_of


def role_of(session: Session) -> RoleSpec | None:
    """Return the session's role, None when the installation no longer has it."""
    try:
        return get_role(session.role)
    except UnknownRole:
        return None


def freeze_of(session: Session) -> Freeze | None:
    """Return a freeze that keeps workers from the session, its agent's first; None when there is none."""
    mine = Q(agent_id=None) | Q(agent_id=session.agent_id)
    found = freezes_of(session.tenant_id).filter(mine, tool="", lifted_at=None)
    return found.order_by(F("agent_id").asc(nulls_last=True), "frozen_at").first()


def day_is_spent(tenant: Tenant) -> bool:
    """Return whether the tenant has spent what it may in its present business day; without a limit it never has."""
    if tenant.max_day_micro is None:
        return False
    day = business_day(utcnow(), zone_of(tenant.timezone))
    row = SpendDay.objects.filter(tenant_id=tenant.pk, scope=TENANT, day=day).first()
    return row is not None and row.spent_micro + row.reserved_micro >= tenant.max_day_micro


def granted_tools(session: Session) -> list[ToolSpec]:
    """Return the tools that the session's agent was given, in the role's order."""
    role = role_of(session)
    granted = set(ToolGrant.objects.filter(version_id=session.agent_version_id).values_list("tool", flat=True))
    return [tool for tool in role.tools if tool.name in granted] if role else []


def active_elevations(session: Session) -> list[Elevation]:
    """Return the elevated scopes that the session may use at this moment, the newest first."""
    return list(Elevation.objects.filter(session_id=session.pk, revoked_at=None, expires_at__gt=utcnow()))


def processes_of(session: Session) -> list[ProcessInstance]:
    """Return where the session stands in processes, in the order of their names."""
    return list(ProcessInstance.objects.filter(session_id=session.pk).order_by("process"))
