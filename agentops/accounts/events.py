"""Changes of a person's factors, in the ledger of each tenant that they belong to."""

from django.contrib.auth.models import User

from agentops.ledger.append import Event, append_to
from agentops.tenancy.models import EVERYBODY
from agentops.tenancy.queries import tenants_of


def record_factor(kind: str, user: User, factor: str, *, actor: str = "") -> None:
    """Record what happened to a person's factor, in the caller's transaction. ``actor``: the person, unless given.

    ``kind`` is ``added``, ``removed`` or ``failed``: somebody in this person's web session showed a wrong one.
    """
    name = user.get_username()
    facts, refs = {"person": name, "factor": factor}, {"person": str(user.pk)}
    event = Event(f"factor.{kind}", actor or f"user:{name}", dict(facts), refs)
    for tenant_id in [tenant.pk for tenant in tenants_of(user)] or [EVERYBODY]:
        append_to(tenant_id=tenant_id, name=f"person:{user.pk}", events=[event])
