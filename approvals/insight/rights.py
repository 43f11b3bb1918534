"""Whose figures a person may read, and about which requests they may say something afterwards."""

from datetime import datetime
from uuid import UUID

from agentops.tenancy.access import Reader
from agentops.tenancy.models import Role
from approvals.access import rights_of, visible_requests
from approvals.models import ApprovalQueue, ApprovalRequest

_EVERYWHERE = frozenset({Role.SUPPORT, Role.ADMIN})
"""Who hears from customers what went wrong, whichever queue it went through."""


def managed_queues(reader: Reader) -> list[ApprovalQueue]:
    """Return the queues of the tenant whose figures the reader may read, by name: an admin those of all."""
    every = ApprovalQueue.objects.filter(tenant_id=reader.tenant.pk).order_by("name", "pk")
    if Role.ADMIN in reader.roles:
        return list(every)
    return list(every.filter(pk__in=rights_of(reader.person).manage))


def known_request(reader: Reader, pk: UUID, now: datetime, *, everywhere: bool = False) -> ApprovalRequest | None:
    """Return a request about which the reader may say something: one that they see, an admin any.

    ``everywhere``: support staff any as well, as when something went wrong. None for every other id.
    """
    if Role.ADMIN in reader.roles or (everywhere and reader.roles & _EVERYWHERE):
        return ApprovalRequest.objects.filter(tenant_id=reader.tenant.pk, pk=pk).first()
    return visible_requests(reader.person, reader.tenant.pk, now).filter(pk=pk).first()


def may_review(reader: Reader, queue_id: int) -> bool:
    """Return whether the reader may review examples of a queue: who decides or manages it, and admins."""
    rights = rights_of(reader.person)
    return Role.ADMIN in reader.roles or queue_id in rights.decide | rights.manage
