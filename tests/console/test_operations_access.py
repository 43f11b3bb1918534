"""Who gets which of the operators' pages, and that reading writes nothing."""

from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from agentops.console.operations.urls import urlpatterns
from agentops.gateway.breakers import report_failure
from agentops.kernel.errors import FailureKind
from agentops.ledger.models import LedgerEvent
from agentops.runtime.models import Invocation
from agentops.tenancy.models import Freeze
from tests.console.conftest import Stage, signed_in
from tests.console.operators import admin_of, become_unknown

PEOPLE = ("alice", "bob", "dora", "charlie", "nobody", "anonymous")
# What a GET answers to: Alice (approver), Bob (support), Dora (admin), Charlie (another tenant), an account without a
# tenant, and somebody who is signed out.
# No role of the tests can be reconciled; tests/architecture has the row of an installation whose roles can.
NOWHERE = (404, 404, 404, 404, 404, 302)
OPEN, MINE, NEVER = (200, 200, 200, 200, 404, 302), (200, 200, 200, 404, 404, 302), (405, 405, 405, 405, 405, 302)
READ = {
    "operations": OPEN,
    "freeze_list": OPEN,
    "freeze_new": (404, 200, 200, 404, 404, 302),
    "freeze_detail": MINE,
    "freeze_ask": NEVER,
    "freeze_lift": NEVER,
    "unknown_list": OPEN,
    "unknown_ask": NEVER,
    "unknown_settle": NEVER,
    "breaker_list": OPEN,
    "breaker_reset": NEVER,
    "question_list": OPEN,
    "spend_today": OPEN,
    "blast_radius": OPEN,
    "reconciliation": NOWHERE,
}
# The same for a POST without fields, which nobody's form sends: 422 and 409 are answers to those who may.
WRITE = {
    "operations": NEVER,
    "freeze_list": NEVER,
    "freeze_new": (404, 422, 422, 404, 404, 302),
    "freeze_detail": NEVER,
    "freeze_ask": (404, 422, 422, 404, 404, 302),
    "freeze_lift": (404, 404, 409, 404, 404, 302),
    "unknown_list": NEVER,
    "unknown_ask": (404, 302, 302, 404, 404, 302),
    "unknown_settle": (404, 422, 422, 404, 404, 302),
    "breaker_list": NEVER,
    "breaker_reset": (404, 404, 302, 404, 404, 302),
    "question_list": NEVER,
    "spend_today": NEVER,
    "blast_radius": NEVER,
    "reconciliation": NEVER,
}


@pytest.fixture
def urls(stage: Stage) -> dict[str, str]:
    """Every address, about things of Alice's tenant."""
    call = become_unknown(stage)
    breaker = report_failure(tenant_id=stage.cast.tenant.pk, name="tool:x", kind=FailureKind.TIMEOUT, words="Too slow.")
    freeze = Freeze.objects.create(
        tenant=stage.cast.tenant, tool="look", reason="Why.", frozen_by="user:bob", frozen_at=timezone.now()
    )
    keys = {"freeze": freeze.pk, "unknown": call.pk, "breaker": breaker.id}
    singles = {"freeze_detail", "freeze_ask", "freeze_lift", "unknown_ask", "unknown_settle", "breaker_reset"}
    return {name: reverse(name, args=[keys[name.partition("_")[0]]] if name in singles else []) for name in READ}


def client_of(stage: Stage, name: str) -> Client:
    if name == "anonymous":
        return Client()
    if name == "dora":
        return admin_of(stage)
    if name == "nobody":
        return signed_in(User.objects.create_superuser("nobody", "nobody@example.com", "nobody"))
    return signed_in(getattr(stage.cast, name))


def test_every_route_has_its_row() -> None:
    assert {route.name for route in urlpatterns} == set(READ) == set(WRITE)


@pytest.mark.parametrize("person", PEOPLE)
def test_matrix(stage: Stage, urls: dict[str, str], person: str) -> None:
    client, column = client_of(stage, person), PEOPLE.index(person)
    assert {name: client.get(urls[name]).status_code for name in READ} == {
        name: row[column] for name, row in READ.items()
    }
    assert {name: client.post(urls[name]).status_code for name in WRITE} == {
        name: row[column] for name, row in WRITE.items()
    }


def test_superuser_without_a_role_to_operate_reads_only(stage: Stage, urls: dict[str, str]) -> None:
    User.objects.filter(pk=stage.cast.alice.pk).update(is_superuser=True)
    alice = signed_in(User.objects.get(pk=stage.cast.alice.pk))
    assert alice.get(urls["freeze_new"]).status_code == 404
    assert alice.post(urls["freeze_lift"]).status_code == 404


def test_unknown_ids_answer_like_foreign_ones(stage: Stage, urls: dict[str, str]) -> None:
    dora = admin_of(stage)
    for name in ("freeze_ask", "freeze_lift", "unknown_ask", "unknown_settle", "breaker_reset"):
        assert dora.post(reverse(name, args=[uuid4()])).status_code == 404
    assert dora.get(reverse("freeze_detail", args=[uuid4()])).status_code == 404
    assert Invocation.objects.get(tool="pay").state == "unknown"


@pytest.mark.parametrize("person", ["alice", "dora"])
def test_get_writes_nothing(stage: Stage, urls: dict[str, str], person: str) -> None:
    client = client_of(stage, person)
    before = LedgerEvent.objects.count()
    with CaptureQueriesContext(connection) as queries:
        for url in urls.values():
            client.get(url)
            client.get(url, headers={"HX-Request": "true"})
    assert {query["sql"].split()[0].upper() for query in queries} <= {"SELECT", "WITH"}
    assert LedgerEvent.objects.count() == before
