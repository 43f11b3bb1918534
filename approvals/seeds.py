"""The demo's approvers may decide its queues."""

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from guardian.shortcuts import assign_perm

from agentops.tenancy.models import Role
from approvals.models import ApprovalQueue
from approvals.queries import PERMISSION


@transaction.atomic
def seed_demo() -> None:
    """Let each account of ``settings.DEMO_ACCOUNTS`` that is an approver decide every queue of its tenant."""
    names = [account["name"] for account in settings.DEMO_ACCOUNTS if account["role"] == Role.APPROVER]
    for queue in ApprovalQueue.objects.all():
        members = User.objects.filter(
            username__in=names, memberships__tenant_id=queue.tenant_id, memberships__role=Role.APPROVER
        )
        for person in members.distinct():
            assign_perm(PERMISSION, person, queue)
