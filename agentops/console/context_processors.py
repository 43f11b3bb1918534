"""The frame around every page of a signed-in person."""

from typing import Any

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from agentops.console.access import Reader, reader_of
from agentops.console.marks import Option
from agentops.console.ports import approval_desk
from agentops.console.presenters import NavItem, Shell, Theme
from agentops.kernel.clock import utcnow

THEME_COOKIE = "theme"
THEMES: tuple[Theme, ...] = ("system", "light", "dark")

_PLACES = (
    ("Home", "home", "home"),
    ("Approvals", "approval_queue", "inbox"),
    ("Sessions", "session_list", "steps"),
    ("Admin", "admin:index", "sliders"),
)


def shell(request: HttpRequest) -> dict[str, Any]:
    """Return ``shell`` for people of a tenant, and nothing for everybody else and for the admin's own pages.

    It is read when a template asks for it, so that fragments do not pay for it.
    """
    if request.path_info.startswith(reverse("admin:index")):
        return {}
    reader = reader_of(request)
    return {} if reader is None else {"shell": SimpleLazyObject(lambda: _shell(request, reader))}


def theme_of(request: HttpRequest) -> Theme:
    """Return the colours that the person chose in this browser."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return next((theme for theme in THEMES if theme == chosen), "system")


def _shell(request: HttpRequest, reader: Reader) -> Shell:
    return Shell(
        person=reader.person.get_full_name() or reader.person.get_username(),
        roles=sorted(role.label for role in reader.roles),
        tenant=reader.tenant.name,
        nav=[_place(request, reader, *place) for place in _PLACES if place[0] != "Admin" or reader.person.is_staff],
        theme=theme_of(request),
        now=utcnow(),
        here=request.get_full_path() if request.method == "GET" else request.path,
        tenants=_choice(reader) if len(reader.tenants) > 1 else (),
    )


def _choice(reader: Reader) -> list[Option]:
    return [Option(str(tenant.pk), tenant.name, tenant == reader.tenant) for tenant in reader.tenants]


def _place(request: HttpRequest, reader: Reader, label: str, name: str, icon: str) -> NavItem:
    url = reverse(name)
    current = request.path == url if name == "home" else request.path.startswith(url)
    waiting = approval_desk().turn_count(reader.person, reader.tenant.pk) if name == "approval_queue" else None
    return NavItem(label=label, url=url, icon=icon, current=current, waiting=waiting)
