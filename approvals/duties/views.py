"""A person's delegations: what they gave and received, giving, ending."""

from datetime import timedelta

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from agentops.kernel.clock import utcnow
from agentops.tenancy.access import Reader, staff_page
from approvals.duties.delegating import CannotDelegate, delegate, revoke
from approvals.duties.forms import DelegationForm
from approvals.duties.pages import duties_page
from approvals.models import Delegation


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@staff_page()
def duties(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Show the person's delegations; a POST gives a new one."""
    now = utcnow()
    if request.method != "POST":
        today = timezone.localtime(now).replace(second=0, microsecond=0)
        form = DelegationForm(reader=reader, initial={"begins": today, "ends": today + timedelta(days=7)})
        return _page(request, reader, form)
    form = DelegationForm(request.POST, reader=reader)
    if form.is_valid():
        try:
            made = delegate(tenant_id=reader.tenant.pk, giver=reader.person, now=now, **form.cleaned_data)
        except CannotDelegate as error:
            form.add_error(error.field, error.message)
        else:
            messages.success(request, f"{made.taker.get_full_name() or made.taker} may decide for you.")
            return redirect("approval_duties")
    return _page(request, reader, form, status=422)


@require_POST
@never_cache
@staff_page()
def revoke_duty(request: HttpRequest, reader: Reader, pk: int) -> HttpResponseBase:
    """End a delegation that the person gave or received."""
    try:
        ended = revoke(tenant_id=reader.tenant.pk, delegation_id=pk, person=reader.person, now=utcnow())
    except Delegation.DoesNotExist as error:
        raise Http404("no such delegation") from error
    messages.success(request, "It is ended." if ended else "It was over already.")
    return redirect("approval_duties")


def _page(request: HttpRequest, reader: Reader, form: DelegationForm, *, status: int = 200) -> HttpResponse:
    page = duties_page(reader, utcnow())
    return render(request, "approvals/duties.html", {"page": page, "form": form}, status=status)
