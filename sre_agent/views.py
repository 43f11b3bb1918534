"""The pages of incidents. A GET reads; what customers or people on call are told is a POST."""

from dataclasses import replace

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.registry.call_record import call_record
from agentops.tenancy.access import Reader, staff_page
from sre_agent import queries
from sre_agent.connectors import the_board
from sre_agent.connectors.desk_people import discard_update, publish_update
from sre_agent.connectors.desk_people import post_again as post_update_again
from sre_agent.connectors.pager import acknowledge as acknowledge_page
from sre_agent.forms import PublishForm
from sre_agent.models import Incident, Page, StatusUpdate
from sre_agent.pages.incident import NOTHING_TRIED, Attempt, incident_page
from sre_agent.pages.incidents import incidents_page
from sre_agent.pages.status import status_page
from sre_agent.postmortem import draft
from sre_agent.screens import READERS, TELLERS
from sre_agent.timeline import entries, figures_of

ROLE = "sre"


@require_safe
@never_cache
@staff_page(*READERS)
def incidents(request: HttpRequest, reader: Reader) -> HttpResponse:
    """The incidents, the newest first; search and restriction stand in the address."""
    page = incidents_page(reader.tenant.pk, request.GET.dict(), now=utcnow())
    return render(request, "sre_agent/incidents.html", {"page": page})


@require_safe
@never_cache
@staff_page(*READERS)
def status(request: HttpRequest, reader: Reader) -> HttpResponse:
    """How services are now, and what customers were told last."""
    return render(request, "sre_agent/status.html", {"page": status_page(reader.tenant, utcnow())})


@require_safe
@never_cache
@staff_page(*READERS)
def incident(request: HttpRequest, reader: Reader, ref: str) -> HttpResponse:
    """An incident with its timeline."""
    return incident_answer(request, reader, incident_or_404(reader, ref))


@require_POST
@never_cache
@staff_page(*TELLERS)
def post_mortem(request: HttpRequest, reader: Reader, ref: str) -> HttpResponse:
    """Hand out the draft of the post-mortem, after it is on record who takes it."""
    row = incident_or_404(reader, ref)
    # The file is read elsewhere, so its links lead here from there.
    base_url = settings.SITE_URL.rstrip("/") or request.build_absolute_uri("/").rstrip("/")
    figures = replace(figures_of(row, utcnow()), base_url=base_url)
    text = draft(row, entries(reader.tenant.pk, row), figures)
    facts = {"what": "post-mortem", "incident": row.ref, "characters": len(text)}
    call_record().note_export(reader.tenant.pk, role=ROLE, actor=reader.actor, facts=facts)
    response = HttpResponse(text, content_type="text/markdown; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="post-mortem-{row.ref}.md"'
    return response


@require_POST
@never_cache
@staff_page(*TELLERS)
def publish(request: HttpRequest, reader: Reader, ref: str) -> HttpResponse:
    """Publish a draft in the words that the person wrote."""
    update = _update(reader, ref)
    form = PublishForm(request.POST, update=ref)
    if not form.is_valid():
        return incident_answer(request, reader, update.incident, Attempt(ref, form), status=422)
    try:
        publish_update(
            tenant_id=reader.tenant.pk,
            update_ref=ref,
            text=form.cleaned_data["text"],
            person=reader.actor,
            now=utcnow(),
            board=the_board(),
        )
    except AgentOpsError as error:
        return incident_answer(request, reader, update.incident, Attempt(ref, form, error.in_full), status=409)
    messages.success(request, "Published.")
    return redirect("sre_incident", update.incident.ref)


@require_POST
@never_cache
@staff_page(*TELLERS)
def discard(request: HttpRequest, reader: Reader, ref: str) -> HttpResponse:
    """Throw a draft away."""
    update = _update(reader, ref)
    try:
        discard_update(tenant_id=reader.tenant.pk, update_ref=ref, person=reader.actor, now=utcnow())
    except AgentOpsError as error:
        return incident_answer(request, reader, update.incident, Attempt(ref, error=error.in_full), status=409)
    messages.success(request, "The draft is thrown away.")
    return redirect("sre_incident", update.incident.ref)


@require_POST
@never_cache
@staff_page(*TELLERS)
def post_again(request: HttpRequest, reader: Reader, ref: str) -> HttpResponse:
    """Post a published update whose posting was never confirmed."""
    update = _update(reader, ref)
    try:
        post_update_again(tenant_id=reader.tenant.pk, update_ref=ref, now=utcnow(), board=the_board())
    except AgentOpsError as error:
        return incident_answer(request, reader, update.incident, Attempt(ref, error=error.in_full), status=409)
    messages.success(request, "Posted.")
    return redirect("sre_incident", update.incident.ref)


@require_POST
@never_cache
@staff_page(*TELLERS)
def acknowledge(request: HttpRequest, reader: Reader, ref: str) -> HttpResponse:
    """Say that somebody who was called knows of it."""
    page = Page.objects.filter(tenant=reader.tenant, ref=ref).select_related("incident").first()
    if page is None:
        raise Http404("no such page")
    try:
        acknowledge_page(tenant_id=reader.tenant.pk, page_ref=ref, person=reader.actor, now=utcnow())
    except AgentOpsError as error:
        return incident_answer(request, reader, page.incident, Attempt(ref, error=error.in_full), status=409)
    messages.success(request, "Acknowledged.")
    return redirect("sre_incident", page.incident.ref)


def incident_answer(
    request: HttpRequest, reader: Reader, row: Incident, attempt: Attempt = NOTHING_TRIED, *, status: int = 200
) -> HttpResponse:
    """Answer with an incident's page, and with what stands against what was tried on it."""
    may_tell = bool(reader.roles & TELLERS)
    page = incident_page(row, person=reader.actor, may_tell=may_tell, now=utcnow(), attempt=attempt)
    return render(request, "sre_agent/incident.html", {"page": page}, status=status)


def incident_or_404(reader: Reader, ref: str) -> Incident:
    """Return an incident of the reader's tenant. Raises Http404."""
    row = queries.incident_of(reader.tenant.pk, ref)
    if row is None:
        raise Http404("no such incident")
    return row


def _update(reader: Reader, ref: str) -> StatusUpdate:
    rows = StatusUpdate.objects.filter(tenant=reader.tenant, ref=ref)
    row = rows.select_related("incident").first()
    if row is None:
        raise Http404("no such status update")
    return row
