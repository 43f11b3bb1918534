"""What the console needs to know of approvals, which it does not import. Settings name the implementation."""

from collections.abc import Collection, Sequence
from functools import cache
from typing import Protocol, cast
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.utils.module_loading import import_string

from agentops.console.records import RequestSummary, Waiting


class ApprovalDesk(Protocol):
    """Reading requests. Implemented by the approvals app."""

    def turn_count(self, person: User, tenant_id: UUID) -> int:
        """Return how many pending requests the person may decide."""

    def waiting(self, person: User, tenant_id: UUID, *, limit: int) -> Waiting:
        """Return what waits on people, the most urgent first."""

    def of_session(self, session_id: UUID) -> Sequence[RequestSummary]:
        """Return the requests of one session, oldest first."""

    def approved(self, tenant_id: UUID, invocations: Collection[UUID]) -> Sequence[RequestSummary]:
        """Return the requests of the tenant that were approved for one of these calls."""

    def find(self, tenant_id: UUID, *, pk: UUID | None = None, tail: str | None = None) -> Sequence[RequestSummary]:
        """Return requests of the tenant by id, or by the last ten hexadecimal digits of the id."""


@cache
def approval_desk() -> ApprovalDesk:
    """Return the desk that ``settings.APPROVAL_DESK`` names."""
    return cast("ApprovalDesk", import_string(settings.APPROVAL_DESK)())
