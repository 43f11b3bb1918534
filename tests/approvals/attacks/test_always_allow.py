""" "Always allow" wider than meant: there is no such thing. An approval is good for one call, once."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from agentops.agents.models import Threshold, ToolGrant
from approvals.models import ApprovalRequest, Decision
from tests.approvals.conftest import Stage, decide, page_url
from tests.factories.pages import page_of

pytestmark = pytest.mark.django_db

WIDER: list[dict[str, Any]] = [
    {"remember": "1"},
    {"always": "on", "scope": "tool"},
    {"scope": "session", "apply_to": "all"},
    {"people": "0", "threshold": "99999999"},
    {"pk": "*", "queue": "*", "tool": "*"},
    {"on_behalf_of": "*"},
]


def rules() -> tuple[Any, ...]:
    return (
        list(ToolGrant.objects.order_by("pk").values_list("tool", "dial")),
        list(Threshold.objects.order_by("pk").values_list("fact", "op", "value")),
    )


@pytest.mark.parametrize("extra", WIDER, ids=str)
def test_more_fields_make_an_approval_no_wider(stage: Stage, alice: Client, extra: dict[str, Any]) -> None:
    before, request, other = rules(), stage.ask(), stage.ask(4000)
    decide(alice, request, **extra)
    stage.work()
    assert rules() == before
    assert ApprovalRequest.objects.get(pk=other.pk).state == "pending"
    assert stage.ask().state == "pending"


@pytest.mark.parametrize("verb", ["always", "always_allow", "approve_all", "allow", "remember", "approve,reject"])
def test_there_is_no_such_verb(stage: Stage, alice: Client, verb: str) -> None:
    request = stage.ask()
    assert decide(alice, request, verb).status_code == 422
    assert (ApprovalRequest.objects.get().state, Decision.objects.count()) == ("pending", 0)


def test_the_page_offers_none(stage: Stage, alice: Client) -> None:
    page = page_of(alice, page_url(stage.ask()))
    verbs = {radio.attrib["value"] for radio in page.all("//form[@id='decide']//input[@name='verb']")}
    assert verbs <= {"approve", "reject", "edit", "ask", "escalate", "take_over", ""}
    assert "always" not in page.section("h-decide").lower()


def test_the_same_call_again_asks_again(stage: Stage, alice: Client) -> None:
    first = stage.ask()
    decide(alice, first)
    stage.work()
    second = stage.ask()
    assert (second.arguments, second.state) == (first.arguments, "pending")
    assert decide(alice, second, digest=first.digest).status_code == 409
    assert len(stage.toy.vendor.calls) == 1


def test_an_approver_changes_no_grant_and_no_limit(stage: Stage, alice: Client) -> None:
    grant = ToolGrant.objects.filter(thresholds__isnull=False).first()
    assert grant is not None
    before = rules()
    for model, pk in (("toolgrant", grant.pk), ("agent", stage.agent.pk)):
        url = reverse(f"admin:agentops_{model}_change", args=[pk])
        assert alice.get(url).status_code in (302, 403, 404)
        assert alice.post(url, {"dial": "autonomous", "value": "99999999"}).status_code in (302, 403, 404)
    assert rules() == before


def test_an_approval_of_one_amount_is_none_of_another(stage: Stage, alice: Client) -> None:
    small, large = stage.ask(2600), stage.ask(99_000)
    decide(alice, small)
    stage.work()
    assert ApprovalRequest.objects.get(pk=large.pk).state == "pending"
    assert stage.toy.vendor.balances["a-1"] == 100_000 - 2600
