"""The page of a request. GET shows and never writes; one POST decides."""

from collections.abc import Callable, Mapping
from uuid import UUID

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.tenancy.access import Reader, staff_page
from approvals import drafts, shown, verb_views
from approvals.answering import Sent, done, found_by, incomplete, page, sent_from, survives_login, turned_down
from approvals.duties.stepup import fresh_factor
from approvals.forms import DecisionForm
from approvals.models import ApprovalRequest
from approvals.operations import Receipt, decide_request
from approvals.page_parts.panel import Answer
from approvals.page_parts.words import must_open


@require_safe
@never_cache
@staff_page()
def detail(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Show one request; ``?again`` after a decision that had been made before."""
    sent = found_by(request, reader, pk)
    mine = (one.person_id == reader.person.pk and one.taken_back_at is None for one in sent.approval.decisions.all())
    answer = Answer(conflict="repeated") if "again" in request.GET and any(mine) else Answer()
    return page(sent, answer)


@survives_login
@require_POST
@never_cache
@staff_page()
def decide(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Do what was chosen, once. Whatever stands against it is answered with the page and what was typed."""
    sent = sent_from(request, reader, pk)
    if isinstance(sent, HttpResponse):
        return sent
    return _VERBS.get(request.POST.get("verb", ""), _verdict)(sent)


_VERBS: Mapping[str, Callable[[Sent], HttpResponse]] = {
    "edit": verb_views.begin_edit,
    "ask": verb_views.do_ask,
    "escalate": verb_views.do_escalate,
    "take_over": verb_views.do_take_over,
}


def _verdict(sent: Sent) -> HttpResponse:
    approval, level = sent.approval, sent.approval.level
    form = DecisionForm(
        sent.http.POST,
        must_open=must_open(approval.preview, approval.arguments),
        asks_check=level >= 2,
        asks_fact=level >= 3,
    )
    if not form.is_valid():
        return incomplete(sent, form.messages())
    for_whom = _principal(sent, form.cleaned_data["on_behalf_of"])
    if isinstance(for_whom, str):
        return incomplete(sent, {"on_behalf_of": for_whom})
    try:
        receipt = _decide(sent, form, for_whom)
    except AgentOpsError as error:
        return turned_down(sent, error)
    except ApprovalRequest.DoesNotExist as error:
        raise Http404("no such request") from error
    drafts.forget(approval, sent.reader.person)
    return done(sent, "?again" if receipt.repeated else "#outcome")


def _decide(sent: Sent, form: DecisionForm, for_whom: User | None) -> Receipt:
    approval, person, now, approves = sent.approval, sent.reader.person, utcnow(), form.verdict == "approve"
    moment = str(sent.http.POST.get("shown", ""))
    return decide_request(
        request_id=approval.pk,
        person=person,
        verdict=form.verdict,
        digest=form.cleaned_data["digest"],
        reason="" if approves else form.words,
        checked=form.cleaned_data["checked"] if approves else "",
        acknowledged=form.cleaned_data["acknowledged"] if approves else "",
        stepped_up=fresh_factor(sent.http),
        on_behalf_of=for_whom,
        reason_code="" if approves else form.cleaned_data["reason"],
        dwell_ms=shown.dwell_ms(moment, request_id=approval.pk, person_id=person.pk, now=now),
        now=now,
    )


def _principal(sent: Sent, chosen: int | None) -> User | str | None:
    """Return for whom the person decides, None for themselves, or what is wrong with the choice."""
    if chosen is None or chosen == sent.reader.person.pk:
        return None
    found = sent.view.principals(sent.approval.queue_id)
    return next((one for one in found if one.pk == chosen), "You do not decide for this person any more.")
