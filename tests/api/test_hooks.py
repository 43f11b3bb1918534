"""The door for webhooks: who gets in, what is kept, and what an answer gives away."""

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.http import HttpRequest
from django.test import Client

from agentops.api import deliveries, receiving
from agentops.api.models import WebhookDelivery, WebhookEndpoint, WebhookLatest
from agentops.kernel.clock import utcnow
from agentops.kernel.ids import first_id
from agentops.ledger.models import LedgerEvent
from agentops.registry.roles import get_role
from agentops.registry.webhook import MOST_BYTES
from agentops.runtime.sweep import sweep_once
from agentops.tenancy.models import Tenant
from billing_agent import hooks
from billing_agent.models import Case, Customer
from tests.factories.hooks import FORMER, SECRET, Sender, event, make_endpoint, put_secrets, signature
from tests.factories.support import make_tenant

pytestmark = pytest.mark.django_db

CUSTOMER = {"id": "cus_1", "object": "customer", "currency": "usd", "email": "dana@example.com", "created": 1}


@pytest.fixture
def tenant(monkeypatch: pytest.MonkeyPatch) -> Tenant:
    cache.clear()
    tenant = make_tenant()
    put_secrets(monkeypatch, tenant, stripe_webhook=SECRET, stripe_webhook_old=FORMER)
    return tenant


@pytest.fixture
def sender(tenant: Tenant) -> Sender:
    return Sender(make_endpoint(tenant))


