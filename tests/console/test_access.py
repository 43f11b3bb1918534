"""Who gets which page of the console, and that reading writes nothing."""

import re
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import URLPattern, reverse

from agentops.console.urls import urlpatterns
from agentops.ledger.models import LedgerEvent
from agentops.runtime.models import Session
from agentops.tenancy.models import Membership, Role
from tests.console.conftest import DONE, LOOK, Stage, pay, signed_in
from tests.factories.people import make_person

NOBODYS = uuid4()
PEOPLE = ("alice", "bob", "root", "charlie", "nobody", "anonymous")
# A call of nobody's is 404; those that are known are tried in tests of roles' pages.
# What a GET answers to: Alice (approver), Bob (support), an admin of the tenant, Charlie (another tenant),
# an account without a tenant, and somebody who is signed out.
READ = {
    "home": (200, 200, 200, 200, 404, 302),
    "session_list": (200, 200, 200, 200, 404, 302),
    "session_new": (404, 200, 200, 404, 404, 302),
    "session_detail": (200, 200, 200, 404, 404, 302),
    "step_payload": (200, 200, 200, 404, 404, 302),
    "step_evidence": (405, 405, 405, 405, 405, 302),
    "call": (404, 404, 404, 404, 404, 302),
    "login": (302, 302, 302, 302, 302, 200),
    "logout": (405, 405, 405, 405, 405, 302),
    "theme": (405, 405, 405, 405, 405, 302),
    "tenant": (405, 405, 405, 405, 405, 302),
    "session_pause": (405, 405, 405, 405, 405, 302),
    "session_resume": (405, 405, 405, 405, 405, 302),
    "session_cancel": (405, 405, 405, 405, 405, 302),
    "session_take_over": (405, 405, 405, 405, 405, 302),
    "session_hand_back": (405, 405, 405, 405, 405, 302),
    "session_priority": (405, 405, 405, 405, 405, 302),
    "session_step": (405, 405, 405, 405, 405, 302),
    "session_finish": (405, 405, 405, 405, 405, 302),
    "session_answer": (405, 405, 405, 405, 405, 302),
    "session_undo": (405, 405, 405, 405, 405, 302),
    "session_elevate": (405, 405, 405, 405, 405, 302),
    "session_revoke": (405, 405, 405, 405, 405, 302),
}
# The same for a POST without fields, of a session that waits for a decision. What a question, a call or an elevation of
# nobody's answers is 404 for everybody; those of the session are tried in the tests of each.
WRITE = {
    "home": (405, 405, 405, 405, 405, 302),
    "session_list": (405, 405, 405, 405, 405, 302),
    "session_new": (404, 200, 200, 404, 404, 302),
    "session_detail": (405, 405, 405, 405, 405, 302),
    "step_payload": (405, 405, 405, 405, 405, 302),
    "step_evidence": (409, 404, 409, 404, 404, 302),
    "call": (405, 405, 405, 405, 405, 302),
    "session_pause": (404, 422, 422, 404, 404, 302),
    "session_resume": (404, 409, 409, 404, 404, 302),
    "session_cancel": (404, 422, 422, 404, 404, 302),
    "session_take_over": (404, 422, 422, 404, 404, 302),
    "session_hand_back": (404, 409, 409, 404, 404, 302),
    "session_priority": (404, 422, 422, 404, 404, 302),
    "session_step": (404, 422, 422, 404, 404, 302),
    "session_finish": (404, 422, 422, 404, 404, 302),
    "session_answer": (404, 404, 404, 404, 404, 302),
    "session_undo": (404, 404, 404, 404, 404, 302),
    "session_elevate": (404, 404, 422, 404, 404, 302),
    "session_revoke": (404, 404, 404, 404, 404, 302),
    "login": (302, 302, 302, 302, 302, 200),
    "theme": (400, 400, 400, 400, 400, 302),
    "tenant": (404, 404, 404, 404, 404, 302),
    "logout": (302, 302, 302, 302, 302, 302),
}


@pytest.fixture
def session(stage: Stage) -> Session:
    return stage.work(LOOK, pay(5000), DONE)


def client_of(stage: Stage, name: str) -> Client:
    if name == "anonymous":
        return Client()
    if name == "root":
        return signed_in(make_person("root", stage.cast.tenant, Role.ADMIN))
    if name == "nobody":
        return signed_in(User.objects.create_superuser("nobody", "nobody@example.com", "nobody"))
    return signed_in(getattr(stage.cast, name))


