"""Somebody who reads a role's pages, and the words that they read."""

import html
import re
from typing import Any

from django.test import Client

from agentops.tenancy.models import Role, Tenant
from tests.factories.people import make_person


def reader_of(tenant: Tenant, role: Role = Role.SUPPORT, name: str = "bob") -> Client:
    """Return the browser of somebody who belongs to the tenant."""
    make_person(name, tenant, role)
    client = Client()
    assert client.login(username=name, password=name)
    return client


def words_of(page: str) -> str:
    """The page's own text as a reader sees it, with plain blanks."""
    body = page[page.index("<main") : page.index("</main>")]
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", body)).replace("\u00a0", " ").split())


def read(client: Client, url: str, **params: Any) -> str:
    """The words of a page."""
    response = client.get(url, params)
    assert response.status_code == 200, response.status_code
    return words_of(response.content.decode())
