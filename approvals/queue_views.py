"""The pages of the queue. GET shows and never writes."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from agentops.kernel.clock import utcnow
from agentops.tenancy.access import Reader, staff_page
from approvals.listing import queue_news, queue_page, read_query


@require_safe
@never_cache
@staff_page()
def queue(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Show a bucket of the queue."""
    query = read_query(request.GET)
    for note in query.notes:
        messages.warning(request, note)
    return render(request, "approvals/queue.html", {"page": queue_page(reader, query, utcnow())})


@require_safe
@never_cache
@staff_page()
def news(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Answer an open queue page with what changed since it was made."""
    found = queue_news(reader, read_query(request.GET), request.GET, utcnow())
    return render(request, "approvals/queue.html#news", {"news": found})
