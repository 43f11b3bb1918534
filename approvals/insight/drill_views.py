"""Drills and what came of them. GET shows; one POST answers a drill."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from agentops.kernel.clock import utcnow
from agentops.tenancy.access import Reader, staff_page
from approvals.insight.calibration import LEAST, Calibration, calibration_of
from approvals.insight.drill_page import drill_page, shown_for_ms
from approvals.insight.drills import answer, answers_of, open_for
from approvals.insight.errors import AlreadySaid
from approvals.insight.forms import DrillForm
from approvals.insight.rights import managed_queues
from approvals.models import Drill, DrillAnswer, Verdict


@require_safe
@never_cache
@staff_page()
def drill_list(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Say what drills are, which are left, and what the reader said to the others."""
    context = {"left": open_for(reader.person, reader.tenant.pk), "given": answers_of(reader.person, reader.tenant.pk)}
    return render(request, "approvals/insight/drills.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@staff_page()
def drill(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Show a drill, and take one answer to it. Whoever has answered sees the lesson."""
    found = Drill.objects.select_related("queue").filter(tenant_id=reader.tenant.pk, pk=pk).first()
    given = DrillAnswer.objects.filter(drill=found, person=reader.person).first() if found else None
    if found is None or (not found.is_active and given is None):
        raise Http404("no such drill")
    now = utcnow()
    if request.method != "POST":
        left = [one for one in open_for(reader.person, reader.tenant.pk) if one.pk != found.pk]
        page = drill_page(found, given, now, next_pk=str(left[0].pk) if left else "")
        return render(request, "approvals/insight/drill.html", {"page": page})
    return _answered_before(request, found, reader) if given else _answer(request, found, reader)


def _answer(request: HttpRequest, found: Drill, reader: Reader) -> HttpResponseBase:
    form, now = DrillForm(request.POST), utcnow()
    if not form.is_valid():
        page = drill_page(found, None, now, errors=form.messages(), typed=request.POST.dict())
        return render(request, "approvals/insight/drill.html", {"page": page}, status=422)
    try:
        answer(
            drill=found,
            person=reader.person,
            verdict=Verdict(form.cleaned_data["verb"]),
            confidence=form.cleaned_data["confidence"],
            now=now,
            dwell_ms=shown_for_ms(found, form.cleaned_data["shown"], now),
        )
    except AlreadySaid:
        return _answered_before(request, found, reader)
    return redirect("approval_drill", pk=found.pk)


def _answered_before(request: HttpRequest, found: Drill, reader: Reader) -> HttpResponseBase:
    given = DrillAnswer.objects.get(drill=found, person=reader.person)
    page = drill_page(found, given, utcnow(), errors={"form": "You have answered this drill."})
    return render(request, "approvals/insight/drill.html", {"page": page}, status=409)


@require_safe
@never_cache
@staff_page()
def calibration(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Show how well the reader's sureness fits; who manages a queue also sees the sum of everybody, if there is one."""
    own = answers_of(reader.person, reader.tenant.pk)
    everybody: Calibration | None = None
    manages = bool(managed_queues(reader))
    if manages:
        every = DrillAnswer.objects.filter(drill__tenant_id=reader.tenant.pk).values_list("confidence", "right")
        everybody = calibration_of(list(every))
    context = {
        "own": calibration_of([(given.confidence, given.right) for given in own]),
        "manages": manages,
        "everybody": everybody if everybody and everybody.enough else None,
        "least": LEAST,
    }
    return render(request, "approvals/insight/calibration.html", context)
