"""What the console shows of requests: implements ``agentops.console.ports.ApprovalDesk``."""

from collections.abc import Collection, Sequence
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast, Right

from agentops.console.records import RequestSummary, Waiting
from agentops.kernel.clock import utcnow
from agentops.runtime.ports import ApprovalState
from approvals.access import view_of
from approvals.models import ApprovalRequest
from approvals.queries import MOST_COUNTED, pending_for, turn_count


class Desk:
    """Requests as summaries."""

    def turn_count(self, person: User, tenant_id: UUID) -> int:
        """Return how many pending requests the person may decide."""
        return turn_count(person, tenant_id)

    def waiting(self, person: User, tenant_id: UUID, *, limit: int) -> Waiting:
        """Return what waits on people, the most urgent first."""
        view = view_of(person, tenant_id, utcnow())
        first = list(pending_for(view).select_related("queue")[:limit])
        total = pending_for(view)[:MOST_COUNTED].count()
        found = [_summary(request, your_turn=vars(request)["turn"]) for request in first]
        return Waiting(found, total)

    def of_session(self, session_id: UUID) -> Sequence[RequestSummary]:
        """Return the requests of one session, oldest first."""
        found = ApprovalRequest.objects.filter(session_id=session_id).select_related("queue").order_by("id")
        return [_summary(request) for request in found]

    def approved(self, tenant_id: UUID, invocations: Collection[UUID]) -> Sequence[RequestSummary]:
        """Return the requests of the tenant that were approved for one of these calls."""
        found = _requests(tenant_id).filter(invocation_id__in=list(invocations), state=ApprovalState.APPROVED)
        return [_summary(request) for request in found]

    def find(self, tenant_id: UUID, *, pk: UUID | None = None, tail: str | None = None) -> Sequence[RequestSummary]:
        """Return requests of the tenant by id, or by the last ten hexadecimal digits of the id."""
        found = _requests(tenant_id)
        if pk is not None:
            found = found.filter(pk=pk)
        elif tail is not None:
            found = found.alias(tail=Right(Cast("id", TextField()), 10)).filter(tail=tail)
        else:
            return []
        return [_summary(request) for request in found[:2]]


def _requests(tenant_id: UUID) -> QuerySet[ApprovalRequest]:
    return ApprovalRequest.objects.filter(tenant_id=tenant_id).select_related("queue")


def _summary(request: ApprovalRequest, *, your_turn: bool = False) -> RequestSummary:
    return RequestSummary(
        pk=request.pk,
        code=request.code,
        session_id=request.session_id,
        position=request.position,
        invocation_id=request.invocation_id,
        effect=request.effect,
        level=request.level,
        queue=request.queue.name,
        state=request.state,
        due=request.expires_at,
        your_turn=your_turn,
    )
