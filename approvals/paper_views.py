"""Drafts of a request, and the request on paper and as JSON. Only the draft writes."""

from uuid import UUID

from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from agentops.kernel.clock import utcnow
from agentops.tenancy.access import Reader, current_reader, staff_page
from approvals import drafts
from approvals.answering import found_by, page_of
from approvals.pages import request_page
from approvals.printing import export_of

_STATES = {
    "pending": "waiting for a decision",
    "approved": "approved",
    "rejected": "rejected",
    "expired": "expired",
    "voided": "retired",
}


@login_not_required
@require_POST
@never_cache
def draft(request: HttpRequest, pk: UUID) -> HttpResponseBase:
    """Keep what was typed, also of somebody whose login has run out while they typed."""
    with transaction.atomic():
        if not request.user.is_authenticated:
            kept = drafts.keep_of_stranger(pk, request.POST, utcnow())
            return HttpResponse(status=204) if kept else redirect_to_login(page_of(pk, request))
        reader = current_reader(request)
        drafts.keep(found_by(request, reader, pk).approval, reader.person, request.POST, utcnow())
    return HttpResponse(status=204)


@require_safe
@never_cache
@staff_page()
def on_paper(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Show the request as a document: all unfolded, with its chain, and who printed it when."""
    sent = found_by(request, reader, pk)
    page = request_page(reader, sent.approval, sent.view)
    shown = {
        "page": page,
        "unfolded": True,
        "printed_at": sent.view.now,
        "printed_by": reader.person.get_full_name() or reader.person.get_username(),
        "state": _STATES[page.status],
    }
    return render(request, "approvals/print.html", shown)


@require_safe
@never_cache
@staff_page()
def export(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Answer with the request as a JSON file."""
    sent = found_by(request, reader, pk)
    name = f"{sent.approval.code}.json"
    return JsonResponse(
        export_of(reader, sent.approval, sent.view),
        json_dumps_params={"ensure_ascii": False, "indent": 2},
        headers={"Content-Disposition": f'attachment; filename="{name}"'},
    )
