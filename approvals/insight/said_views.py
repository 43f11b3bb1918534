"""What people say about decisions of the past: that they went wrong, that they are worth showing again."""

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from agentops.console.reveal import reveal
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.tenancy.access import Reader, staff_page
from agentops.tenancy.models import Role
from approvals.access import visible_requests
from approvals.insight import exemplars
from approvals.insight.example_page import examples_page
from approvals.insight.forms import ReviewForm, WordsForm
from approvals.insight.regret import note_regret
from approvals.insight.rights import known_request, may_review
from approvals.insight.rules import proposal_for, tags_of
from approvals.models import ApprovalRequest, Exemplar, Regret


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@staff_page()
def regret(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Record that an approval turned out to be wrong, with a reason, once. GET shows the form by itself.

    Support staff come here from a session, and need not see the request's own page.
    """
    approval = _known(reader, pk, everywhere=True)
    form = WordsForm(request.POST if request.method == "POST" else None)

    def note() -> str:
        note_regret(
            request_id=approval.pk,
            kind=Regret.Kind.MARKED,
            by=reader.actor,
            words=form.cleaned_data["words"],
            at=utcnow(),
        )
        return "It is on record that this was wrong."

    return _said(request, form, note, Place(approval, "Mark as wrong", _home(reader, approval)))


@require_POST
@never_cache
@staff_page()
def exemplar_propose(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Propose the run of an approved request as an example."""
    approval, form = _known(reader, pk), WordsForm(request.POST)

    def propose() -> str:
        exemplars.propose(request_id=approval.pk, person=reader.person, why=form.cleaned_data["words"], now=utcnow())
        return "Proposed. Somebody else reads it before it is an example."

    return _said(request, form, propose, Place(approval, "Propose as an example", _home(reader, approval)))


@require_safe
@never_cache
@staff_page()
def exemplar_list(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Show the proposed and accepted examples of requests that the reader may see."""
    return render(request, "approvals/insight/exemplars.html", {"page": examples_page(reader, utcnow())})


@require_POST
@never_cache
@staff_page()
def exemplar_review(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Accept or decline a proposed example."""
    example, form = _reviewable(reader, pk), ReviewForm(request.POST)

    def review() -> str:
        accept = form.cleaned_data["accept"] == "yes"
        exemplars.review(
            exemplar_id=pk, person=reader.person, accept=accept, words=form.cleaned_data["words"], now=utcnow()
        )
        return "Accepted." if accept else "Declined."

    return _said(request, form, review, Place(example.request, "Review an example", reverse("approval_exemplars")))


@require_POST
@never_cache
@staff_page()
def exemplar_retire(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Show an example no longer."""
    example, form = _reviewable(reader, pk), WordsForm(request.POST)

    def retire() -> str:
        exemplars.retire(exemplar_id=pk, person=reader.person, words=form.cleaned_data["words"])
        return "It is no longer shown."

    return _said(request, form, retire, Place(example.request, "Show no longer", reverse("approval_exemplars")))


@require_safe
@never_cache
@staff_page(Role.ADMIN)
def rule(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Say to an admin which limit would stop asking for calls like this one, with the evidence. Changes nothing."""
    approval = _known(reader, pk)
    proposal = proposal_for(approval, tags=tags_of(approval))
    context = {"request_": approval, "proposal": proposal, "may_change": reader.person.is_staff}
    return render(request, "approvals/insight/rule.html", context)


@dataclass(frozen=True)
class Place:
    """What a form is about, its title, and where its reader goes back to."""

    approval: ApprovalRequest
    title: str
    back: str


def _known(reader: Reader, pk: UUID, *, everywhere: bool = False) -> ApprovalRequest:
    approval = known_request(reader, pk, utcnow(), everywhere=everywhere)
    if approval is None:
        raise Http404("no such request")
    return approval


def _home(reader: Reader, approval: ApprovalRequest) -> str:
    """Return the request's page for whoever may see it, and its session's for the others."""
    if visible_requests(reader.person, reader.tenant.pk).filter(pk=approval.pk).exists():
        return reverse("approval_request", args=[approval.pk])
    return reverse("session_detail", args=[approval.session_id])


def _reviewable(reader: Reader, pk: UUID) -> Exemplar:
    example = Exemplar.objects.select_related("request").filter(tenant_id=reader.tenant.pk, pk=pk).first()
    if example is None or not may_review(reader, example.request.queue_id):
        raise Http404("no such example")
    return example


def _said(request: HttpRequest, form: WordsForm, act: Callable[[], str], place: Place) -> HttpResponse:
    """Do what was asked, or show the form again with what stands against it: 422 for the words, 409 for the rest."""
    status, stands = 422 if form.is_bound else 200, ""
    if form.is_valid():
        try:
            messages.success(request, act())
            return redirect(place.back)
        except AgentOpsError as error:
            status, stands = 409, error.in_full
    context = {"form": form, "place": place, "effect": reveal(place.approval.effect), "stands": stands}
    return render(request, "approvals/insight/said.html", context, status=status)
