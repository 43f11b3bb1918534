"""Pages that a role brings for the people of a tenant. Pure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Screens:
    """Pages of a role, mounted under ``/<name of the role>/`` while the role is installed.

    ``title`` and ``icon`` (a symbol of ``static/icons.svg``) are its entry in the navigation, which leads to the URL
    name ``home`` and is shown to whoever is one of ``readers`` (values of ``tenancy.models.Role``). ``urlconf`` is a
    dotted path. Each view says itself who may read it (``agentops.tenancy.access.staff_page``).
    """

    title: str
    icon: str
    home: str
    urlconf: str
    readers: frozenset[str]
