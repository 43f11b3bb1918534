"""The decision chain, blind votes, taking back, the page on paper and as JSON."""

import json
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django.fixtures import Settings

from agentops.kernel.canonical import digest
from agentops.ledger.models import LedgerEvent
from agentops.runtime.freezing import freeze
from approvals.models import Act, ActKind, ApprovalRequest, Decision
from approvals.operations import dispatch_due
from tests.approvals.conftest import Stage, page_url
from tests.approvals.request.conftest import body_of, send, state
from tests.factories.requests import rewritten

pytestmark = pytest.mark.django_db


def did(client: Client, request: ApprovalRequest) -> list[tuple[str, str]]:
    return [(link.by, link.did) for link in client.get(page_url(request)).context["page"].chain]


def export(client: Client, request: ApprovalRequest) -> dict[str, object]:
    response = client.get(reverse("approval_export", args=[request.pk]))
    assert response["Content-Disposition"] == f'attachment; filename="{request.code}.json"'
    found: dict[str, object] = json.loads(response.content)
    return found


def test_chain_tells_the_way_from_the_question_to_the_effect(stage: Stage, alice: Client, bob: Client) -> None:
    request = stage.ask()
    assert did(alice, request) == []
    alice.post(reverse("approval_claim", args=[request.pk]))
    send(alice, request, "approve", checked="The balance.")
    stage.work()
    assert did(alice, request) == [
        (request.agent, "asked"),
        ("you", "took it on"),
        ("you", "approved"),
        ("", "sent to the system of record"),
        ("", "carried out"),
    ]
    assert did(bob, request)[2] == ("alice", "approved")


def test_first_vote_is_sealed_until_ones_own(stage: Stage, alice: Client, dave: Client, bob: Client) -> None:
    request = rewritten(stage.ask(), people=2)
    send(alice, request, "approve", checked="A very private finding.")
    for client in (dave, bob):
        others = [reverse(f"approval_{name}", args=[request.pk]) for name in ("print", "export")]
        for address in (page_url(request), reverse("session_detail", args=[request.session_id]), *others):
            body = client.get(address).content.decode()
            assert "private finding" not in body
            assert "alice" not in body
    assert "1 of 2" in body_of(dave, request)
    assert export(dave, request)["sealed"] is True
    assert "private finding" in body_of(alice, request)
    assert "It is carried out after 1 more person has approved it." in body_of(alice, request)
    send(dave, request, "reject", reason="policy")
    assert state(request) == "rejected"
    assert "private finding" in body_of(bob, request)


def test_approval_can_be_taken_back_until_it_is_handed_over(
    stage: Stage, alice: Client, bob: Client, dave: Client, settings: Settings
) -> None:
    settings.APPROVAL_UNDO_SECONDS = 60
    request = stage.ask()
    send(alice, request, "approve", checked="Too fast.")
    undo = reverse("approval_undo", args=[request.pk])
    assert undo in body_of(alice, request)
    assert "It is carried out at" in body_of(bob, request)
    assert undo not in body_of(bob, request)
    assert stage.work() == 0
    dave.post(undo)
    assert state(request) == "approved"
    assert alice.post(undo)["Location"] == page_url(request)
    assert (state(request), Decision.objects.get().taken_back_at is None) == ("pending", False)
    assert "Taken back." in body_of(alice, request)
    assert alice.get(page_url(request)).context["page"].panel is not None
    send(alice, request, "approve", checked="Now for good.")
    dispatch_due(now=timezone.now() + timedelta(seconds=61), limit=10)
    assert "It was not taken back." in alice.get(alice.post(undo)["Location"]).content.decode()
    stage.work()
    assert stage.toy.vendor.balances["a-1"] == 95_000
    assert [words for _, words in did(alice, request)].count("approved") == 2


def test_frozen_work_retires_its_request(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    page = alice.get(page_url(request)).context["page"].panel
    freeze(tenant_id=stage.cast.tenant.pk, agent_id=stage.agent.pk, tool="", actor="user:bob", reason="Look.")
    data = {"verb": "approve", "checked": "Typed before.", "digest": request.digest, "shown": page.shown}
    response = alice.post(reverse("approval_decide", args=[request.pk]), data)
    body = response.content.decode()
    assert (response.status_code, response.context["page"].conflict) == (409, "retired")
    assert "Typed before." in body
    assert "Retired" in body
    assert "Changed since" not in body


def test_unknown_outcome_leads_to_where_it_is_reconciled(stage: Stage, alice: Client) -> None:
    from agentops.runtime.models import Invocation  # noqa: PLC0415

    request = stage.ask()
    send(alice, request, "approve", checked="ok")
    stage.work()
    Invocation.objects.filter(pk=request.invocation_id).update(state="unknown", unknown_since=timezone.now())
    body = body_of(alice, request)
    assert "outcome unknown, reconcile" in body
    assert reverse("unknown_list") in body


def test_paper_has_everything_unfolded_and_says_who_printed_it_when(stage: Stage, alice: Client) -> None:
    request = rewritten(stage.ask(), arguments={"text": "word " * 400, "account": "a-1"})
    send(alice, request, "reject", reason="policy", why="Too long.")
    response = alice.get(reverse("approval_print", args=[request.pk]))
    body = response.content.decode()
    assert '<details class="fold">' not in body.split('id="main"')[1]
    assert request.digest in body
    assert "by alice" in body
    assert "State when printed: rejected" in body
    assert "Decision chain" in body
    assert 'name="verb"' not in body


def test_export_has_what_was_bound_who_decided_and_where_the_ledger_says_so(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    send(alice, request, "approve", checked="The balance.")
    stage.work()
    found = export(alice, request)
    bound = found["digest"]
    assert isinstance(bound, dict)
    assert digest(bound["inputs"]).hex() == bound["sha256"] == request.digest
    assert (found["format"], found["sealed"], found["vendor_transaction"]) == ("approval-request/1", False, "r-1")
    decisions = found["decisions"]
    assert isinstance(decisions, list)
    assert (decisions[0]["person"], decisions[0]["checked"]) == ("alice", "The balance.")
    places = found["ledger"]
    assert isinstance(places, list)
    for place in places:
        event = LedgerEvent.objects.get(stream=place["stream"], position=place["position"])
        assert (event.type, bytes(event.leaf_hash).hex()) == (place["type"], place["leaf_hash"])
    assert {"approval.requested", "approval.approved", "call.succeeded"} <= {place["type"] for place in places}


def test_words_of_others_cannot_pass_for_the_page(stage: Stage, alice: Client, dave_: User) -> None:
    request = stage.ask()
    words = "<script>x</script>\u202eevorppa"
    Act.objects.create(request=request, person=dave_, kind=ActKind.SKIPPED, words=words, at=timezone.now())
    send(alice, request, "reject", why="no")
    body = body_of(alice, request)
    assert "<script>x" not in body
    assert "\u202e" not in body


def test_requests_of_one_session_lead_to_each_other(stage: Stage, alice: Client, dave: Client) -> None:
    first = stage.ask()
    send(dave, first, "approve", checked="ok")
    stage.toy.vendor.balances["a-1"] -= 1
    stage.toy.vendor.versions["a-1"] += 1
    stage.work()
    second = ApprovalRequest.objects.get(state="pending")
    here, there = (alice.get(page_url(one)).context["page"].neighbours for one in (first, second))
    assert (here.earlier, here.later) == ("", str(second.pk))
    assert (there.earlier, there.later) == (str(first.pk), "")
    assert 'data-key="["' in body_of(alice, second)
