"""Who gets what from every route of the installation. A route without a row here fails the run."""

import re
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.operations import start_session
from agentops.tenancy.models import Role, Tenant
from approvals.models import ApprovalRequest
from tests.architecture.routes import Route, all_routes, all_sockets
from tests.factories.books import Shop, open_shop
from tests.factories.people import make_person

pytestmark = pytest.mark.django_db

ADMIN_ENTRY = ("admin:login", "admin:logout")


@dataclass(frozen=True)
class Row:
    """Statuses of one method: for somebody signed out, for Charlie of another tenant, and for ``member``.

    ``member`` is the person of the tenant who lacks what the route asks for; where every member may, it is any.
    """

    method: str
    anonymous: int
    outsider: int
    member: int
    by: str = "bob"


TABLE = {
    "live": Row("get", 200, 200, 200),
    "ready": Row("get", 200, 200, 200),
    "login": Row("get", 200, 302, 302),
    "logout": Row("post", 302, 302, 302),
    "theme": Row("post", 302, 400, 400),
    "tenant": Row("post", 302, 404, 404),
    "home": Row("get", 302, 200, 200),
    "session_list": Row("get", 302, 200, 200),
    "session_new": Row("post", 302, 404, 404, by="alice"),
    "session_detail": Row("get", 302, 404, 200),
    "step_payload": Row("get", 302, 404, 200),
    "approval_queue": Row("get", 302, 200, 200),
    "approval_news": Row("get", 302, 200, 200),
    "approval_request": Row("get", 302, 404, 200),
    "approval_decide": Row("post", 302, 404, 403),
}
SOCKETS = {"ws/approvals/": "tests/approvals/test_socket.py"}


def test_every_route_has_a_row() -> None:
    named = {route.name for route in all_routes() if not route.name.startswith("admin:")}
    assert named == set(TABLE)


def test_every_socket_has_its_tests() -> None:
    assert all_sockets() == set(SOCKETS)


@pytest.fixture
def shop() -> Shop:
    shop = open_shop("north", approver="alice")
    make_person("bob", shop.tenant, Role.SUPPORT)
    make_person("charlie", Tenant.objects.create(slug="south", name="South Goods"), Role.APPROVER)
    return shop


@pytest.fixture
def request_(shop: Shop) -> ApprovalRequest:
    start_session(agent=shop.agent, subject_id="T-1002", actor="user:bob")
    work_until_quiet()
    return ApprovalRequest.objects.get()


def signed_in(name: str) -> Client:
    client = Client()
    assert client.login(username=name, password=name)
    return client


def test_rows_hold(request_: ApprovalRequest) -> None:
    args: dict[str, list[Any]] = {
        "session_detail": [request_.session_id],
        "step_payload": [request_.session_id, request_.position],
        "approval_request": [request_.pk],
        "approval_decide": [request_.pk],
    }
    data = {"verb": "approve", "digest": request_.digest}
    found = {}
    for name, row in TABLE.items():
        url = reverse(name, args=args.get(name, []))
        clients = (Client(), signed_in("charlie"), signed_in(row.by))
        anonymous, outsider, member = (getattr(client, row.method)(url, data).status_code for client in clients)
        found[name] = Row(row.method, anonymous, outsider, member, by=row.by)
    assert found == TABLE
    request_.refresh_from_db()
    assert request_.state == "pending"


def test_admin_is_for_staff_of_the_installation_alone(shop: Shop) -> None:
    routes = [route for route in all_routes() if route.name.startswith("admin:") and route.name not in ADMIN_ENTRY]
    assert len(routes) > 100
    for client in (Client(), signed_in("charlie"), signed_in("bob")):
        let_in = {route for route in routes if not is_sent_to_sign_in(client, route)}
        assert let_in == set()


def is_sent_to_sign_in(client: Client, route: Route) -> bool:
    answer = client.get(route.url)
    return answer.status_code == 302 and bool(re.match(r"/(admin/)?login/\?next=", answer.headers["Location"]))
