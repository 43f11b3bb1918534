"""How one is told, and where a link in a message leads. A link never decides, signs nobody in and writes nothing."""

from uuid import UUID
from zoneinfo import available_timezones

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_http_methods, require_safe

from agentops.kernel.clock import utcnow
from agentops.tenancy.access import Reader, reader_of, staff_page
from agentops.tenancy.zones import zone_of
from approvals.models import ApprovalRequest, NoticePreference
from approvals.notices.forms import PreferenceForm
from approvals.notices.links import OldLink, read_link
from approvals.notices.operations import save_preference
from approvals.notices.outbox import mail_is_set_up
from approvals.notices.recent import recent_notices, slack_is_set_up


@require_safe
@never_cache
@login_not_required
@sensitive_variables("token")
def link(request: HttpRequest) -> HttpResponseBase:
    """Lead the person whom a link was made for to its request, and everybody else nowhere."""
    answer = _answer(request)
    # The address holds the link: no other page is told it.
    answer.headers["Referrer-Policy"] = "no-referrer"
    return answer


def _answer(request: HttpRequest) -> HttpResponseBase:
    if not request.user.is_authenticated:
        return redirect_to_login(request.get_full_path())
    reader = reader_of(request)
    if reader is not None:
        timezone.activate(zone_of(reader.tenant.timezone))
    try:
        found = read_link(request.GET.get("t", ""), utcnow())
    except OldLink:
        return _page(request, "old", status=410)
    if found.person_id != request.user.pk:
        return _page(request, "other", status=403)
    approval = _meant(reader, found.request_id, found.digest)
    if reader is None or approval is None:
        return _page(request, "old", status=410)
    if approval.tenant_id != reader.tenant.pk:
        return _page(request, "tenant", approval=approval, status=409)
    return redirect("approval_request", pk=approval.pk)


def _meant(reader: Reader | None, request_id: UUID, digest: str) -> ApprovalRequest | None:
    """Return the request in one of the reader's tenants, if it still is what the link was made for."""
    tenants = reader.tenants if reader else ()
    return ApprovalRequest.objects.filter(pk=request_id, tenant__in=tenants, digest=digest).first()


def _page(request: HttpRequest, why: str, *, status: int, approval: ApprovalRequest | None = None) -> HttpResponse:
    return render(request, "approvals/notices/link.html", {"why": why, "approval": approval}, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@never_cache
@staff_page()
def preferences(request: HttpRequest, reader: Reader) -> HttpResponseBase:
    """Show how the reader is told and what they were told last; a POST changes the first."""
    own = _own(reader.person, reader.tenant.timezone)
    form = PreferenceForm(request.POST if request.method == "POST" else None, instance=own)
    if request.method == "POST" and form.is_valid():
        save_preference(form.instance, tenant_id=reader.tenant.pk, changed=form.changed_data)
        messages.success(request, "Saved. It holds for what is told from now on.")
        return redirect("notice_preferences")
    said = {
        "form": form,
        "zones": sorted(available_timezones()),
        "address": reader.person.email,
        "mail_set_up": mail_is_set_up(),
        "slack_set_up": slack_is_set_up(reader.tenant.pk),
        "notices": recent_notices(reader),
    }
    return render(request, "approvals/notices/preferences.html", said, status=422 if form.errors else 200)


def _own(person: User, zone: str) -> NoticePreference:
    """Return the reader's preferences, unsaved ones in the tenant's zone when they have none yet."""
    own = NoticePreference.objects.filter(person=person).first()
    return own or NoticePreference(person=person, timezone=zone)