def url_of(route: str, session: Session) -> str:
    nobodys = ("session_answer", "session_undo", "session_revoke", "call")
    args = {"step_payload": [2], "step_evidence": [2], **{name: [NOBODYS] for name in nobodys}}
    of_session = route.startswith("session_") and route not in ("session_list", "session_new")
    pk = [session.pk] if of_session or route.startswith("step_") else []
    return reverse(route, args=[*pk, *args.get(route, [])])


def test_every_route_has_its_row() -> None:
    own = {route.name for route in urlpatterns if isinstance(route, URLPattern)}
    assert own == set(READ) == set(WRITE)


@pytest.mark.parametrize("person", PEOPLE)
def test_matrix(stage: Stage, session: Session, person: str) -> None:
    client, column = client_of(stage, person), PEOPLE.index(person)
    assert {route: client.get(url_of(route, session)).status_code for route in READ} == {
        route: row[column] for route, row in READ.items()
    }
    assert {route: client.post(url_of(route, session)).status_code for route in WRITE} == {
        route: row[column] for route, row in WRITE.items()
    }


def test_foreign_and_unknown_ids_answer_alike(session: Session, charlie: Client) -> None:
    foreign = charlie.get(f"/sessions/{session.pk}/")
    unknown = charlie.get(f"/sessions/{uuid4()}/")
    assert (foreign.status_code, unknown.status_code) == (404, 404)
    assert _told(foreign) == _told(unknown)
    found = charlie.get("/sessions/", {"q": str(session.pk)})
    assert found.status_code == 200
    assert "No session matches." in found.content.decode()


def _told(response: HttpResponse) -> str:
    """The page without what differs from request to request: its own address and the token of its forms."""
    page = response.content.decode().replace(response.wsgi_request.path, "")
    return re.sub(r'name="csrfmiddlewaretoken" value="\w+"', "", page)


def test_outsider_sees_nothing_of_the_tenant(session: Session, charlie: Client) -> None:
    for url in ("/", "/sessions/"):
        page = charlie.get(url).content.decode()
        assert session.title not in page
        assert "South Goods" in page
        assert "North Goods" not in page


def test_unknown_step_is_not_found(session: Session, bob: Client) -> None:
    for position in (session.position, 2**31, 10**30):
        assert bob.get(f"/sessions/{session.pk}/events/{position}/payload/").status_code == 404
        assert bob.get(f"/sessions/{session.pk}/events/{position}/payload/?download=1").status_code == 404


@pytest.mark.parametrize("person", ["alice", "bob"])
def test_get_writes_nothing(stage: Stage, session: Session, person: str) -> None:
    client = client_of(stage, person)
    before = LedgerEvent.objects.count()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        for route in READ:
            if route not in ("login", "session_new"):
                client.get(url_of(route, session))
        client.get("/sessions/new/")
        client.get("/sessions/", {"q": "w-1"})
    words = {query["sql"].split()[0].upper() for query in queries}
    assert words <= {"SELECT", "WITH"}
    assert LedgerEvent.objects.count() == before


def test_withdrawn_membership_closes_every_page(session: Session, stage: Stage, bob: Client) -> None:
    assert bob.get(f"/sessions/{session.pk}/").status_code == 200
    Membership.objects.filter(user=stage.cast.bob).delete()
    assert bob.get(f"/sessions/{session.pk}/").status_code == 404


def test_person_of_two_tenants_works_in_one_at_a_time(session: Session, stage: Stage, bob: Client) -> None:
    Membership.objects.create(tenant=stage.cast.other, user=stage.cast.bob, role=Role.SUPPORT)
    assert bob.get(f"/sessions/{session.pk}/").status_code == 200
    assert "South Goods" in bob.get("/").content.decode()
    assert bob.post("/tenant/", {"tenant": str(stage.cast.other.pk)}).headers["Location"] == "/"
    assert bob.get(f"/sessions/{session.pk}/").status_code == 404
    Membership.objects.filter(user=stage.cast.bob, tenant=stage.cast.other).delete()
    assert bob.get(f"/sessions/{session.pk}/").status_code == 200


def test_nobody_chooses_a_foreign_tenant(stage: Stage, bob: Client) -> None:
    for tenant in (str(stage.cast.other.pk), "nonsense", ""):
        assert bob.post("/tenant/", {"tenant": tenant}).status_code == 404
    assert "North Goods" in bob.get("/").content.decode()


def test_times_are_in_the_tenants_zone(session: Session, stage: Stage, bob: Client) -> None:
    stage.cast.tenant.timezone = "Asia/Tokyo"
    stage.cast.tenant.save()
    assert "Times in JST" in bob.get(f"/sessions/{session.pk}/").content.decode()
    stage.cast.tenant.timezone = "Nowhere/At_All"
    stage.cast.tenant.save()
    assert "Times in UTC" in bob.get(f"/sessions/{session.pk}/").content.decode()
