"""One request as a page, put together from its parts."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from agentops.console.marks import Tier
from agentops.console.reveal import reveal
from agentops.ledger.models import LedgerEvent
from agentops.runtime.ports import ApprovalState
from agentops.tenancy.access import Reader
from approvals import chain, drafts
from approvals.access import View
from approvals.duties.rights import why_not
from approvals.insight.part import insight_of
from approvals.models import Act, ActKind, ApprovalRequest
from approvals.page_parts import data, outcome
from approvals.page_parts import panel as panels
from approvals.page_parts.data import status_of
from approvals.page_parts.differences import differences
from approvals.page_parts.evidence import evidence
from approvals.page_parts.panel import Answer
from approvals.page_parts.talk import exchanges
from approvals.page_parts.words import flat
from approvals.presenters import Change
from approvals.queries import events_after, remember_view, successor_of
from approvals.request_presenters import ChainLink, Neighbours, RequestPage, RequestStatus
from approvals.rows import name_of

__all__ = ["Answer", "differences", "request_page", "status_of"]


@dataclass(frozen=True)
class Case:
    """A request as one reader finds it: what all parts of its page are made of."""

    reader: Reader
    request: ApprovalRequest
    view: View
    status: RequestStatus
    voted: bool
    events: Sequence[LedgerEvent]
    acts: Sequence[Act]
    successor: ApprovalRequest | None


def case_of(reader: Reader, request: ApprovalRequest, view: View) -> Case:
    """Read what the page is made of, at the moment of the view."""
    return Case(
        reader=reader,
        request=request,
        view=view,
        status=status_of(request, view.now),
        voted=any(one.person_id == reader.person.pk for one in outcome.standing(request)),
        events=events_after(request),
        acts=list(Act.objects.filter(request=request).select_related("person")),
        # What still waits was replaced by nothing.
        successor=None if request.state == ApprovalState.PENDING else successor_of(request),
    )


def request_page(reader: Reader, request: ApprovalRequest, view: View, answer: Answer | None = None) -> RequestPage:
    """Return the page of one request as the reader sees it, at the moment of the view."""
    remember_view(view)
    now, case = view.now, case_of(reader, request, view)
    answer = _with_draft(case, answer or Answer())
    return RequestPage(
        pk=str(request.pk),
        id=request.code,
        title=flat(request.effect),
        effect=reveal(request.effect),
        tier=Tier(request.level),
        tier_reason=next((flat(words) for _, effect, words in request.reasons if effect == "ask"), ""),
        tool=request.tool,
        tool_version=str(request.tool_version),
        queue=request.queue.name,
        routed_by=flat(request.routed_by),
        assigned_to=name_of(request.assigned_to, reader.person) if request.assigned_to else "",
        chain=_chain(case),
        neighbours=_neighbours(case),
        exchanges=exchanges(case.acts, reader.person, case.status),
        insight=insight_of(reader, request, now),
        **_standing(case, answer),
        **_deciding(case, answer),
        **data.proposed(request),
        **data.changes(request),
        **data.digest(request),
        **data.timing(request, now),
        **data.work(request),
        **evidence(request),
    )


def _with_draft(case: Case, answer: Answer) -> Answer:
    """What was just sent goes before what was kept. Whoever has voted has no draft any more."""
    if case.voted or answer.draft.verb or answer.draft.words or answer.conflict == "repeated":
        return answer
    return replace(answer, draft=drafts.kept_by(case.reader.person, case.request))


def _standing(case: Case, answer: Answer) -> dict[str, Any]:
    """What became of the request so far."""
    request, status = case.request, case.status
    before = request.supersedes
    return {
        "status": status,
        "decision": outcome.decision(case.reader, request, status, case.events),
        "outcome": outcome.outcome(request, case.events) if status == "approved" else None,
        "undo": outcome.undo(case.reader, request, status, case.view.now),
        "retired": status == "voided" and case.successor is None and outcome.was_retired(case.events),
        "edited": any(act.kind == ActKind.EDITED for act in case.acts),
        "came_by_edit": before is not None and before.acts.filter(kind=ActKind.EDITED).exists(),
        "conflict": answer.conflict,
        "differences": _differences(case, answer),
        "draft": answer.draft,
        "predecessor_pk": str(before.pk) if before else "",
        "predecessor_id": before.code if before else "",
        "successor_pk": str(case.successor.pk) if case.successor else "",
    }


def _deciding(case: Case, answer: Answer) -> dict[str, Any]:
    """The form, or why the reader has none."""
    reader, request, view = case.reader, case.request, case.view
    is_open = case.status == "pending"
    stands_against = why_not(request, view) if is_open else ("", "")
    may = is_open and stands_against is None
    waits = is_open and _open_questions(case.acts) > 0
    return {
        "panel": panels.panel(reader, request, answer, view) if may else None,
        "cannot": stands_against or ("", ""),
        "escalate": panels.escalate_part(request, view, answer) if is_open and (waits or not may) else None,
        "turned_down": "" if may else (answer.errors or {}).get("form", ""),
        "assign": panels.assign_part(request, view, case.status, answer.assign_error),
        "claim": panels.claim(request, reader, case.status, view.now, may=may),
        "sign_in_url": answer.sign_in_url,
        "waits_for_answer": waits,
    }


def _open_questions(acts: Sequence[Act]) -> int:
    kinds = [act.kind for act in acts]
    return kinds.count(ActKind.ASKED) - kinds.count(ActKind.ANSWERED)


def _chain(case: Case) -> list[ChainLink]:
    if chain.is_sealed(case.request, case.reader, case.status):
        return []
    return chain.links(case.request, case.acts, case.events, case.reader)


def _neighbours(case: Case) -> Neighbours:
    request = case.request
    others = ApprovalRequest.objects.filter(session_id=request.session_id).order_by("id")
    ids = list(others.values_list("pk", flat=True))
    place = ids.index(request.pk)
    return Neighbours(
        earlier=str(ids[place - 1]) if place else "",
        later=str(ids[place + 1]) if place + 1 < len(ids) else "",
    )


def _differences(case: Case, answer: Answer) -> list[Change]:
    """What moved: from this request to the one that replaced it, or from the one that this one replaced."""
    request, before = case.request, case.request.supersedes
    if case.successor is not None:
        return differences(request, case.successor)
    if before is None or (answer.conflict == "changed" and answer.seen_digest != before.digest):
        return []
    return differences(before, request)
