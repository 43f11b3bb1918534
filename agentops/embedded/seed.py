"""The people of the demo and the agents that work for it."""

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from agentops.agents.models import Agent
from agentops.registry.roles import all_roles
from agentops.runtime.operations import employ_agent
from agentops.tenancy.models import Membership, Role, Tenant


@transaction.atomic
def seed_people_and_agents() -> None:
    """Make the accounts of ``settings.DEMO_ACCOUNTS`` and one agent a role, in every tenant there is.

    Changes nothing that is there. Does nothing where settings list no accounts.
    """
    if not settings.DEMO_ACCOUNTS:
        return
    for tenant in Tenant.objects.select_for_update():
        for account in settings.DEMO_ACCOUNTS:
            _seed_account(tenant, account)
        for role in all_roles():
            if not Agent.objects.filter(tenant=tenant, role=role.name).exists():
                employ_agent(tenant_id=tenant.pk, role=role, name=role.title, actor="demo")


def _seed_account(tenant: Tenant, account: dict[str, str]) -> None:
    user = User.objects.filter(username=account["name"]).first()
    if user is None:
        runs_it = account["role"] == Role.ADMIN
        address = f"{account['name']}@example.com"
        user = User(username=account["name"], email=address, is_staff=runs_it, is_superuser=runs_it)
        user.set_password(account["password"])
        user.save()
    Membership.objects.get_or_create(tenant=tenant, user=user, role=account["role"])
