"""Flooding with harmless ones before the bad one: each is read by itself, and the bad one does not drown."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agentops.kernel.ids import new_id
from agentops.runtime.rate_models import RateLimit
from approvals.models import ApprovalQueue, ApprovalRequest, Decision
from approvals.queries import PAGE_SIZE
from tests.approvals.conftest import Stage, decide, page_url, queue_url
from tests.factories.pages import page_of
from tests.factories.requests import rewritten

pytestmark = pytest.mark.django_db

FLOOD = PAGE_SIZE + 4


def flood(stage: Stage, count: int = FLOOD) -> Sequence[ApprovalRequest]:
    """Many requests for little, all due at the same moment, as if as many calls had asked."""
    base = rewritten(stage.ask(2600), expires_at=timezone.now() + timedelta(hours=2))
    found = [base]
    for _ in range(count - 1):
        copy = ApprovalRequest.objects.get(pk=base.pk)
        copy.pk, copy.invocation_id = new_id(), new_id()
        copy.save(force_insert=True)
        found.append(rewritten(copy))
    return found


def bad_one(stage: Stage, due: timedelta) -> ApprovalRequest:
    return rewritten(stage.ask(95_000), expires_at=timezone.now() + due, irreversible=True)


def hrefs(client: Client, **query: str) -> list[str]:
    page = page_of(client, queue_url(bucket="turn", **query))
    return [
        link.attrib["href"]
        for link in page.all("//*[contains(@class, 'q-effect')]//a | //a[contains(@class, 'q-effect')]")
    ]


def test_of_those_due_together_the_gravest_comes_first(stage: Stage, alice: Client) -> None:
    few = flood(stage, 4)
    bad = rewritten(stage.ask(95_000), expires_at=few[0].expires_at, irreversible=True)
    assert str(bad.pk) in hrefs(alice)[0]


def test_amount_and_tier_find_it_under_the_flood(stage: Stage, alice: Client) -> None:
    flood(stage)
    bad = bad_one(stage, timedelta(hours=3))
    assert not any(str(bad.pk) in href for href in hrefs(alice))
    for query in ({"q": "amount:>500"}, {"q": "tier:T3"}, {"tier": "3"}):
        assert [str(bad.pk) in href for href in hrefs(alice, **query)] == [True], query


def test_a_flood_is_counted_and_its_end_can_be_reached(stage: Stage, alice: Client) -> None:
    flood(stage)
    bad = bad_one(stage, timedelta(hours=3))
    page = page_of(alice, queue_url(bucket="turn"))
    assert str(FLOOD + 1) in page.text
    (following,) = {link.attrib["href"] for link in page.all("//a[contains(@href, 'after=')]")}
    assert str(bad.pk) in page_of(alice, following if following.startswith("/") else f"/approvals/{following}").body


def test_money_is_not_approved_in_bulk_whatever_the_queue_allows(stage: Stage, alice: Client) -> None:
    few = [*flood(stage, 3), bad_one(stage, timedelta(hours=3))]
    ApprovalQueue.objects.update(bulk_approve=True)
    shown = [f"{one.pk}:{one.digest}" for one in few]
    posted = {"do": "approve", "id": [str(one.pk) for one in few], "shown_digest": shown}
    assert alice.post(reverse("approval_bulk"), posted).status_code == 200
    alice.post(reverse("approval_bulk"), {**posted, "final": "1"})
    assert Decision.objects.count() == 0
    assert set(ApprovalRequest.objects.values_list("state", flat=True)) == {"pending"}


def test_a_decision_about_a_harmless_one_is_not_good_for_another(stage: Stage, alice: Client) -> None:
    harmless, bad = stage.ask(2600), stage.ask(95_000)
    assert decide(alice, harmless).status_code == 302
    assert decide(alice, bad, digest=harmless.digest).status_code == 409
    assert decide(alice, bad, "", digest=bad.digest).status_code == 422
    assert ApprovalRequest.objects.get(pk=bad.pk).state == "pending"


def test_a_limit_stops_who_calls_too_often(stage: Stage, alice: Client) -> None:
    RateLimit.objects.create(
        tenant=stage.cast.tenant, tool="pay", per="tool", most=1, window_seconds=3600, excess="forbid"
    )
    assert decide(alice, stage.ask()).status_code == 302
    stage.work()
    with pytest.raises(ApprovalRequest.DoesNotExist):
        stage.ask()
    assert len(stage.toy.vendor.calls) == 1


def test_each_page_says_what_else_asks_the_same(stage: Stage, alice: Client) -> None:
    few = flood(stage, 3)
    page = page_of(alice, page_url(few[0]))
    assert "2 more, each decided by itself" in page.section("h-siblings")
    assert "Pay $26.00 from a-1" in page.all("//h1")[0].text_content()
    assert page.can_decide()
