"""People work on incidents: each act is one POST. What stands against it is shown on the page, with what was typed."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.tenancy.access import Reader, staff_page
from sre_agent.act_forms import Tried, form_of
from sre_agent.connectors.act_rules import Acknowledge, Reopen, Resolve, TakeOver
from sre_agent.connectors.desk_acts import Asked, act_on
from sre_agent.pages.incident import Attempt
from sre_agent.screens import TELLERS
from sre_agent.views import incident_answer, incident_or_404

NOT_COMPLETE, TURNED_DOWN = 422, 409
_DONE = {
    Acknowledge.name: "Acknowledged.",
    TakeOver.name: "The incident is yours.",
    Resolve.name: "Resolved.",
    Reopen.name: "It is open again.",
}


@require_POST
@never_cache
@staff_page(*TELLERS)
def acknowledge(request: HttpRequest, reader: Reader, ref: str) -> HttpResponseBase:
    """Say that somebody knows of an incident."""
    return _act(request, reader, ref, Acknowledge.name)


@require_POST
@never_cache
@staff_page(*TELLERS)
def take_over(request: HttpRequest, reader: Reader, ref: str) -> HttpResponseBase:
    """Work on an incident without an agent."""
    return _act(request, reader, ref, TakeOver.name)


@require_POST
@never_cache
@staff_page(*TELLERS)
def resolve(request: HttpRequest, reader: Reader, ref: str) -> HttpResponseBase:
    """End an incident."""
    return _act(request, reader, ref, Resolve.name)


@require_POST
@never_cache
@staff_page(*TELLERS)
def reopen(request: HttpRequest, reader: Reader, ref: str) -> HttpResponseBase:
    """Open an incident again, or give it back to an agent."""
    return _act(request, reader, ref, Reopen.name)


def _act(request: HttpRequest, reader: Reader, ref: str, name: str) -> HttpResponse:
    row = incident_or_404(reader, ref)
    form = form_of(name, request.POST)
    tried = Tried(name, form)
    if not form.is_valid():
        return incident_answer(request, reader, row, Attempt(tried=tried), status=NOT_COMPLETE)
    seen = int(form.cleaned_data["version"])
    try:
        act_on(Asked(reader.tenant.pk, row.ref, seen, form.act(), reader.actor), now=utcnow())
    except AgentOpsError as error:
        row.refresh_from_db()
        return incident_answer(request, reader, row, Attempt(error=error.in_full, tried=tried), status=TURNED_DOWN)
    messages.success(request, _DONE[name])
    return redirect("sre_incident", row.ref)
