"""What people do from the queue with one request, and with their views. Each is one POST and leads to a page."""

from collections.abc import Callable
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponseBase, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.tenancy.access import Reader, staff_page
from approvals.access import view_of
from approvals.answering import address_of
from approvals.claims import claim, release, serve_next, skip
from approvals.insight.drills import due_for
from approvals.listing import read_query
from approvals.models import ApprovalRequest, SavedView
from approvals.queries import get_request
from approvals.saved import MOST_QUERY, delete_view, save_view


def queue_address(request: HttpRequest) -> str:
    """Return the address of the list that a form was sent from. Whatever it says, it is one of the queue's own."""
    given = QueryDict(request.POST.get("back", "").replace("\x00", "")[: 2 * MOST_QUERY])
    return reverse("approval_queue") + read_query(given).url()


@require_POST
@never_cache
@staff_page()
def next_request(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Serve the most urgent request of the person: claim it, and go to it."""
    return _serve(request, reader)


@require_POST
@never_cache
@staff_page()
def claim_request(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Put a request on the person's desk."""
    return _do(request, reader, pk, lambda: claim(request_id=pk, person=reader.person, now=utcnow()))


@require_POST
@never_cache
@staff_page()
def release_request(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Take a request off the desk."""
    return _do(request, reader, pk, lambda: release(request_id=pk, person=reader.person, now=utcnow()))


@require_POST
@never_cache
@staff_page()
def skip_request(request: HttpRequest, reader: Reader, pk: UUID) -> HttpResponseBase:
    """Pass over a request with a reason, and serve the next."""
    _require_visible(reader, pk)
    try:
        skip(request_id=pk, person=reader.person, reason=request.POST.get("reason", ""), now=utcnow())
    except AgentOpsError as error:
        messages.error(request, error.in_full)
        return redirect("approval_request", pk)
    messages.success(request, "Skipped. You are not served it again for an hour.")
    return _serve(request, reader)


@require_POST
@never_cache
@staff_page()
def view_save(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Keep the list that the person sees under a name."""
    given = QueryDict(request.POST.get("query", "").replace("\x00", "")[: 2 * MOST_QUERY])
    query = read_query(given)
    if query.notes or not query.search.restricts:
        for note in query.notes or ["A view keeps a search or a filter, and this list has none."]:
            messages.error(request, f"The view was not saved. {note}")
        return redirect(reverse("approval_queue") + query.url())
    name = request.POST.get("name", "")
    try:
        view = save_view(tenant_id=reader.tenant.pk, person=reader.person, name=name, query=query.address)
        messages.success(request, f"This list is kept as “{view.name}”.")
    except AgentOpsError as error:
        messages.error(request, error.in_full)
    return redirect(reverse("approval_queue") + query.url())


@require_POST
@never_cache
@staff_page()
def view_delete(request: HttpRequest, reader: Reader, pk: int) -> HttpResponseBase:
    """Forget a view."""
    try:
        name = delete_view(tenant_id=reader.tenant.pk, person=reader.person, pk=pk)
    except SavedView.DoesNotExist as error:
        raise Http404("no such view") from error
    messages.success(request, f"The view “{name}” was deleted.")
    return redirect(queue_address(request))


def _serve(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    now = utcnow()
    drill = due_for(reader.person, reader.tenant.pk, now)
    if drill is not None:
        return redirect("approval_drill", drill.pk)
    served = serve_next(view=view_of(reader.person, reader.tenant.pk, now), now=now)
    if served is None:
        messages.info(request, "Nothing else waits for you now.")
        return redirect("approval_queue")
    if str(served) == request.POST.get("at"):
        messages.info(request, "This one is still the next: decide it, or skip it with a reason.")
    return redirect("approval_request", served)


def _do(request: HttpRequest, reader: Reader, pk: UUID, act: Callable[[], ApprovalRequest]) -> HttpResponseBase:
    _require_visible(reader, pk)
    try:
        act()
    except AgentOpsError as error:
        messages.error(request, error.in_full)
        return redirect(queue_address(request)) if "back" in request.POST else redirect("approval_request", pk)
    # The focus goes to where it says so: the row, or the line above the request.
    return redirect(f"{queue_address(request)}#open-{pk}" if "back" in request.POST else f"{address_of(pk)}#desk")


def _require_visible(reader: Reader, pk: UUID) -> None:
    if get_request(view_of(reader.person, reader.tenant.pk, utcnow()), pk) is None:
        raise Http404("no such request")
