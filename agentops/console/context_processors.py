"""The frame around every page of a signed-in person."""

from typing import Any, cast

from django.http import HttpRequest
from django.urls import reverse
from django.utils.functional import SimpleLazyObject

from agentops.console.marks import Option
from agentops.console.operations.presenters import Standing
from agentops.console.operations.standing import standing_of
from agentops.console.ports import approval_desk
from agentops.console.presenters import NavItem, Shell, Theme
from agentops.kernel.clock import utcnow
from agentops.registry import roles
from agentops.tenancy.access import Reader, reader_of

THEME_COOKIE = "theme"
THEMES: tuple[Theme, ...] = ("system", "light", "dark")

_WORK = (
    ("Home", "home", "home"),
    ("Approvals", "approval_queue", "inbox"),
    ("Sessions", "session_list", "steps"),
)
_SWITCHES = (("Operations", "operations", "power"),)
_ADMIN = (("Admin", "admin:index", "sliders"),)


def shell(request: HttpRequest) -> dict[str, Any]:
    """Return ``shell`` and ``standing`` for people of a tenant; nothing for others and for the admin's own pages.

    They are read when a template asks for them, so that fragments do not pay for them.
    """
    if request.path_info.startswith(reverse("admin:index")):
        return {}
    reader = reader_of(request)
    if reader is None:
        return {}
    return {
        "shell": SimpleLazyObject(lambda: _shell(request, reader)),
        "standing": SimpleLazyObject(lambda: standing_for(request, reader)),
    }


class _Known(HttpRequest):
    """A request that remembers what stands out, so that one request asks once."""

    agentops_standing: Standing


def standing_for(request: HttpRequest, reader: Reader) -> Standing:
    """Return what stands out of the operations of the reader's tenant, as of the first time the request asked."""
    known = cast("_Known", request)
    if not hasattr(known, "agentops_standing"):
        known.agentops_standing = standing_of(reader)
    return known.agentops_standing


def theme_of(request: HttpRequest) -> Theme:
    """Return the colours that the person chose in this browser."""
    chosen = request.COOKIES.get(THEME_COOKIE, "")
    return next((theme for theme in THEMES if theme == chosen), "system")


def _shell(request: HttpRequest, reader: Reader) -> Shell:
    return Shell(
        person=reader.person.get_full_name() or reader.person.get_username(),
        roles=sorted(role.label for role in reader.roles),
        tenant=reader.tenant.name,
        nav=[_place(request, reader, *place) for place in _places(reader)],
        theme=theme_of(request),
        now=utcnow(),
        here=request.get_full_path() if request.method == "GET" else request.path,
        tenants=_choice(reader) if len(reader.tenants) > 1 else (),
    )


def _places(reader: Reader) -> list[tuple[str, str, str]]:
    """Return label, URL name and icon of each place: those of roles stand after the work and before the switches."""
    own = [role.screens for role in roles.all_roles() if role.screens and role.screens.readers & reader.roles]
    brought = [(screens.title, screens.home, screens.icon) for screens in own]
    return [*_WORK, *brought, *_SWITCHES, *(_ADMIN if reader.person.is_staff else ())]


def _choice(reader: Reader) -> list[Option]:
    return [Option(str(tenant.pk), tenant.name, tenant == reader.tenant) for tenant in reader.tenants]


def _place(request: HttpRequest, reader: Reader, label: str, name: str, icon: str) -> NavItem:
    url = reverse(name)
    current = request.path == url if name == "home" else request.path.startswith(url)
    waiting = approval_desk().turn_count(reader.person, reader.tenant.pk) if name == "approval_queue" else None
    count = standing_for(request, reader).to_look_at if name == "operations" else 0
    return NavItem(label=label, url=url, icon=icon, current=current, waiting=waiting, count=count)
