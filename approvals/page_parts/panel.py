"""The form that decides, and what stands beside it: who has it on the desk, and whom it may be given to."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User

from agentops.tenancy.access import Reader
from approvals import shown
from approvals.access import View
from approvals.clock.ladder import may_escalate, next_rung
from approvals.duties.acknowledge import fact_of
from approvals.duties.rights import names_for
from approvals.forms import REASONS
from approvals.models import ApprovalRequest
from approvals.page_parts.words import must_open
from approvals.request_presenters import (
    AssignPart,
    Claim,
    Conflict,
    DecidePanel,
    Draft,
    EscalatePart,
    Principal,
    ReasonChoice,
    RequestStatus,
    TypedFact,
)
from approvals.routes.assigning import may_assign_to, queues_to_move_to
from approvals.rows import amount_words, claimant_of, name_of


@dataclass(frozen=True)
class Answer:
    """What a POST that decided nothing has to say. ``seen_digest`` is the digest that it was about.

    ``factor`` is how the person proved to be there within the last minutes, "" when that is too long ago. ``shown`` is
    the form's own moment of showing: a page that comes back goes on counting from it.
    """

    conflict: Conflict = ""
    draft: Draft = field(default_factory=Draft)
    errors: Mapping[str, str] | None = None
    seen_digest: str = ""
    factor: str = ""
    shown: str = ""
    sign_in_url: str = ""
    assign_error: str = ""


def panel(reader: Reader, request: ApprovalRequest, answer: Answer, view: View) -> DecidePanel:
    """Return the form for somebody who may decide."""
    level = request.level
    what = [request.tool.replace("_", " "), amount_words(request)]
    return DecidePanel(
        digest=request.digest,
        shown=_moment(request, answer, view),
        approve_label=f"Approve: {', '.join(filter(None, what))}",
        reasons=[ReasonChoice(code=code, label=label) for code, label in REASONS],
        asks_check=level >= 2,
        must_open=must_open(request.preview, request.arguments),
        fact=TypedFact(label=fact_of(request).label) if level >= 3 else None,
        steps_up=level >= 3,
        is_fresh=bool(answer.factor),
        blind=request.people > 1,
        undo_seconds=settings.APPROVAL_UNDO_SECONDS,
        principals=_principals(request, view),
        escalates_to=_next_step(request),
        draft=answer.draft,
        errors=answer.errors or {},
    )


def _moment(request: ApprovalRequest, answer: Answer, view: View) -> str:
    return shown.again(answer.shown, request_id=request.pk, person_id=view.person.pk, now=view.now)


def escalate_part(request: ApprovalRequest, view: View, answer: Answer) -> EscalatePart | None:
    """Return the form that calls the next step, for somebody with no other; None when they may not, or at the top."""
    to = _next_step(request) if may_escalate(request, view) else ""
    if not to:
        return None
    return EscalatePart(
        to=to,
        digest=request.digest,
        shown=_moment(request, answer, view),
        note=answer.draft.note,
        error=(answer.errors or {}).get("note", ""),
    )


def _next_step(request: ApprovalRequest) -> str:
    rung = next_rung(request)
    if rung is None:
        return ""
    if rung.group is not None:
        return f"the group {rung.group.name}"
    return rung.person.get_username() if rung.person is not None else "whoever is on call"


def _principals(request: ApprovalRequest, view: View) -> list[Principal]:
    """For whom the reader may decide, when there is a choice."""
    if request.queue_id not in view.givers:
        return []
    found, reader = names_for(request, view), view.person
    if [person.pk for person in found] == [reader.pk]:
        return []
    return [
        Principal(value="" if person.pk == reader.pk else str(person.pk), label=_for(person, reader))
        for person in found
    ]


def _for(person: User, reader: User) -> str:
    return "for myself" if person.pk == reader.pk else f"for {name_of(person, reader)}"


def assign_part(request: ApprovalRequest, view: View, status: RequestStatus, error: str) -> AssignPart | None:
    """Return whom the request may be given to: by whom it lies with only back to its queue. None for everybody else."""
    manages = request.queue_id in view.manages
    if status != "pending" or not (manages or request.assigned_to_id == view.person.pk):
        return None
    given = request.assigned_to_id is not None
    if not manages:
        return AssignPart(people=[], queues=[], free=given, error=error)
    people = [Principal(value=str(one.pk), label=name_of(one, view.person)) for one in may_assign_to(request, view.now)]
    others = queues_to_move_to(request, view.manages)
    return AssignPart(
        people=people,
        queues=[Principal(value=str(queue.pk), label=queue.name) for queue in others],
        free=given,
        error=error,
    )


def claim(request: ApprovalRequest, reader: Reader, status: RequestStatus, now: datetime, *, may: bool) -> Claim:
    """Return who has the request on the desk."""
    if status != "pending":
        return Claim()
    holder = claimant_of(request, now)
    if holder is None:
        return Claim(may=may)
    return Claim(by=name_of(holder, reader.person), until=request.claimed_until, may=may)
