"""Who gets which answer from each address, and that looking changes nothing."""

import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from agentops.kernel.ids import new_id
from approvals.models import ApprovalRequest, Decision
from tests.approvals.conftest import Stage

pytestmark = pytest.mark.django_db

ADDRESSES: dict[str, Callable[[ApprovalRequest], tuple[str, str]]] = {
    "approval_queue": lambda request: ("get", reverse("approval_queue")),
    "approval_news": lambda request: ("get", reverse("approval_news")),
    "approval_next": lambda request: ("post", reverse("approval_next")),
    "approval_bulk": lambda request: ("post", reverse("approval_bulk")),
    "approval_view_save": lambda request: ("post", reverse("approval_view_save")),
    "approval_view_delete": lambda request: ("post", reverse("approval_view_delete", args=[1])),
    "approval_claim": lambda request: ("post", reverse("approval_claim", args=[request.pk])),
    "approval_release": lambda request: ("post", reverse("approval_release", args=[request.pk])),
    "approval_skip": lambda request: ("post", reverse("approval_skip", args=[request.pk])),
    "approval_request": lambda request: ("get", reverse("approval_request", args=[request.pk])),
    "approval_decide": lambda request: ("post", reverse("approval_decide", args=[request.pk])),
}
ANSWERS = {  # Alice may decide, Bob belongs to the tenant, Charlie to another one
    "approval_queue": (200, 200, 200),
    "approval_news": (200, 200, 200),
    "approval_next": (302, 302, 302),
    "approval_bulk": (302, 302, 302),
    "approval_view_save": (302, 302, 302),
    "approval_view_delete": (404, 404, 404),
    "approval_claim": (302, 302, 404),
    "approval_release": (302, 302, 404),
    "approval_skip": (302, 302, 404),
    "approval_request": (200, 200, 404),
    "approval_decide": (302, 403, 404),
}


def test_every_address_has_its_answers() -> None:
    """That no route of the installation is forgotten is seen to in ``tests/architecture/test_permissions.py``."""
    assert set(ADDRESSES) == set(ANSWERS)


def ask(client: Client, name: str, request: ApprovalRequest) -> int:
    method, url = ADDRESSES[name](request)
    data = {"verb": "approve", "digest": request.digest, "checked": "Looked at it."} if method == "post" else {}
    status: int = getattr(client, method)(url, data).status_code
    return status


@pytest.mark.parametrize("name", ANSWERS)
def test_answers(stage: Stage, alice: Client, bob: Client, charlie: Client, name: str) -> None:
    request = stage.ask()
    statuses = [ask(client, name, request) for client in (charlie, bob, alice)][::-1]
    assert tuple(statuses) == ANSWERS[name]
    assert Decision.objects.count() == (1 if name == "approval_decide" else 0)


@pytest.mark.parametrize("name", ANSWERS)
def test_stranger_is_sent_to_the_sign_in_page_and_learns_nothing(stage: Stage, name: str) -> None:
    request = stage.ask()
    method, url = ADDRESSES[name](request)
    response = getattr(Client(), method)(url)
    assert (response.status_code, response["Location"].split("?")[0]) == (302, reverse("login"))
    unknown = getattr(Client(), method)(url.replace(str(request.pk), str(new_id())))
    assert (unknown.status_code, unknown.content) == (response.status_code, response.content)
    assert Decision.objects.count() == 0


@pytest.mark.parametrize("name", ["approval_request", "approval_decide"])
def test_foreign_and_unknown_requests_answer_alike(stage: Stage, charlie: Client, name: str) -> None:
    request = stage.ask()
    method, url = ADDRESSES[name](request)
    foreign = getattr(charlie, method)(url)
    unknown = getattr(charlie, method)(url.replace(str(request.pk), str(new_id())))
    assert foreign.status_code == unknown.status_code == 404
    assert anonymous(foreign.content) == anonymous(unknown.content)
    assert request.code.encode() not in foreign.content


def anonymous(body: bytes) -> bytes:
    """A page without what differs each time: ids in its own address, tokens, the time."""
    body = re.sub(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", b"ID", body)
    body = re.sub(rb'name="csrfmiddlewaretoken" value="\w+"', b"TOKEN", body)
    return re.sub(rb"\d\d:\d\d:\d\d", b"TIME", body)


@pytest.mark.parametrize("name", ["approval_queue", "approval_news", "approval_request"])
@pytest.mark.parametrize("method", ["get", "head"])
def test_looking_writes_nothing(stage: Stage, alice: Client, bob: Client, name: str, method: str) -> None:
    request = stage.ask()
    _, url = ADDRESSES[name](request)
    for client in (alice, bob):
        with CaptureQueriesContext(connection) as captured:
            assert getattr(client, method)(url).status_code == 200
        assert {query["sql"].split()[0].upper() for query in captured} <= {"SELECT", "WITH", "SAVEPOINT", "RELEASE"}
        assert [query["sql"] for query in captured if re.search(r"\b(INSERT|UPDATE|DELETE)\b", query["sql"])] == []


@pytest.mark.parametrize("name", ["approval_queue", "approval_news", "approval_request"])
def test_pages_are_never_kept_by_a_cache(stage: Stage, alice: Client, name: str) -> None:
    _, url = ADDRESSES[name](stage.ask())
    assert "no-store" in alice.get(url)["Cache-Control"]
    assert alice.post(url).status_code == 405
