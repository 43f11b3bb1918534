"""Breakers: read by everybody of the tenant, reset by its admins, those of providers by superusers."""

from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from agentops.gateway.breakers import report_failure
from agentops.gateway.models import Breaker
from agentops.kernel.errors import FailureKind
from agentops.ledger.models import LedgerEvent
from tests.console.conftest import Stage
from tests.console.operators import admin_of, queries_of, read, superuser_of, words_of

URL = "/operations/breakers/"


def fail(stage: Stage, times: int, name: str = "tool:pay", *, everybodys: bool = False) -> Breaker:
    for _ in range(times):
        report_failure(
            tenant_id=None if everybodys else stage.cast.tenant.pk,
            name=name,
            kind=FailureKind.UNAVAILABLE,
            words="The <b>vendor</b> is down.",
        )
    return Breaker.objects.get(name=name)


def clock(at: datetime | None) -> str:
    assert at is not None
    return f"{timezone.localtime(at):%H:%M:%S}"


def test_states_are_told_in_words(stage: Stage, alice: Client) -> None:
    assert "Nothing has failed yet." in read(alice, URL)
    breaker = fail(stage, 2)
    assert "pay working, but has failed since" in read(alice, URL)
    breaker = fail(stage, 3)
    words = read(alice, URL)
    assert f"pay off until {clock(breaker.retry_at)} since" in words
    assert "5 UNAVAILABLE The <b>vendor</b> is down." in words
    assert "Breakers 1" in words
    assert "1 breaker is off" in read(alice, "/")
    Breaker.objects.update(retry_at=timezone.now() - timedelta(seconds=1))
    assert "pay off, the next call tries it" in read(alice, URL)
    Breaker.objects.update(state="half_open", retry_at=None)
    assert "pay being tried" in read(alice, URL)


def test_admin_resets_and_it_is_on_record(stage: Stage, alice: Client, bob: Client) -> None:
    breaker = fail(stage, 5)
    reset = f"{URL}{breaker.pk}/reset/"
    dora = admin_of(stage)
    for client in (alice, bob):
        assert reset not in client.get(URL).content.decode()
        assert client.post(reset).status_code == 404
    assert reset in dora.get(URL).content.decode()
    assert dora.get(reset).status_code == 405
    told = dora.post(reset, follow=True)
    assert "pay is called again from now on." in words_of(told.content.decode())
    assert "pay working since" in words_of(told.content.decode())
    assert LedgerEvent.objects.get(type="breaker.reset").actor == "user:dora"
    again = dora.post(reset)
    assert again.status_code == 409
    assert "There is nothing to reset." in words_of(again.content.decode())
    assert dora.post(f"{URL}{uuid4()}/reset/").status_code == 404


def test_providers_breaker_is_everybodys(stage: Stage, alice: Client, charlie: Client) -> None:
    breaker = fail(stage, 5, "provider:anthropic", everybodys=True)
    for client in (alice, charlie):
        assert "anthropic model provider, of every tenant off until" in read(client, URL)
    assert admin_of(stage).post(f"{URL}{breaker.pk}/reset/").status_code == 404
    assert superuser_of(stage).post(f"{URL}{breaker.pk}/reset/").status_code == 302


def test_other_tenants_breaker_does_not_exist(stage: Stage, charlie: Client) -> None:
    breaker = fail(stage, 5)
    assert "Nothing has failed yet." in read(charlie, URL)
    far = superuser_of(stage, "ruth", stage.cast.other)
    assert far.post(f"{URL}{breaker.pk}/reset/").status_code == 404


def test_one_query_count_for_one_and_for_thirty(stage: Stage, bob: Client) -> None:
    fail(stage, 1)
    one = queries_of(bob, URL)
    for n in range(29):
        fail(stage, 1, f"tool:t-{n}")
    assert queries_of(bob, URL) == one


def test_many_are_bounded_with_those_that_are_off_first(
    stage: Stage, bob: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentops.console.operations.queries.MOST_BREAKERS", 2)
    for name in ("tool:a", "tool:b"):
        fail(stage, 1, name)
    fail(stage, 5, "tool:z")
    words = read(bob, URL)
    assert "The first 2 of 3." in words
    assert words.index("z off until") < words.index("a working, but has failed")
