"""What an approver does with a request besides deciding it: edit it, ask the agent about it, take the work over.

Each checks and acts under the request's lock, like a decision: one of the two comes first, and the other is told.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction

from agentops.kernel.canonical import storable
from agentops.kernel.errors import AgentOpsError
from agentops.runtime import control, deciding
from agentops.runtime.ports import ApprovalState
from approvals import live, sql
from approvals.access import view_of
from approvals.acts import record_act
from approvals.duties.rights import gains
from approvals.models import ActKind, ApprovalRequest
from approvals.notices import outbox
from approvals.refusals import Excluded, NeedsReason, NotAllowed, require_open, require_shown

_USER = "user:"


class CannotAsk(AgentOpsError):
    """A question that is none, or about what the agent did not propose."""

    code = "CANNOT_ASK"
    next_step = "Write one question in plain words."


@transaction.atomic
def ask_agent(*, request_id: UUID, person: User, question: str, digest: str, now: datetime) -> None:
    """Put a question to the agent about its proposal; until it has answered, nobody decides about that.

    Raises CannotAsk, NotAllowed, AlreadyClosed, ChangedSince, Frozen, IllegalTransition, or
    ApprovalRequest.DoesNotExist.
    """
    words = storable(question.strip(), most=deciding.MOST_QUESTION)
    if not words.strip():
        raise CannotAsk("The question is empty.")
    request = sql.lock_request(request_id)
    facts = _facts_allowing(request, person, now)
    require_open(request, now)
    require_shown(request, digest)
    if request.requester.startswith(_USER):
        name = request.requester.removeprefix(_USER)
        raise CannotAsk(f"{name} proposed this, not the agent.", next_step=f"Ask {name}.")
    deciding.ask_agent(
        facts.waiting,
        invocation_id=request.invocation_id,
        request_id=request.pk,
        actor=_actor(person),
        question=words,
    )
    record_act(request, ActKind.ASKED, person=person, at=now, words=words)
    live.announce(request.tenant_id)


@transaction.atomic
def edit_request(
    *, request_id: UUID, person: User, arguments: Mapping[str, Any], digest: str, reason: str, now: datetime
) -> None:
    """Withdraw a request, and propose its call with other arguments as the person's own, for somebody else to decide.

    Raises NotAllowed, AlreadyClosed, ChangedSince, NeedsReason, BadEdit, Frozen, IllegalTransition, or
    ApprovalRequest.DoesNotExist.
    """
    request = sql.lock_request(request_id)
    facts = sql.facts_of(request, person.pk)
    if not facts.may_decide:
        raise NotAllowed("You may read this request but not change it.")
    if facts.excluded:
        raise Excluded("You have a part in what is asked, so you cannot change it.")
    require_open(request, now)
    require_shown(request, digest)
    if not reason.strip():
        raise NeedsReason("Changing a call needs a reason.")
    name = person.get_username()
    withdrawn = f"Edited by {name}."
    deciding.edit_call(
        facts.waiting,
        invocation_id=request.invocation_id,
        request_id=request.pk,
        actor=_actor(person),
        arguments=arguments,
        reason=reason.strip(),
        also=[sql.closing_part(request, ApprovalState.VOIDED, at=now, void_reason=withdrawn)],
    )
    request.state, request.closed_at, request.void_reason = ApprovalState.VOIDED, now, withdrawn
    changed = [change["argument"] for change in deciding.changed_arguments(request.arguments, arguments)]
    record_act(request, ActKind.EDITED, person=person, at=now, words=reason, facts={"changed": changed})
    outbox.closed(request, now)
    live.announce(request.tenant_id)


@transaction.atomic
def take_over_request(*, request_id: UUID, person: User, reason: str, now: datetime) -> None:
    """Take the work over from the agent: the request is withdrawn, and the person does the next steps.

    Raises NotAllowed, Excluded, AlreadyClosed, CannotControl, or ApprovalRequest.DoesNotExist.
    """
    request = sql.lock_request(request_id)
    if request.queue_id not in view_of(person, request.tenant_id, now).mine:
        raise NotAllowed("You may read this request but not take the work over.")
    if gains(request, person):
        raise Excluded("You gain by this, so you cannot take the work over.")
    require_open(request, now)
    control.take_over(session_id=request.session_id, actor=_actor(person), reason=reason)
    record_act(request, ActKind.TAKEN_OVER, person=person, at=now, words=reason)
    live.announce(request.tenant_id)


def _actor(person: User) -> str:
    return f"{_USER}{person.get_username()}"


def _facts_allowing(request: ApprovalRequest, person: User, now: datetime) -> sql.Facts:
    """Return what is known of the request under its lock, to whoever may decide it in some name."""
    facts = sql.facts_of(request, person.pk)
    if not facts.may_decide and request.queue_id not in view_of(person, request.tenant_id, now).mine:
        raise NotAllowed("You may read this request but not ask the agent about it.")
    return facts
