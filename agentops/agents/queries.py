"""What an agent's version may do, as values."""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from agentops.agents.models import ToolGrant
from agentops.kernel.canonical import digest
from agentops.policy.baseline import BASELINE, VERSION, Limit, covers, threshold_rules
from agentops.policy.facts import GrantFacts
from agentops.policy.rules import Rule


@dataclass(frozen=True)
class Grant:
    """One tool's dial and limits."""

    tool: str
    dial: str
    limits: tuple[Limit, ...]

    def facts(self, *, currency: str | None) -> GrantFacts:
        """Return what the rules may know of this grant for a call in ``currency`` (None: no money)."""
        return GrantFacts(self.dial, covers(self.limits, currency=currency))


@dataclass(frozen=True)
class Grants:
    """All tools of a version, as of one moment."""

    by_tool: Mapping[str, Grant]

    @property
    def tools(self) -> frozenset[str]:
        """The names of the granted tools."""
        return frozenset(self.by_tool)

    def rules_for(self, tool: str) -> tuple[Rule, ...]:
        """Return every rule that decides about ``tool``."""
        grant = self.by_tool.get(tool)
        return BASELINE + (threshold_rules(tool, grant.limits) if grant else ())

    def policy_version(self, tool: str) -> str:
        """Return a short name of exactly these rules; it changes when any of them does."""
        grant = self.by_tool.get(tool)
        described = (
            [grant.dial, *[[r.fact, r.op, r.value, r.currency, r.effect, r.words] for r in grant.limits]]
            if grant
            else []
        )
        return f"{VERSION}.{digest(described).hex()[:12]}"


def grants_of(version_id: UUID) -> Grants:
    """Return the grants of a version. Read for every step, so that lowering a dial works at once."""
    rows = ToolGrant.objects.filter(version_id=version_id).prefetch_related("thresholds").order_by("tool")
    found = {}
    for row in rows:
        limits = tuple(
            Limit(t.fact, t.op, t.value, t.currency, t.effect, t.words)
            for t in sorted(row.thresholds.all(), key=lambda threshold: threshold.pk)
        )
        found[row.tool] = Grant(row.tool, row.dial, limits)
    return Grants(found)