def refusal(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def made(**changes: Any) -> dict[str, Any]:
    return {**CUSTOMER, **changes}


def test_an_event_is_kept_and_what_follows_is_done_and_on_record(sender: Sender) -> None:
    told = event("customer.created", made(name="Dana"))
    answer = sender.post(told)
    assert (answer.status_code, answer.json()) == (200, {"received": True})
    kept = WebhookDelivery.objects.get()
    assert (kept.event_id, kept.type, kept.state, kept.attempts, kept.error) == (
        told["id"],
        "customer.created",
        "taken",
        1,
        "",
    )
    assert json.loads(bytes(kept.body)) == told
    assert Customer.objects.values_list("ref", "name", "email", "currency").get() == (
        "cus_1",
        "Dana",
        "dana@example.com",
        "USD",
    )
    record = LedgerEvent.objects.get(type="webhook.received")
    assert (record.actor, record.facts["event"], record.facts["digest"]) == ("webhook:stripe", told["id"], kept.digest)


def test_an_event_that_comes_again_does_nothing_more(sender: Sender) -> None:
    told = event("customer.created", made())
    assert [sender.post(told).status_code for _ in range(3)] == [200, 200, 200]
    # Stripe counts down how many endpoints still wait, so the body of a repetition may differ.
    assert sender.post({**told, "pending_webhooks": 0}).status_code == 200
    assert WebhookDelivery.objects.get().attempts == 1
    assert LedgerEvent.objects.filter(type="webhook.received").count() == 1


def with_source(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> None:
    role = get_role("billing")
    changed = replace(role, webhooks=tuple(replace(source, **changes) for source in role.webhooks))
    monkeypatch.setattr(receiving, "get_role", lambda _: changed)


def test_the_same_message_counts_anew_when_its_sender_says_so_and_it_came_later(
    sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_source(monkeypatch, again_after=timedelta(minutes=1))
    told = event("customer.created", made())
    assert [sender.post(told).status_code for _ in range(2)] == [200, 200]
    assert WebhookDelivery.objects.get().attempts == 1
    WebhookDelivery.objects.update(received_at=utcnow() - timedelta(minutes=1))
    assert [sender.post(told).status_code for _ in range(2)] == [200, 200]
    assert WebhookDelivery.objects.get().attempts == 2
    assert LedgerEvent.objects.filter(type="webhook.received").count() == 2


def test_a_source_says_how_large_its_messages_are(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    with_source(monkeypatch, most_bytes=1_000)
    assert refusal(sender.post(b"x" * 1_001)) == (413, "TOO_LARGE")
    assert sender.post(event("customer.created", made())).status_code == 200


def test_the_same_event_at_another_endpoint_is_that_ones(sender: Sender) -> None:
    other = Sender(make_endpoint(sender.endpoint.tenant, name="Another"))
    told = event("payout.paid", {"id": "po_1", "object": "payout"})
    assert [sender.post(told).status_code, other.post(told).status_code] == [200, 200]
    assert WebhookDelivery.objects.count() == 2


@pytest.mark.parametrize(
    "header", ["", "t=1", "v1=00", "t=x,v1=00", "t=1,v1=", ",", "t=1,v0=00", "x" * 5_000, "t=9" * 90, "t=1,v1=\xe9"]
)
def test_what_is_not_signed_is_turned_away(sender: Sender, header: str) -> None:
    answer = sender.post(event("customer.created", made()), **{"stripe-signature": header})
    assert refusal(answer) == (401, "UNVERIFIED")
    assert not WebhookDelivery.objects.exists()


def test_a_changed_body_another_secret_and_bytes_that_are_no_text_are_turned_away_alike(sender: Sender) -> None:
    body = json.dumps(event("customer.created", made())).encode()
    answers = [
        sender.post(body + b" ", **{"stripe-signature": signature(body)}),
        sender.post(body, secret="whsec_of_somebody_else"),
        sender.post(b"\xff\xfe"),
        sender.post(body, at=utcnow().timestamp() - 301),
        sender.post(body, at=utcnow().timestamp() + 302),
    ]
    assert {(answer.status_code, answer.content) for answer in answers} == {(401, answers[0].content)}
    assert not WebhookDelivery.objects.exists()


@pytest.mark.parametrize("seconds", [-290, 290])
def test_a_clock_may_be_a_little_off(sender: Sender, seconds: int) -> None:
    told = event("customer.created", made())
    assert sender.post(told, at=utcnow().timestamp() + seconds).status_code == 200


def test_while_a_secret_is_changed_both_count_and_then_the_new_one_alone(sender: Sender) -> None:
    told = event("payout.paid", {"id": "po_1", "object": "payout"})
    assert refusal(sender.post(told, secret=FORMER)) == (401, "UNVERIFIED")
    rows = WebhookEndpoint.objects.filter(pk=sender.endpoint.pk)
    rows.update(former_secret="stripe_webhook_old", former_until=utcnow() + timedelta(hours=1))
    assert [sender.post(told, secret=secret).status_code for secret in (FORMER, SECRET)] == [200, 200]
    rows.update(former_until=utcnow() - timedelta(seconds=1))
    assert refusal(sender.post(told, secret=FORMER)) == (401, "UNVERIFIED")


def test_without_a_secret_the_sender_is_asked_to_come_again(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    put_secrets(monkeypatch, sender.endpoint.tenant)
    assert refusal(sender.post(event("customer.created", made()))) == (503, "NOT_NOW")


@pytest.mark.parametrize(
    "fields", [{"is_active": False}, {"live": True}, {"role": "juggler"}, {"source": "pigeon"}, {"public_id": "moved"}]
)
def test_an_endpoint_that_is_not_there_looks_like_one_that_never_was(sender: Sender, fields: dict[str, Any]) -> None:
    WebhookEndpoint.objects.filter(pk=sender.endpoint.pk).update(**fields)
    never = Client().post("/hooks/never-was/", data=b"{}", content_type="application/json")
    answer = sender.post(event("customer.created", made()))
    assert refusal(answer) == (404, "NOT_FOUND")
    assert answer.content == never.content


@pytest.mark.parametrize("method", ["get", "head", "put", "patch", "delete", "options"])
def test_only_post_is_answered(sender: Sender, method: str) -> None:
    answer = getattr(Client(), method)(f"/hooks/{sender.endpoint.public_id}/")
    assert (answer.status_code, answer.headers["Allow"]) == (405, "POST")


def test_another_content_type_is_refused(sender: Sender) -> None:
    answer = sender.post(b"a=b", content_type="application/x-www-form-urlencoded")
    assert refusal(answer) == (400, "BAD_REQUEST")


def test_a_body_that_is_too_large_is_refused_before_it_is_read(sender: Sender, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*args: Any) -> bytes:
        raise AssertionError("it was read")

    monkeypatch.setattr(HttpRequest, "read", read)
    assert refusal(sender.post(b"x" * (MOST_BYTES + 1))) == (413, "TOO_LARGE")
    assert refusal(sender.post(b"x" * MOST_BYTES)) == (503, "NOT_NOW")


def test_when_calls_cannot_be_counted_the_sender_is_asked_to_come_again(
    sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*args: Any) -> int:
        raise ConnectionError("the address of some server")

    monkeypatch.setattr(cache, "incr", down)
    answer = sender.post(event("customer.created", made()))
    assert refusal(answer) == (503, "NOT_NOW")
    assert "server" not in answer.content.decode()


@pytest.mark.parametrize("length", ["", "x", "-1", "١", "9" * 30])
def test_a_body_of_no_known_length_is_refused(sender: Sender, length: str) -> None:
    answer = sender.post(b"{}", **{"content-length": length})
    assert refusal(answer) in ((400, "BAD_REQUEST"), (413, "TOO_LARGE"))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b'{"object": "event", "object": "event"}',
        b"[" * 50_000,
        json.dumps({**event("customer.created", made()), "livemode": "no"}).encode(),
        json.dumps({**event("customer.created", made()), "created": -1}).encode(),
        json.dumps({**event("customer.created", made()), "created": 10**20}).encode(),
        json.dumps({**event("customer.created", made()), "id": "with blank"}).encode(),
        json.dumps({**event("customer.created", made()), "id": "x" * 201}).encode(),
        json.dumps({**event("customer.created", made()), "type": "a\u0000b"}).encode(),
        json.dumps({**event("customer.created", made()), "data": None}).encode(),
        json.dumps({**event("customer.created", made()), "livemode": True}).encode(),
    ],
)
def test_a_signed_body_that_is_no_event_of_this_mode_is_a_bad_request(sender: Sender, body: bytes) -> None:
    assert refusal(sender.post(body)) == (400, "BAD_REQUEST")
    assert not WebhookDelivery.objects.exists()


def test_more_calls_in_a_minute_than_allowed_are_put_off(sender: Sender) -> None:
    WebhookEndpoint.objects.update(per_minute=2)
    other = Sender(make_endpoint(sender.endpoint.tenant, name="Another"))
    told = event("payout.paid", {"id": "po_1", "object": "payout"})
    answers = [sender.post(told) for _ in range(6)]
    # The minute may have turned once in between.
    assert [answer.status_code for answer in answers[:2]] == [200, 200]
    late = [answer for answer in answers if answer.status_code != 200]
    assert {refusal(answer) for answer in late} == {(429, "TOO_MANY")}
    assert {answer.headers["Retry-After"] for answer in late} == {"60"}
    assert other.post(told).status_code == 200


def broken(*args: Any) -> Any:
    Case.objects.create(
        tenant_id=args[0], ref="C-half", source="webhook", source_key="half", sender="", received_at=utcnow()
    )
    raise ZeroDivisionError("secret words of some library")


def test_what_cannot_be_taken_now_leaves_nothing_half_done_and_is_seen_and_taken_later(
    sender: Sender, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = event("customer.created", made())
    with monkeypatch.context() as patch:
        patch.setitem(hooks.HANDLERS, "customer.created", broken)
        assert refusal(sender.post(told)) == (503, "NOT_NOW")
        assert refusal(sender.post(told)) == (503, "NOT_NOW")
    kept = WebhookDelivery.objects.get()
    assert (kept.state, kept.attempts, kept.error) == ("failed", 2, "ZeroDivisionError, see the log.")
    assert not Case.objects.exists()
    assert not WebhookLatest.objects.exists()
    assert sender.post(told).status_code == 200
    kept.refresh_from_db()
    assert (kept.state, kept.attempts, kept.error) == ("taken", 3, "")
    assert Customer.objects.get().ref == "cus_1"


def test_an_older_event_does_not_undo_a_newer_one(sender: Sender) -> None:
    now = utcnow()
    new = sender.tell("customer.updated", made(name="New"), at=now)
    old = sender.tell("customer.updated", made(name="Old"), at=now - timedelta(seconds=5))
    same = sender.tell("customer.updated", made(name="Same second"), at=now)
    assert [new.state, old.state, same.state] == ["taken", "ignored", "taken"]
    assert old.words == "Something newer about it is known."
    assert Customer.objects.get().name == "Same second"
    sender.tell("customer.updated", made(id="cus_2", name="Another"), at=now - timedelta(days=1))
    assert Customer.objects.get(ref="cus_2").name == "Another"


def test_the_sweep_forgets_deliveries_of_long_ago(sender: Sender) -> None:
    sender.tell("customer.created", made())
    old = utcnow() - deliveries.KEPT_FOR - timedelta(days=1)
    sender.tell("customer.updated", made(name="New"))
    first = WebhookDelivery.objects.order_by("id").first()
    assert first is not None
    WebhookDelivery.objects.filter(pk=first.pk).update(id=first_id(old))
    sweep_once()
    assert list(WebhookDelivery.objects.values_list("type", flat=True)) == ["customer.updated"]
    assert WebhookLatest.objects.count() == 1
