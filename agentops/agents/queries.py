"""What an agent's version may do, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any
from uuid import UUID

from agentops.kernel.canonical import digest
from agentops.ledger.sql import fetch_all
from agentops.policy.baseline import BASELINE, VERSION, Limit, covers, threshold_rules
from agentops.policy.facts import GrantFacts
from agentops.policy.rules import Rule
from agentops.policy.ruleset import NO_RULES, TenantRules


@dataclass(frozen=True)
class Grant:
    """One tool's dial and limits."""

    tool: str
    dial: str
    limits: tuple[Limit, ...]

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """Every rule that decides about the tool, compiled once."""
        return BASELINE + threshold_rules(self.tool, self.limits)

    def facts(self, *, currency: str | None) -> GrantFacts:
        """Return what the rules may know of this grant for a call in ``currency`` (None: no money)."""
        return GrantFacts(self.dial, covers(self.limits, currency=currency))


@dataclass(frozen=True)
class Grants:
    """All tools of a version, and the tenant's own rules, as of one moment."""

    by_tool: Mapping[str, Grant]
    tenant: TenantRules = NO_RULES

    @cached_property
    def tools(self) -> frozenset[str]:
        """The names of the granted tools."""
        return frozenset(self.by_tool)

    def rules_for(self, tool: Mapping[str, Any]) -> tuple[Rule, ...]:
        """Return every rule that decides about a tool, given as its facts."""
        grant = self.by_tool.get(tool["name"])
        return (*(grant.rules if grant else BASELINE), *self.tenant.rules_for(tool))

    def under(self, tenant: TenantRules) -> "Grants":
        """Return the same tools under a tenant's own rules."""
        return replace(self, tenant=tenant)

    def policy_version(self, tool: str) -> str:
        """Return a short name of exactly these rules; it changes when any of them does."""
        grant = self.by_tool.get(tool)
        described = (
            [grant.dial, *[[r.fact, r.op, r.value, r.currency, r.effect, r.words] for r in grant.limits]]
            if grant
            else []
        )
        if self.tenant.digest:
            described = [*described, self.tenant.digest]
        return f"{VERSION}.{digest(described).hex()[:12]}"


_GRANTS = """
SELECT g.tool, g.dial, t.fact, t.op, t.value, t.currency, t.effect, t.words
FROM agentops_toolgrant g LEFT JOIN agentops_threshold t ON t.grant_id = g.id
WHERE g.version_id = %(version)s
ORDER BY g.tool, t.id"""


def grants_of(version_id: UUID) -> Grants:
    """Return the grants of a version. Read for every step, so that lowering a dial works at once."""
    return _grants(tuple(fetch_all(_GRANTS, {"version": version_id})))


@lru_cache(maxsize=256)
def _grants(rows: tuple[tuple[Any, ...], ...]) -> Grants:
    """Equal rows are equal grants, so what was derived from them once serves every step."""
    dials = {tool: dial for tool, dial, *_ in rows}
    limits: dict[str, tuple[Limit, ...]] = {}
    for tool, _, fact, *rest in rows:
        if fact is not None:
            limits[tool] = (*limits.get(tool, ()), Limit(fact, *rest))
    return Grants({tool: Grant(tool, dial, limits.get(tool, ())) for tool, dial in dials.items()})
