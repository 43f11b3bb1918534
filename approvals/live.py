"""Telling open pages to look again. A hint carries nothing but that something changed."""

from uuid import UUID

from django.db import transaction

from agentops.net.live import notify

SOCKET_PATH = "ws/approvals/"


def group_of(tenant_id: UUID) -> str:
    """Return the group that the pages of a tenant's queue listen to."""
    return f"approvals.{tenant_id}"


def announce(tenant_id: UUID) -> None:
    """Hint, once the caller's transaction is committed, that requests of the tenant changed."""
    transaction.on_commit(lambda: notify(group_of(tenant_id), {"type": "approvals.changed"}))
