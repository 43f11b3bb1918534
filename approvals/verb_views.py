"""What else may be done from the page of a request: ask, escalate, take over, edit, assign, take back."""

from collections.abc import Callable
from http import HTTPStatus
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.tenancy.access import Reader, staff_page
from approvals import drafts, verbs
from approvals.answering import Sent, address_of, done, incomplete, page, sent_from, survives_login, turned_down
from approvals.clock.ladder import escalate as climb_ladder
from approvals.clock.ladder import may_escalate
from approvals.forms import AskForm, AssignForm, DigestForm, EscalateForm, TakeOverForm
from approvals.models import ApprovalQueue
from approvals.operations import take_back
from approvals.page_parts.panel import Answer
from approvals.queries import get_request
from approvals.routes.assigning import assign as give_to


def _try(sent: Sent, act: Callable[[], object], ending: str = "") -> HttpResponse:
    """Do it, and go to the page; or answer with what stands against it."""
    try:
        act()
    except AgentOpsError as error:
        return turned_down(sent, error)
    return done(sent, ending)


def do_ask(sent: Sent) -> HttpResponse:
    """Put a question to the agent; its answer comes back on the page."""
    form = AskForm(sent.http.POST)
    if not form.is_valid():
        return incomplete(sent, form.messages())
    given = form.cleaned_data

    def ask() -> None:
        verbs.ask_agent(
            request_id=sent.approval.pk,
            person=sent.reader.person,
            question=given["question"],
            digest=given["digest"],
            now=utcnow(),
        )

    return _try(sent, ask, "#h-talk")


def do_escalate(sent: Sent) -> HttpResponse:
    """Call the people of the next step of the queue's ladder."""
    form = EscalateForm(sent.http.POST)
    if not form.is_valid():
        return incomplete(sent, form.messages(), may=may_escalate(sent.approval, sent.view))
    words = form.cleaned_data["note"]

    def call() -> None:
        rung = climb_ladder(request_id=sent.approval.pk, person=sent.reader.person, words=words, now=utcnow())
        messages.success(sent.http, f"Escalated to step {rung.place}, {rung.get_kind_display().lower()}.")

    answer = _try(sent, call)
    # Who had it only because it was given to them has handed it on.
    gone = answer.status_code == HTTPStatus.FOUND and get_request(sent.view, sent.approval.pk) is None
    return redirect("approval_queue") if gone else answer


def do_take_over(sent: Sent) -> HttpResponse:
    """Stop the agent and go on with the work oneself; the browser goes to the session."""
    form = TakeOverForm(sent.http.POST)
    if not form.is_valid():
        return incomplete(sent, form.messages())
    try:
        verbs.take_over_request(
            request_id=sent.approval.pk,
            person=sent.reader.person,
            reason=form.cleaned_data["because"],
            now=utcnow(),
        )
    except AgentOpsError as error:
        return turned_down(sent, error)
    drafts.forget(sent.approval, sent.reader.person)
    return redirect(reverse("session_detail", args=[sent.approval.session_id]) + "#stands")


def begin_edit(sent: Sent) -> HttpResponse:
    """Go to the arguments as a form of their own. What was typed here is kept."""
    form = DigestForm(sent.http.POST)
    if not form.is_valid():
        return incomplete(sent, form.messages())
    drafts.keep(sent.approval, sent.reader.person, sent.http.POST, utcnow())
    return redirect(reverse("approval_edit", args=[sent.approval.pk]))


def _post(do: Callable[[Sent], HttpResponse], name: str) -> Callable[[HttpRequest, UUID], HttpResponseBase]:
    """Return the view of one verb at an address of its own."""

    @survives_login
    @require_POST
    @never_cache
    @staff_page()
    def view(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponse:
        sent = sent_from(request, reader, pk)
        return sent if isinstance(sent, HttpResponse) else do(sent)

    view.__name__ = name
    return view


def _do_assign(sent: Sent) -> HttpResponse:
    form = AssignForm(sent.http.POST)
    if not form.is_valid():
        return page(sent, Answer(assign_error=str(next(iter(form.errors.values()))[0])), status=422)
    kind, _, key = form.cleaned_data["to"].partition(":")
    person = User.objects.filter(pk=key).first() if kind == "person" else None
    queue = ApprovalQueue.objects.filter(pk=key, tenant=sent.reader.tenant).first() if kind == "queue" else None
    if kind != "free" and person is None and queue is None:
        return page(sent, Answer(assign_error="Choose to whom."), status=422)
    try:
        give_to(
            request_id=sent.approval.pk,
            by=sent.reader.person,
            to=person,
            queue=queue,
            words=form.cleaned_data["words"],
            now=utcnow(),
        )
    except AgentOpsError as error:
        return page(sent, Answer(assign_error=error.in_full), status=409)
    told = (
        f"Assigned to {person.get_username() if person else queue}." if person or queue else "Given back to its queue."
    )
    messages.success(sent.http, told)
    return redirect(address_of(sent.approval.pk))


def _do_undo(sent: Sent) -> HttpResponse:
    try:
        take_back(request_id=sent.approval.pk, person=sent.reader.person, now=utcnow())
    except AgentOpsError as error:
        messages.error(sent.http, f"It was not taken back. {error.in_full}")
    else:
        messages.success(sent.http, "Taken back. Nothing was carried out, and the request waits again.")
    return redirect(address_of(sent.approval.pk))


ask = _post(do_ask, "ask")
escalate = _post(do_escalate, "escalate")
take_over = _post(do_take_over, "take_over")
assign = _post(_do_assign, "assign")
undo = _post(_do_undo, "undo")
