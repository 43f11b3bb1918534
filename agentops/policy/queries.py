"""The rules of a tenant's own that hold at present."""

from functools import lru_cache
from uuid import UUID

from agentops.policy.models import RuleSet
from agentops.policy.ruleset import NO_RULES, TenantRules, compiled


def rules_of_tenant(tenant_id: UUID) -> TenantRules:
    """Return the tenant's active rules, none when no version is active. Each version is compiled once a process."""
    active = RuleSet.objects.filter(tenant_id=tenant_id, active=True).values_list("pk", "digest").first()
    return NO_RULES if active is None else _compiled(*active)


@lru_cache(maxsize=256)
def _compiled(rule_set_id: UUID, digest: str) -> TenantRules:
    """A version never changes, so its id and digest stand for its document."""
    return compiled(RuleSet.objects.values_list("document", flat=True).get(pk=rule_set_id), digest)
