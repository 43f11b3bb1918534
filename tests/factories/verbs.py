"""What an approver does besides deciding, in one line."""

from typing import Any

from django.contrib.auth.models import User
from django.utils import timezone

from approvals import verbs
from approvals.models import ApprovalRequest
from tests.factories.runs import pending

WHY = "Why this account?"


def ask(person: User, question: str = WHY, request: ApprovalRequest | None = None) -> ApprovalRequest:
    """Let the person ask the agent about the request, or the only one that is pending."""
    request = request or pending()
    verbs.ask_agent(request_id=request.pk, person=person, question=question, digest=request.digest, now=timezone.now())
    return request


def edit(
    person: User, request: ApprovalRequest | None = None, *, reason: str = "Too much.", **changes: Any
) -> ApprovalRequest:
    """Let the person change arguments of the request, or of the only one that is pending."""
    request = request or pending()
    verbs.edit_request(
        request_id=request.pk,
        person=person,
        arguments={**request.arguments, **changes},
        digest=request.digest,
        reason=reason,
        now=timezone.now(),
    )
    return request


def take_over(person: User, request: ApprovalRequest | None = None, *, reason: str = "I do it.") -> ApprovalRequest:
    """Let the person take the work over."""
    request = request or pending()
    verbs.take_over_request(request_id=request.pk, person=person, reason=reason, now=timezone.now())
    return request
