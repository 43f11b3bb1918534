"""The approver's pages. GET shows and never writes; one POST decides."""

from collections.abc import Mapping
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe
from django_htmx.http import HttpResponseClientRedirect

from agentops.console.access import Reader, staff_page
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import StaleStream
from agentops.runtime.states import IllegalTransition
from approvals.forms import DecisionForm
from approvals.listing import queue_news, queue_page, read_query
from approvals.models import ApprovalRequest
from approvals.operations import AlreadyClosed, AlreadyDecided, ChangedSince, NotAllowed, decide_request
from approvals.pages import Answer, long_arguments, request_page, status_of
from approvals.presenters import Conflict
from approvals.queries import get_request, may_decide


@require_safe
@never_cache
@staff_page()
def queue(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Show a bucket of the queue."""
    query = read_query(request.GET)
    for note in query.notes:
        messages.warning(request, note)
    return render(request, "approvals/queue.html", {"page": queue_page(reader, query, utcnow())})


@require_safe
@never_cache
@staff_page()
def news(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Answer an open queue page with what changed since it was made."""
    found = queue_news(reader, read_query(request.GET), request.GET, utcnow())
    return render(request, "approvals/queue.html#news", {"news": found})


@require_safe
@never_cache
@staff_page()
def detail(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Show one request; ``?again`` after a decision that had been made before."""
    approval = _own(reader, pk)
    decided = any(decision.person_id == reader.person.pk for decision in approval.decisions.all())
    conflict = Answer(conflict="repeated") if decided and "again" in request.GET else None
    page = request_page(reader, approval, utcnow(), conflict)
    return render(request, "approvals/request.html", {"page": page})


@require_POST
@never_cache
@staff_page()
def decide(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Record a decision once. Whatever stands against it is answered with the page and what was typed."""
    approval = _own(reader, pk)
    form = DecisionForm(request.POST, must_open=long_arguments(approval.arguments))
    if not form.is_valid():
        return _not_valid(request, reader, approval, form)
    try:
        receipt = decide_request(
            request_id=approval.pk,
            person=reader.person,
            verdict=form.verdict,
            digest=form.cleaned_data["digest"],
            reason=form.words if form.verdict == "reject" else "",
            checked=form.cleaned_data["checked"] if form.verdict == "approve" else "",
            now=utcnow(),
        )
    except (NotAllowed, AlreadyClosed, AlreadyDecided, ChangedSince, StaleStream, IllegalTransition) as error:
        return _conflict(request, reader, pk, form, error)
    except ApprovalRequest.DoesNotExist as error:
        raise Http404("no such request") from error
    address = reverse("approval_request", args=[pk]) + ("?again" if receipt.repeated else "")
    return HttpResponseClientRedirect(address) if request.htmx else redirect(address)  # type: ignore[attr-defined]


def _own(reader: Reader, pk: UUID) -> ApprovalRequest:
    approval = get_request(reader.tenant.pk, pk)
    if approval is None:
        raise Http404("no such request")
    return approval


def _not_valid(request: HttpRequest, reader: Reader, approval: ApprovalRequest, form: DecisionForm) -> HttpResponse:
    """A form that would be refused even when complete says that first."""
    if not may_decide(reader.person, approval.queue):
        return _conflict(request, reader, approval.pk, form, NotAllowed("You may read this request but not decide it."))
    if status_of(approval, utcnow()) != "pending":
        return _conflict(request, reader, approval.pk, form, AlreadyClosed("This request is closed."))
    return _page(request, reader, approval, Answer(draft=form.draft(), errors=form.messages()), status=422)


def _conflict(request: HttpRequest, reader: Reader, pk: UUID, form: DecisionForm, error: AgentOpsError) -> HttpResponse:
    approval, draft = _own(reader, pk), form.draft()
    if isinstance(error, NotAllowed):
        told = {"form": error.in_full} if may_decide(reader.person, approval.queue) else {}
        return _page(request, reader, approval, Answer(draft=draft, errors=told), status=403)
    if isinstance(error, AlreadyClosed):
        status = status_of(approval, utcnow())
        return _page(request, reader, approval, Answer(_CLOSED_BY.get(status, "decided_first"), draft), status=409)
    seen = str(form.data.get("digest", ""))
    fresh = type(draft)(why=draft.why, checked=draft.checked)
    if isinstance(error, ChangedSince):
        return _page(request, reader, approval, Answer("changed", fresh, seen_digest=seen), status=409)
    errors = {"form": error.in_full}
    return _page(request, reader, approval, Answer(draft=fresh, errors=errors), status=409)


_CLOSED_BY: Mapping[str, Conflict] = {"expired": "expired", "voided": "changed"}


def _page(
    request: HttpRequest, reader: Reader, approval: ApprovalRequest, answer: Answer, *, status: int
) -> HttpResponse:
    page = request_page(reader, approval, utcnow(), answer)
    return render(request, "approvals/request.html", {"page": page}, status=status)
