"""The staff screens. A GET reads; what writes is a POST."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.views import LoginView
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBadRequest, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from agentops.console.context_processors import THEME_COOKIE, THEMES
from agentops.console.evidence import evidence_pack
from agentops.console.forms import SessionForm
from agentops.console.pages import chosen_filter, home_page, session_list_page
from agentops.console.presenters import DemoAccount
from agentops.console.queries import session_or_none
from agentops.console.search import Landing, landing_of, landing_of_call
from agentops.console.session_page import Looked, session_page, step_download, step_page
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.runtime.models import Session
from agentops.tenancy.access import PROVERS, STARTERS, TENANT_KEY, Reader, current_reader, staff_page

THEME_SECONDS = 365 * 24 * 60 * 60
LAST_POSITION = 2**31 - 1


class SignIn(LoginView):
    """The sign-in page; in a demo it shows the demo's accounts."""

    redirect_authenticated_user = True

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        """Return the context with ``demo_accounts``."""
        accounts = [
            DemoAccount(name=account["name"], password=account["password"], does=account["does"])
            for account in settings.DEMO_ACCOUNTS
        ]
        return super().get_context_data(demo_accounts=accounts, **kwargs)


def _back(request: HttpRequest) -> HttpResponseRedirect:
    """Return to the page that a form was on, if that is one of this site."""
    url = request.POST.get("next", "")
    secure = request.is_secure()
    safe = url.startswith("/") and url_has_allowed_host_and_scheme(url, allowed_hosts=None, require_https=secure)
    return HttpResponseRedirect(url if safe else reverse("home"))


@require_POST
def set_theme(request: HttpRequest) -> HttpResponse:
    """Remember the colours in this browser."""
    theme = request.POST.get("theme", "")
    if theme not in THEMES:
        return HttpResponseBadRequest("There is no such theme.", content_type="text/plain")
    response = _back(request)
    response.set_cookie(
        THEME_COOKIE, theme, max_age=THEME_SECONDS, httponly=True, samesite="Lax", secure=settings.SESSION_COOKIE_SECURE
    )
    return response


@require_POST
def set_tenant(request: HttpRequest) -> HttpResponse:
    """Work in another of the person's tenants from now on."""
    chosen = request.POST.get("tenant", "")
    if chosen not in [str(tenant.pk) for tenant in current_reader(request).tenants]:
        raise Http404("no such tenant")
    request.session[TENANT_KEY] = chosen
    return redirect("home")


@require_safe
@never_cache
@staff_page()
def home(request: HttpRequest, reader: Reader) -> HttpResponse:
    """What waits, what runs, what failed, how today went."""
    return render(request, "console/home.html", {"page": home_page(reader, now=utcnow())})


@require_safe
@never_cache
@staff_page()
def session_list(request: HttpRequest, reader: Reader) -> HttpResponse:
    """The list, or what a pasted id leads to."""
    text = chosen_filter(request.GET.dict(), reader).text
    landing = landing_of(reader.tenant.pk, text) if text else None
    if landing is not None:
        return HttpResponseRedirect(_url_of(landing))
    page = session_list_page(reader, request.GET.dict(), now=utcnow())
    return render(request, "console/session_list.html", {"page": page})


@require_safe
@never_cache
@staff_page()
def call(request: HttpRequest, reader: Reader, key: str) -> HttpResponse:
    """Lead to the step of the call with this idempotency key, for whoever knows of a call no more than that."""
    landing = landing_of_call(reader.tenant.pk, key)
    if landing is None:
        raise Http404("no such call")
    return HttpResponseRedirect(_url_of(landing))


def _url_of(landing: Landing) -> str:
    url = reverse("session_detail", args=[landing.session_id])
    return url if landing.position is None else f"{url}?at={landing.position}#step-{landing.position}"


def session_of(reader: Reader, session_id: UUID) -> Session:
    """Return the session. Raises Http404 when the reader's tenant has none of that id."""
    session = session_or_none(reader.tenant.pk, session_id)
    if session is None:
        raise Http404("no such session")
    return session


def position_in(request: HttpRequest) -> int:
    """Return the position that ``?at=`` names; what is no number is the beginning."""
    at = request.GET.get("at", "")
    return min(int(at), LAST_POSITION) if at.isascii() and at.isdigit() and len(at) < 12 else 0


@require_safe
@never_cache
@staff_page()
def session_detail(request: HttpRequest, reader: Reader, session_id: UUID) -> HttpResponse:
    """A session's story and timeline, from ``?at=`` on. ``?tool=`` is what a person chose for their next step."""
    looked = Looked(reader, at=position_in(request), tool=request.GET.get("tool", ""))
    page, panel = session_page(session_of(reader, session_id), looked, now=utcnow())
    return render(request, "console/session.html", {"page": page, "panel": panel})


@require_safe
@never_cache
@staff_page()
def step_payload(request: HttpRequest, reader: Reader, session_id: UUID, position: int) -> HttpResponse:
    """Input and output of a step: a fragment for the timeline, a page of its own, or with ``?download=1`` a file."""
    session = session_of(reader, session_id)
    if position > LAST_POSITION:
        raise Http404("no such step")
    if request.GET.get("download") == "1":
        return _download(session, position)
    page = step_page(session, position)
    if page is None:
        raise Http404("no such step")
    template = "console/step.html#payload" if request.headers.get("HX-Request") == "true" else "console/step.html"
    response = render(request, template, {"page": page})
    response.headers["Vary"] = "HX-Request, Cookie"
    return response


def _download(session: Session, position: int) -> HttpResponse:
    content = step_download(session, position)
    if content is None:
        raise Http404("no such step")
    return HttpResponse(
        content,
        content_type="application/json",
        headers={
            "Content-Disposition": f'attachment; filename="session-{session.pk}-step-{position}.json"',
            "X-Content-Type-Options": "nosniff",
        },
    )


@require_POST
@never_cache
@staff_page(*PROVERS)
def step_evidence(request: HttpRequest, reader: Reader, session_id: UUID, position: int) -> HttpResponse:
    """The evidence pack of the call that a step belongs to: a file, and an event that says who took it."""
    session = session_of(reader, session_id)
    if position > LAST_POSITION:
        raise Http404("no such step")
    try:
        pack = evidence_pack(session, position, reader)
    except AgentOpsError as error:
        return HttpResponse(error.in_full, status=409, content_type="text/plain; charset=utf-8")
    if pack is None:
        raise Http404("no such step")
    headers = {"Content-Disposition": f'attachment; filename="{pack.name}"', "X-Content-Type-Options": "nosniff"}
    return HttpResponse(pack.content, content_type="application/zip", headers=headers)


@never_cache
@staff_page(*STARTERS)
def session_new(request: HttpRequest, reader: Reader) -> HttpResponse:
    """Give work to an agent."""
    form = SessionForm(request.POST if request.method == "POST" else None, reader=reader)
    if request.method == "POST" and form.is_valid():
        try:
            return redirect("session_detail", form.save().pk)
        except AgentOpsError as error:
            form.add_error(None, error.in_full)
    return render(request, "console/session_new.html", {"form": form})
