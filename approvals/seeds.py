"""What the demo shows of routing and time: who has which right, a queue of its own for delicate matters, a ladder."""

from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from guardian.shortcuts import assign_perm

from agentops.kernel.clock import utcnow
from agentops.tenancy.models import Role, Tenant
from approvals.access import DECIDE, MANAGE, SEE
from approvals.models import ApprovalQueue, BusinessHours, Detector, OnCallShift, Rung, ToolRoute

_RIGHTS = {Role.APPROVER: (DECIDE,), Role.ADMIN: (SEE, MANAGE), Role.SUPPORT: (SEE,)}
_OFFICE = [[["09:00", "17:00"]]] * 5 + [[], []]
_THREATS = [
    "my lawyer",
    "my attorney",
    "legal action",
    "small claims",
    "take you to court",
    "see you in court",
    "consumer protection",
    "data protection authority",
]


@transaction.atomic
def seed_demo() -> None:
    """Prepare every tenant for the accounts of ``settings.DEMO_ACCOUNTS``. Adds what is missing."""
    if not settings.DEMO_ACCOUNTS:
        return
    for tenant in Tenant.objects.select_for_update():
        _seed_delicate(tenant)
        admin = _people(tenant, Role.ADMIN)[:1]
        for queue in ApprovalQueue.objects.filter(tenant=tenant):
            _seed_rights(queue)
            if admin and not queue.ladder.exists():
                Rung.objects.create(queue=queue, place=1, kind=Rung.Kind.PERSON, person=admin[0], after_percent=60)
                Rung.objects.create(queue=queue, place=2, kind=Rung.Kind.ON_CALL, after_percent=80)
        if admin and not OnCallShift.objects.filter(tenant=tenant).exists():
            now = utcnow()
            OnCallShift.objects.create(tenant=tenant, person=admin[0], begins=now, ends=now + timedelta(days=90))


def _seed_delicate(tenant: Tenant) -> None:
    """Make the queue for legal and personal matters, and what sends requests there. It keeps office hours."""
    hours, _ = BusinessHours.objects.get_or_create(
        tenant=tenant, name="Office hours", defaults={"timezone": tenant.timezone, "week": _OFFICE}
    )
    queue, made = ApprovalQueue.objects.get_or_create(
        tenant=tenant,
        slug="compliance",
        defaults={
            "name": "Legal and privacy",
            "description": "Legal threats, personal data and addresses.",
            "decide_within": timedelta(hours=8),
            "hours": hours,
            "on_expiry": "hand_over",
        },
    )
    if not made:
        return
    Detector.objects.create(tenant=tenant, name="Legal threat", phrases=_THREATS, queue=queue, rank=10)
    Detector.objects.create(tenant=tenant, name="Personal data", kind=Detector.Kind.PERSONAL, queue=queue, rank=20)
    ToolRoute.objects.create(tenant=tenant, tag="addresses", queue=queue)


def _people(tenant: Tenant, role: Role) -> list[User]:
    names = [account["name"] for account in settings.DEMO_ACCOUNTS if account["role"] == role]
    members = User.objects.filter(username__in=names, memberships__tenant=tenant, memberships__role=role)
    return list(members.distinct().order_by("pk"))


def _seed_rights(queue: ApprovalQueue) -> None:
    for role, rights in _RIGHTS.items():
        for person in _people(queue.tenant, role):
            for right in rights:
                assign_perm(f"approvals.{right}", person, queue)
