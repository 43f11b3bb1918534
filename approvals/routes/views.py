"""The page on which people say that they are away."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.tenancy.access import Reader, staff_page
from approvals.routes.away import absences_of, colleagues, end_absence, note_absence
from approvals.routes.forms import AbsenceForm

_MOST_DIGITS = 18


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@staff_page()
def away(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Show the reader's absences; a POST adds one."""
    now, others = utcnow(), colleagues(reader.person, reader.tenant.pk)
    form = AbsenceForm(request.POST if request.method == "POST" else None, colleagues=others, now=now)
    if request.method != "POST":
        return _page(request, reader, form)
    if not form.is_valid():
        return _page(request, reader, form, status=422)
    try:
        note_absence(
            tenant_id=reader.tenant.pk,
            person=reader.person,
            begins=form.cleaned_data["begins"],
            ends=form.cleaned_data["ends"],
            stand_in=form.chosen_stand_in,
            now=now,
        )
    except AgentOpsError as error:
        form.add_error(None, error.in_full)
        return _page(request, reader, form, status=409)
    messages.success(request, "Noted. What you have claimed goes back to its queue when your absence begins.")
    return redirect("approval_away")


@require_POST
@never_cache
@staff_page()
def away_end(request: HttpRequest, reader: Reader, pk: int) -> HttpResponseBase:
    """End an absence of the reader, or remove one that has not begun."""
    known = len(str(pk)) <= _MOST_DIGITS
    if not known or not end_absence(absence_id=pk, tenant_id=reader.tenant.pk, person=reader.person, now=utcnow()):
        raise Http404("no such absence")
    messages.success(request, "Done. You can be given requests again.")
    return redirect("approval_away")


def _page(request: HttpRequest, reader: Reader, form: AbsenceForm, *, status: int = 200) -> HttpResponse:
    now = utcnow()
    rows = [(absence, absence.begins <= now) for absence in absences_of(reader.person, reader.tenant.pk, now)]
    said = {"form": form, "absences": rows, "now": now}
    return render(request, "approvals/away.html", said, status=status)
