"""Consent of a tenant to the use of its credentials, given and taken back by people, on record."""

from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from agentops.gateway.models import SecretConsent
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Event, append_to
from agentops.registry.roles import all_roles
from agentops.tenancy.models import Tenant


class CannotConsent(AgentOpsError):
    """No tool names that capability, or there is no such environment."""

    code = "CANNOT_CONSENT"
    next_step = "Choose a capability that a tool of an installed role names, and sandbox or production."


def capabilities() -> list[str]:
    """Return every capability that an installed role or a tool of it names, by name."""
    roles = all_roles()
    of_tools = {tool.secret for role in roles for tool in role.tools if tool.secret}
    return sorted(of_tools.union(*(role.credentials for role in roles)))


def standing(*, tenant_id: UUID, capability: str, environment: str) -> QuerySet[SecretConsent]:
    """Return the tenant's consent that nobody has taken back, one or none."""
    return SecretConsent.objects.filter(
        tenant_id=tenant_id, capability=capability, environment=environment, revoked_at=None
    )


@transaction.atomic
def give_consent(*, tenant_id: UUID, capability: str, environment: str, actor: str) -> SecretConsent:
    """Allow the tenant's tools to use a credential. One that is allowed already stays so. Raises CannotConsent."""
    if capability not in capabilities():
        raise CannotConsent("No tool names that capability.")
    if environment not in SecretConsent.Environment.values:
        raise CannotConsent("There is no such environment.")
    # Two people at once would otherwise both give it.
    Tenant.objects.select_for_update().get(pk=tenant_id)
    given = standing(tenant_id=tenant_id, capability=capability, environment=environment).first()
    if given is not None:
        return given
    made = SecretConsent.objects.create(
        tenant_id=tenant_id, capability=capability, environment=environment, given_by=actor, given_at=utcnow()
    )
    _record(made, "consent.given", actor)
    return made


@transaction.atomic
def revoke_consent(*, consent_id: UUID, actor: str) -> SecretConsent:
    """Take a consent back: no call that begins from now on gets the credential."""
    consent = SecretConsent.objects.select_for_update().get(pk=consent_id)
    if consent.revoked_at is None:
        consent.revoked_at, consent.revoked_by = utcnow(), actor
        consent.save(update_fields=["revoked_at", "revoked_by"])
        _record(consent, "consent.revoked", actor)
    return consent


def _record(consent: SecretConsent, kind: str, actor: str) -> None:
    facts = {"capability": consent.capability, "environment": consent.environment}
    event = Event(kind, actor, dict(facts), {"consent": str(consent.pk)})
    append_to(tenant_id=consent.tenant_id, name=f"tenant:{consent.tenant_id}", events=[event])
