"""Who is reading: the person, the tenant they work in now, and what they do there.

A page belongs to one tenant. Whatever is not of that tenant answers as if it did not exist.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Concatenate, ParamSpec, cast

from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponseBase

from agentops.tenancy.models import Role, Tenant
from agentops.tenancy.queries import places_of

TENANT_KEY = "tenant"
"""Where the web session keeps the id of the tenant that the person chose."""

STARTERS = frozenset({Role.SUPPORT, Role.ADMIN})
"""Who may give work to agents."""

OPERATORS = frozenset({Role.SUPPORT, Role.ADMIN})
"""Who may pause, take over, answer and end sessions; everybody else of the tenant reads."""

ELEVATORS = frozenset({Role.ADMIN})
"""Who may let a session use an elevated scope."""

PROVERS = frozenset({Role.APPROVER, Role.ADMIN})
"""Who may take evidence of a call out of the house, payloads included."""

P = ParamSpec("P")


@dataclass(frozen=True)
class Reader:
    """A signed-in person in one of their tenants. ``tenants`` are all of theirs, ``roles`` those in ``tenant``."""

    person: User
    tenant: Tenant
    tenants: tuple[Tenant, ...]
    roles: frozenset[Role]

    @property
    def may_start(self) -> bool:
        """Whether the person may start sessions here."""
        return bool(self.roles & STARTERS)

    @property
    def may_operate(self) -> bool:
        """Whether the person may step in while agents work here."""
        return bool(self.roles & OPERATORS)

    @property
    def may_elevate(self) -> bool:
        """Whether the person may give and take back elevated scopes."""
        return bool(self.roles & ELEVATORS)

    @property
    def may_prove(self) -> bool:
        """Whether the person may take evidence of calls out of the house."""
        return bool(self.roles & PROVERS)

    @property
    def actor(self) -> str:
        """The person's name as the ledger writes it."""
        return f"user:{self.person.get_username()}"


class _Known(HttpRequest):
    """A request that remembers its reader, so that one request asks once."""

    agentops_reader: Reader | None


def reader_of(request: HttpRequest) -> Reader | None:
    """Return who is reading, None for somebody who is signed out or belongs to no tenant."""
    known = cast("_Known", request)
    if not hasattr(known, "agentops_reader"):
        known.agentops_reader = _find(request)
    return known.agentops_reader


def _find(request: HttpRequest) -> Reader | None:
    user = getattr(request, "user", None)
    if user is None:
        # The request failed before anybody was looked for; an error page still wants to know.
        return None
    places = places_of(user)
    if not places:
        return None
    tenants = tuple(places)
    chosen = request.session.get(TENANT_KEY)
    tenant = next((tenant for tenant in tenants if str(tenant.pk) == chosen), tenants[0])
    person = cast("User", user)
    return Reader(person, tenant, tenants, places[tenant])


def current_reader(request: HttpRequest) -> Reader:
    """Return who is reading. Raises Http404 for somebody who belongs to no tenant."""
    reader = reader_of(request)
    if reader is None:
        raise Http404("no tenant")
    return reader


View = Callable[Concatenate[HttpRequest, Reader, P], HttpResponseBase]


def staff_page(*roles: Role) -> Callable[[View[P]], Callable[Concatenate[HttpRequest, P], HttpResponseBase]]:
    """Decorate a view that only people of the tenant see: it is called with the reader as second argument.

    Without ``roles`` every member may; otherwise whoever has one of them. Everybody else gets the 404 that a
    page that does not exist gives.
    """

    def decorate(view: View[P]) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
        @wraps(view)
        def guarded(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            reader = current_reader(request)
            if roles and not reader.roles.intersection(roles):
                raise Http404("not for this person")
            return view(request, reader, *args, **kwargs)

        return guarded

    return decorate
