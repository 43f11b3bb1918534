"""What decides about a session's work, as of one epoch: version, grants, freezes, limits, breakers; and elevations."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Q

from agentops.agents.models import AgentVersion, Elevation
from agentops.agents.queries import Grants, grants_of
from agentops.gateway.breakers import Breakers, breakers_of
from agentops.kernel.clock import utcnow
from agentops.policy.flow import ROWS
from agentops.policy.queries import rules_of_tenant
from agentops.policy.rules import Rule, narrow
from agentops.runtime.guards import Limits
from agentops.runtime.models import Priority, Session
from agentops.runtime.session import Held
from agentops.runtime.states import SessionStatus
from agentops.tenancy.models import Freeze


@dataclass(frozen=True)
class Frozen:
    """An active freeze as it concerns one agent. ``tool`` empty: the sessions themselves are stopped."""

    id: UUID
    tool: str
    reason: str
    by: str


_SOUND = dict.fromkeys(ROWS, False)


@dataclass(frozen=True)
class Brief:
    """The same for every session of one agent's version, as long as the epoch is the same.

    ``tenant_day_micro`` and ``agent_day_micro`` are daily spending limits, None without one. ``urgent``: a
    session of more than normal priority was waiting.
    """

    epoch: int
    version: AgentVersion
    grants: Grants
    freezes: tuple[Frozen, ...]
    breakers: Breakers
    zone: ZoneInfo
    tenant_day_micro: int | None
    agent_day_micro: int | None
    urgent: bool
    _narrowed: dict[tuple[Any, ...], tuple[Rule, ...]] = field(default_factory=dict, repr=False, compare=False)

    def rules_for(self, facts: Mapping[str, Any]) -> tuple[Rule, ...]:
        """Return the rules that can still fire for a call with these facts, given its tool and its grant.

        Tool and grant stay the same as long as the brief does, up to the switches in the key; and of most calls every
        row of the flow holds.
        """
        tool, grant, flow = facts["tool"], facts["grant"], facts["flow"]
        sound = not any(flow[row] for row in ROWS)
        switches = (tool["frozen"], tool["elevated"], grant["present"], grant["bounded_here"], sound)
        key = (tool["name"], tool["version"], *switches)
        rules = self._narrowed.get(key)
        if rules is None:
            known = {"tool": tool, "grant": grant, **({"flow": _SOUND} if sound else {})}
            rules = self._narrowed[key] = narrow(self.grants.rules_for(tool), known)
        return rules

    @cached_property
    def limits(self) -> Limits:
        """The budget of one session of the agent's version."""
        version = self.version
        return Limits(
            version.max_steps, version.max_seconds, version.max_cost_micro, version.max_tokens, version.max_identical
        )

    @property
    def stopped_by(self) -> Frozen | None:
        """The freeze that stops the session itself, None when there is none."""
        return next((freeze for freeze in self.freezes if not freeze.tool), None)

    def freeze_of(self, tool: str) -> Frozen | None:
        """Return the freeze that refuses ``tool``, None when there is none."""
        return next((freeze for freeze in self.freezes if freeze.tool == tool), None)


def brief_of(held: Held) -> Brief:
    """Return what holds for the session at its present epoch.

    It is read after the epoch was, so it is never older than it says; if it is newer, the next durable point that
    depends on it fails and it is read again.
    """
    return _brief(held.agent_version_id, held.epoch)


@lru_cache(maxsize=256)
def _brief(version_id: UUID, epoch: int) -> Brief:
    version = AgentVersion.objects.select_related("agent__tenant").get(pk=version_id)
    agent = version.agent
    return Brief(
        epoch=epoch,
        version=version,
        grants=grants_of(version_id).under(rules_of_tenant(agent.tenant_id)),
        freezes=tuple(_freezes(agent.tenant_id, agent.pk)),
        breakers=Breakers(agent.tenant_id, breakers_of(agent.tenant_id)),
        zone=ZoneInfo(agent.tenant.timezone),
        tenant_day_micro=agent.tenant.max_day_micro,
        agent_day_micro=agent.max_day_micro,
        urgent=Session.objects.filter(status=SessionStatus.QUEUED, priority__gt=Priority.NORMAL).exists(),
    )


def _freezes(tenant_id: UUID, agent_id: UUID) -> Iterator[Frozen]:
    here = Q(tenant=None) | Q(tenant=tenant_id)
    mine = Q(agent_id=None) | Q(agent_id=agent_id)
    for row in Freeze.objects.filter(here, mine, lifted_at=None).order_by("frozen_at"):
        yield Frozen(row.pk, row.tool, row.reason, row.frozen_by)


def elevations_of(session_id: UUID) -> frozenset[str]:
    """Return the scopes that the session may use although they are elevated, at this moment."""
    rows = Elevation.objects.filter(session_id=session_id, revoked_at=None, expires_at__gt=utcnow())
    return frozenset(rows.values_list("scope", flat=True))
