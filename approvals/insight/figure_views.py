"""The pages with figures. They read."""

import csv
from collections.abc import Sequence

from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from agentops.kernel.clock import utcnow
from agentops.tenancy.access import Reader, staff_page
from agentops.tenancy.spans import PRESETS, Span, read_span
from approvals.insight.figures import COLUMNS, cells_of, figures_page, too_long
from approvals.insight.metrics import MOST_ROWS, PARTS, Report, report_of
from approvals.insight.people import MOST, people_of
from approvals.insight.rights import managed_queues
from approvals.insight.signals import LEAST, LIMITS
from approvals.models import ApprovalQueue

MOST_EXPORTED = 5_000


@require_safe
@never_cache
@staff_page()
def metrics(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Show what was asked in a time and what came of it, for queues whose figures the reader may read."""
    queues, span = _managed(reader), read_span(request.GET, utcnow())
    part = request.GET.get("by", "")
    part = part if part in PARTS else PARTS[0]
    try:
        report = _report(reader, queues, span)
    except OperationalError as error:
        if not too_long(error):
            raise
        context = {"page": figures_page(None, queues, span, part), "presets": PRESETS}
        return render(request, "approvals/insight/metrics.html", context, status=503)
    context = {"page": figures_page(report, queues, span, part), "presets": PRESETS}
    return render(request, "approvals/insight/metrics.html", context)


@require_safe
@never_cache
@staff_page()
def metrics_export(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """The same figures of all parts as CSV. Names that a spreadsheet would calculate are made text."""
    queues, span = _managed(reader), read_span(request.GET, utcnow())
    try:
        report = _report(reader, queues, span, most=MOST_EXPORTED)
    except OperationalError as error:
        if not too_long(error):
            raise
        return HttpResponse("Counting took too long. Choose a shorter time.", status=503, content_type="text/plain")
    response = HttpResponse(content_type="text/csv; charset=utf-8")
    name = f"approvals-{span.first.isoformat()}-{span.last.isoformat()}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    lines = csv.writer(response)
    lines.writerow(COLUMNS)
    lines.writerow(cells_of("all", report.total))
    for part in PARTS:
        for figures in report.parts[part]:
            lines.writerow(cells_of(part, figures))
    return response


@require_safe
@never_cache
@staff_page()
def signals(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Show signs of approving without looking: one's own to everybody, those of a queue's people to who manages it."""
    queues, span = managed_queues(reader), read_span(request.GET, utcnow())
    people, cut = people_of(reader.tenant.pk, [queue.pk for queue in queues], reader.person, span)
    context = {
        "span": span,
        "presets": PRESETS,
        "people": people,
        "manages": bool(queues),
        "most": MOST if cut else 0,
        "least": LEAST,
        "limits": LIMITS,
    }
    return render(request, "approvals/insight/signals.html", context)


def _managed(reader: Reader) -> list[ApprovalQueue]:
    queues = managed_queues(reader)
    if not queues:
        raise Http404("no figures for this person")
    return queues


def _report(reader: Reader, queues: Sequence[ApprovalQueue], span: Span, most: int = MOST_ROWS) -> Report:
    return report_of(reader.tenant.pk, [queue.pk for queue in queues], span, most=most)
