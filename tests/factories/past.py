"""Requests of the past, made of one that was really asked: what the figures of deciding are counted from."""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from agentops.kernel.ids import new_id
from approvals.models import ApprovalRequest, Decision, Verdict

VERDICTS = {"approved": Verdict.APPROVE, "rejected": Verdict.REJECT}


def past(
    model: ApprovalRequest,
    state: str = "approved",
    *people: User,
    ago: timedelta = timedelta(hours=1),
    took: timedelta = timedelta(minutes=10),
    dwell_ms: int | None = 60_000,
    minor: int | None = None,
    **fields: Any,
) -> ApprovalRequest:
    """Copy ``model`` as a request that was closed ``ago``, ``took`` after it was asked, and decided by ``people``."""
    closed: datetime | None = None if state == "pending" else timezone.now() - ago
    copied = {field.attname: getattr(model, field.attname) for field in ApprovalRequest._meta.concrete_fields}
    changed: dict[str, Any] = {"id": new_id(), "invocation_id": new_id(), "state": "pending", "closed_at": None}
    if closed is not None:
        changed |= {"created_at": closed - took, "expires_at": closed + timedelta(hours=3)}
    if minor is not None:
        money = {**model.facts["money"], "minor": minor, "customer_day_minor": minor}
        changed |= {"money_minor": minor, "facts": {**model.facts, "money": money}}
    made = ApprovalRequest.objects.create(**{**copied, **changed, **fields})
    if closed is not None and state in VERDICTS:
        for person in people:
            Decision.objects.create(
                request=made,
                person=person,
                verdict=VERDICTS[state],
                reason="" if state == "approved" else "Not ours to pay.",
                digest=made.digest,
                at=closed,
                dwell_ms=dwell_ms,
            )
    if closed is not None:
        made.state, made.closed_at = state, closed
        made.save(update_fields=["state", "closed_at"])
    return made
