"""What the pages of a request share: finding it, and answering a POST that was turned down with what was typed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django_htmx.http import HttpResponseClientRedirect

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.tenancy.access import Reader, current_reader
from agentops.tenancy.zones import zone_of
from approvals import drafts, shown
from approvals.access import View, view_of
from approvals.duties.rights import why_not
from approvals.duties.stepup import fresh_factor, step_up_url
from approvals.edit_form import typed_over
from approvals.models import ApprovalRequest
from approvals.page_parts.data import status_of
from approvals.page_parts.outcome import was_retired
from approvals.page_parts.panel import Answer
from approvals.page_parts.words import must_open
from approvals.pages import request_page
from approvals.queries import events_after, get_request
from approvals.refusals import AlreadyClosed, ChangedSince, NeedsAcknowledgement, NeedsReason, NeedsStepUp, NotAllowed
from approvals.request_presenters import Conflict

OK = 200
_FIELDS: Mapping[type[AgentOpsError], str] = {NeedsAcknowledgement: "acknowledged", NeedsReason: "why"}


@dataclass(frozen=True)
class Sent:
    """What somebody sent from the page of a request that they may see. ``view`` are their rights at that moment."""

    http: HttpRequest
    reader: Reader
    view: View
    approval: ApprovalRequest

    @property
    def digest(self) -> str:
        """That of the page it was sent from, as it says."""
        return str(self.http.POST.get("digest", ""))


def found_by(http: HttpRequest, reader: Reader, pk: UUID) -> Sent:
    """Return a request that the reader may see, with what they have sent, read now. Raises Http404."""
    view = view_of(reader.person, reader.tenant.pk, utcnow())
    approval = get_request(view, pk)
    if approval is None:
        raise Http404("no such request")
    return Sent(http, reader, view, approval)


def sent_from(request: HttpRequest, reader: Reader, pk: UUID) -> Sent | HttpResponse:
    """Return what was sent, or the answer to somebody who was shown the request and may not see it any more.

    That answer says nothing of the request. Raises Http404 for everybody else who may not see it.
    """
    try:
        return found_by(request, reader, pk)
    except Http404:
        moment = str(request.POST.get("shown", ""))
        lost = ApprovalRequest.objects.filter(pk=pk, tenant_id=reader.tenant.pk).first()
        if lost is None or shown.seen_by(moment, request_id=pk, person_id=reader.person.pk) is None:
            raise
    drafts.keep(lost, reader.person, request.POST, utcnow())
    told = {
        "draft": drafts.typed(request.POST),
        "typed": typed_over(drafts.typed_edit(request.POST) or {}, {}),
        "sign_in_url": _sign_in_url(page_of(pk, request)),
    }
    return render(request, "approvals/lost.html", {"page": told}, status=403)


def _sign_in_url(address: str) -> str:
    return f"{reverse('login')}?{urlencode({'next': address})}"


def address_of(approval_pk: UUID, ending: str = "") -> str:
    """Return where the page of a request is."""
    return reverse("approval_request", args=[approval_pk]) + ending


def page_of(approval_pk: UUID, request: HttpRequest) -> str:
    """Return where the page is that somebody reads, or from which they sent something."""
    if request.method != "POST":
        return request.path
    edits = drafts.form_of(request.POST) == drafts.Form.EDIT
    return reverse("approval_edit", args=[approval_pk]) if edits else address_of(approval_pk)


_Answering = Callable[[HttpRequest, UUID], HttpResponseBase]


def survives_login(view: _Answering) -> _Answering:
    """Decorate what answers a POST of a request: when the login has run out, what was typed is kept all the same.

    The view itself must ask who is reading, as ``staff_page`` does.
    """

    @login_not_required
    @wraps(view)
    def kept(request: HttpRequest, pk: UUID) -> HttpResponseBase:
        if request.user.is_authenticated:
            # The middleware looks for nobody where no login is asked for.
            timezone.activate(zone_of(current_reader(request).tenant.timezone))
            return view(request, pk)
        if request.method != "POST":
            return redirect_to_login(page_of(pk, request))
        with transaction.atomic():
            drafts.keep_of_stranger(pk, request.POST, utcnow())
        # The same words whether anything was kept or not: a stranger learns nothing by them.
        messages.warning(request, "Your login had run out, so nothing was recorded. Sign in to go on where you were.")
        return redirect_to_login(page_of(pk, request))

    return kept


def done(sent: Sent, ending: str = "") -> HttpResponse:
    """Answer a POST that did what it said: the form's draft is dropped, and the browser goes to the page.

    A fragment in ``ending`` names what answers, and takes the focus.
    """
    drafts.forget(sent.approval, sent.reader.person, drafts.Form.DECIDE)
    address = address_of(sent.approval.pk, ending)
    if sent.http.htmx:  # type: ignore[attr-defined]  # set by its middleware
        # With a fragment the browser would only scroll in the page that it has.
        return HttpResponseClientRedirect(address.partition("#")[0])
    return redirect(address)


def page(sent: Sent, answer: Answer, *, status: int = OK) -> HttpResponse:
    """Answer with the page of the request, read anew unless it is only shown."""
    now = sent if status == OK else found_by(sent.http, sent.reader, sent.approval.pk)
    factor = fresh_factor(sent.http) if now.approval.irreversible else ""
    whole = replace(answer, factor=factor, sign_in_url=_sign_in_url(address_of(now.approval.pk)))
    found = request_page(now.reader, now.approval, now.view, whole)
    return render(sent.http, "approvals/request.html", {"page": found}, status=status)


def incomplete(sent: Sent, errors: Mapping[str, str], *, may: bool | None = None) -> HttpResponse:
    """Answer a form that lacks something. One that would be refused even when complete is told that first.

    ``may``: whether the person may do what they sent; None for what takes the right to decide.
    """
    if status_of(sent.approval, sent.view.now) != "pending":
        return turned_down(sent, AlreadyClosed("This request is closed."))
    against = None if may else why_not(sent.approval, sent.view)
    if against is not None:
        return turned_down(sent, NotAllowed(against[0], next_step=against[1]))
    return page(sent, _answer(sent, errors=errors), status=422)


def turned_down(sent: Sent, error: AgentOpsError) -> HttpResponse:
    """Answer what stands against it, in the words of the page, and keep what was typed."""
    drafts.keep(sent.approval, sent.reader.person, sent.http.POST, utcnow())
    if isinstance(error, NeedsStepUp):
        return redirect(step_up_url(address_of(sent.approval.pk)))
    if isinstance(error, NotAllowed):
        return page(sent, _answer(sent, "lost", {"form": error.in_full}), status=403)
    if isinstance(error, AlreadyClosed):
        now = found_by(sent.http, sent.reader, sent.approval.pk)
        return page(sent, _answer(sent, _closed_by(now.approval)), status=409)
    if isinstance(error, ChangedSince):
        return page(sent, _answer(sent, "changed", reset=True), status=409)
    field = next((name for kind, name in _FIELDS.items() if isinstance(error, kind)), "")
    if field:
        return page(sent, _answer(sent, errors={field: error.in_full}), status=422)
    return page(sent, _answer(sent, errors={"form": error.in_full}, reset=True), status=409)


def _closed_by(approval: ApprovalRequest) -> Conflict:
    """Return what came between."""
    status = status_of(approval, utcnow())
    if status == "voided":
        return "retired" if was_retired(events_after(approval)) else "changed"
    return "expired" if status == "expired" else "decided_first"


def _answer(
    sent: Sent, conflict: Conflict = "", errors: Mapping[str, str] | None = None, *, reset: bool = False
) -> Answer:
    """``reset``: what was chosen and opened has to be chosen and opened anew; the words stay."""
    draft = drafts.typed(sent.http.POST, must_open(sent.approval.preview, sent.approval.arguments))
    if reset:
        draft = drafts.words_of(draft)
    moment = str(sent.http.POST.get("shown", ""))
    return Answer(conflict, draft, errors, seen_digest=sent.digest, shown=moment)
