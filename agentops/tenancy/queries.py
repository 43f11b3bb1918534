"""Who may see which tenant."""

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from agentops.tenancy.models import Membership, Role, Tenant


def tenants_of(user: AbstractBaseUser | AnonymousUser) -> list[Tenant]:
    """Return the tenants that ``user`` belongs to, by name. Nobody belongs to none by being a superuser."""
    if not user.is_authenticated:
        return []
    return list(Tenant.objects.filter(memberships__user_id=user.pk).distinct().order_by("name"))


def places_of(user: AbstractBaseUser | AnonymousUser) -> dict[Tenant, frozenset[Role]]:
    """Return the tenants that ``user`` belongs to, by name, each with what they do there. One query."""
    if not user.is_authenticated:
        return {}
    found: dict[Tenant, frozenset[Role]] = {}
    for place in Membership.objects.filter(user_id=user.pk).select_related("tenant").order_by("tenant__name"):
        found[place.tenant] = found.get(place.tenant, frozenset()) | {Role(place.role)}
    return found
