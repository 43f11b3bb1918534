"""The fixed cast: Alice approves, Bob operates, Charlie is an outsider in another tenant."""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from guardian.shortcuts import assign_perm

from agentops.tenancy.models import Membership, Role, Tenant
from approvals.models import ApprovalQueue


@dataclass(frozen=True)
class Cast:
    """Two tenants and three people. The password of each is their name."""

    tenant: Tenant
    other: Tenant
    alice: User
    bob: User
    charlie: User
    queue: ApprovalQueue


def make_cast(*, queue: str = "payments") -> Cast:
    """Make the cast, with one queue that Alice may decide."""
    tenant = Tenant.objects.create(slug="north", name="North Goods")
    other = Tenant.objects.create(slug="south", name="South Goods")
    payments = make_queue(tenant, queue)
    return Cast(
        tenant,
        other,
        make_approver("alice", payments),
        make_person("bob", tenant, Role.SUPPORT),
        make_person("charlie", other, Role.APPROVER),
        payments,
    )


def make_person(name: str, tenant: Tenant, role: Role) -> User:
    """Make a person with one membership."""
    user = User.objects.create_user(name, f"{name}@example.com", name)
    Membership.objects.create(tenant=tenant, user=user, role=role)
    return user


def make_approver(name: str, queue: ApprovalQueue) -> User:
    """Make a person who may decide what waits in a queue."""
    person = make_person(name, queue.tenant, Role.APPROVER)
    assign_perm("approvals.decide_queue", person, queue)
    return person


def make_admin(name: str, tenant: Tenant) -> User:
    """Make an admin of the tenant for whom every screen of the admin is open."""
    person = make_person(name, tenant, Role.ADMIN)
    person.is_staff = person.is_superuser = True
    person.save()
    return person


def make_queue(tenant: Tenant, slug: str) -> ApprovalQueue:
    """Make a queue whose requests expire after four hours."""
    return ApprovalQueue.objects.create(tenant=tenant, slug=slug, name=slug.title(), decide_within=timedelta(hours=4))
