"""Who may decide what."""

from django.contrib.auth.models import User
from guardian.shortcuts import get_objects_for_user

from approvals.models import ApprovalQueue

PERMISSION = "approvals.decide_queue"


def may_decide(person: User, queue: ApprovalQueue) -> bool:
    """Return whether the person has the queue's own permission. Being a superuser is not enough."""
    return queue.pk in decidable_queues(person)


def decidable_queues(person: User) -> frozenset[int]:
    """Return the keys of the queues that the person may decide."""
    if not person.is_active:
        return frozenset()
    found = get_objects_for_user(
        person, PERMISSION, klass=ApprovalQueue, with_superuser=False, accept_global_perms=False
    )
    return frozenset(found.values_list("pk", flat=True))
