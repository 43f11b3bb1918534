"""Deciding, through the form that people send."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from guardian.shortcuts import assign_perm, remove_perm

from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payload_of
from approvals.models import ApprovalRequest, Decision
from tests.approvals.conftest import Stage, client_of, decide, overdue, page_url
from tests.factories.people import make_approver
from tests.factories.requests import rewritten

pytestmark = pytest.mark.django_db


@pytest.fixture
def dave(stage: Stage) -> Client:
    """A second approver of the same queue."""
    return client_of(make_approver("dave", stage.cast.queue))


def state(request: ApprovalRequest) -> str:
    return ApprovalRequest.objects.values_list("state", flat=True).get(pk=request.pk)


def test_approval_redirects_to_its_receipt_and_the_effect_happens_once(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    response = decide(alice, request, checked="  Balance is enough.  ")
    assert (response.status_code, response["Location"]) == (302, page_url(request) + "#outcome")
    assert stage.work() == 1
    assert stage.toy.vendor.balances["a-1"] == 95_000
    decision = Decision.objects.get()
    assert (decision.person, decision.verdict, decision.checked, decision.reason, decision.digest) == (
        stage.cast.alice,
        "approve",
        "Balance is enough.",
        "",
        request.digest,
    )
    body = alice.get(page_url(request)).content.decode()
    assert "<b>Approved</b> by you" in body
    assert "Balance is enough." in body


def test_nobody_approves_what_they_proposed_themselves(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    ApprovalRequest.objects.update(requester=f"user:{stage.cast.alice.get_username()}")
    response = decide(alice, request)
    assert "You asked for this, so you cannot decide this." in response.content.decode()
    assert (state(request), Decision.objects.count()) == ("pending", 0)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"reason": "policy"}, "Against policy"),
        ({"why": "Not today."}, "Not today."),
        ({"reason": "wrong_target", "why": "Ann is b-1."}, "Wrong target or recipient: Ann is b-1."),
        ({"reason": "other", "why": "It rains."}, "It rains."),
    ],
)
def test_rejection_tells_the_session_why_and_nothing_runs(
    stage: Stage, alice: Client, fields: dict[str, str], reason: str
) -> None:
    request = stage.ask()
    assert decide(alice, request, "reject", **fields).status_code == 302
    stage.work()
    assert stage.toy.vendor.calls == []
    event = LedgerEvent.objects.get(stream=request.session_id, type="approval.rejected")
    assert (event.actor, payload_of(event.stream, event.position)["reason"]) == ("user:alice", reason)
    assert escape(reason) in alice.get(page_url(request)).content.decode()


def test_fields_of_the_other_verb_are_not_recorded(stage: Stage, alice: Client) -> None:
    first, second = stage.ask(), stage.ask(5100)
    decide(alice, first, "approve", reason="policy", why="leftover", checked="seen")
    decide(alice, second, "reject", reason="policy", checked="leftover")
    found = Decision.objects.order_by("at").values_list("reason", "checked")
    assert list(found) == [("", "seen"), ("Against policy", "")]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"verb": ""}, "verb"),
        ({"verb": "delay"}, "verb"),
        ({"verb": "reject"}, "reason"),
        ({"verb": "reject", "reason": "other"}, "why"),
        ({"verb": "reject", "reason": "because"}, "reason"),
        ({"verb": "reject", "why": "x" * 901}, "why"),
        ({"verb": "reject", "why": "   "}, "reason"),
        ({"verb": "reject", "why": "a\x00b"}, "why"),
        ({"verb": "approve", "checked": "x" * 501}, "checked"),
        ({"verb": "approve", "digest": ""}, "form"),
        ({"verb": "approve", "digest": "short"}, "form"),
        ({"verb": "approve", "digest": "G" * 64}, "form"),
    ],
)
def test_incomplete_form_comes_back_with_what_was_typed(
    stage: Stage, alice: Client, fields: dict[str, str], field: str
) -> None:
    request = stage.ask()
    response = decide(alice, request, **{"checked": "my note", **fields})
    panel = response.context["page"].panel
    assert response.status_code == 422
    assert set(panel.errors) == {field}
    assert (panel.draft.why, panel.draft.checked) == (
        fields.get("why", "").replace("\x00", ""),
        fields.get("checked", "my note"),
    )
    assert escape(panel.errors[field]) in response.content.decode()
    assert (state(request), Decision.objects.count()) == ("pending", 0)


def test_long_values_must_be_opened_before_approving_and_not_before_rejecting(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    request = rewritten(request, arguments={"a": "x " * 400, "b": "y " * 400, "c": "z"})
    for opened in ([], ["a"], ["a", "c"], ["a", "b2"]):
        response = decide(alice, request, opened=opened)
        assert response.status_code == 422
        assert response.context["page"].panel.draft.opened == frozenset(opened) & {"a", "b"}
        assert "Read every long value and tick it before you approve." in response.content.decode()
    assert state(request) == "pending"
    assert decide(alice, request, opened=["b", "a"]).status_code == 302
    other = rewritten(stage.ask(5100), arguments={"a": "x " * 400})
    assert decide(alice, other, "reject", reason="policy").status_code == 302


def test_second_person_learns_who_was_faster_and_keeps_the_draft(stage: Stage, alice: Client, dave: Client) -> None:
    request = stage.ask()
    decide(alice, request)
    response = decide(dave, request, "reject", why="I typed a long explanation.")
    shown, body = response.context["page"], response.content.decode()
    assert response.status_code == 409
    assert (shown.conflict, shown.status, shown.decision.by, shown.panel) == (
        "decided_first",
        "approved",
        "alice",
        None,
    )
    assert "alice decided first." in body
    assert "I typed a long explanation." in body
    assert shown.decision.at.strftime("%H:%M:%S") in body
    assert Decision.objects.count() == 1


def test_same_person_again_gets_the_same_receipt(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    decide(alice, request)
    first = Decision.objects.get()
    response = decide(alice, request, checked="Clicked twice.")
    assert (response.status_code, response["Location"]) == (302, page_url(request) + "?again")
    assert "You had decided this already." in alice.get(response["Location"]).content.decode()
    assert Decision.objects.get().checked == first.checked == "Looked at it."
    stage.work()
    assert len(stage.toy.vendor.calls) == 1


def test_nobody_else_is_told_that_they_decided_already(stage: Stage, alice: Client, dave: Client) -> None:
    request = stage.ask()
    decide(alice, request)
    assert "You had decided this already." not in dave.get(page_url(request) + "?again").content.decode()


def test_same_person_cannot_turn_a_decision_round(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    decide(alice, request)
    response = decide(alice, request, "reject", reason="policy")
    assert (response.status_code, response.context["page"].conflict) == (409, "decided_first")
    assert "You decided first." in response.content.decode()
    assert state(request) == "approved"


@pytest.mark.parametrize("fields", [{}, {"verb": ""}])
def test_late_decision_is_told_that_it_expired_and_never_that_it_was_rejected(
    stage: Stage, alice: Client, fields: dict[str, str]
) -> None:
    request = stage.ask()
    overdue(request)
    response = decide(alice, request, checked="I looked.", **fields)
    body = response.content.decode()
    assert (response.status_code, response.context["page"].conflict) == (409, "expired")
    assert "It expired before your decision arrived." in body
    assert "I looked." in body
    assert "ejected" not in body
    assert (Decision.objects.count(), stage.toy.vendor.calls) == (0, [])


def test_decision_about_something_else_than_what_stands_there_is_refused(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    response = decide(alice, request, digest="0" * 64, checked="I looked.", opened=["text"])
    shown = response.context["page"]
    assert (response.status_code, shown.conflict, state(request)) == (409, "changed", "pending")
    assert (shown.panel.draft.verb, shown.panel.draft.opened, shown.panel.draft.checked) == (
        "",
        frozenset(),
        "I looked.",
    )
    assert f'name="digest" value="{request.digest}"' in response.content.decode()


def test_decision_about_the_replaced_request_says_what_changed(stage: Stage, alice: Client) -> None:
    first = stage.ask()
    decide(alice, first)
    stage.toy.vendor.balances["a-1"] -= 1
    stage.toy.vendor.versions["a-1"] += 1
    stage.work()
    second = ApprovalRequest.objects.get(state="pending")
    response = decide(alice, second, digest=first.digest)
    shown = response.context["page"]
    assert (response.status_code, shown.conflict) == (409, "changed")
    assert [change.label for change in shown.differences] == ["Balance, now", "Balance, after", "Version of a-1"]
    voided = decide(alice, first, "reject", reason="policy")
    assert (voided.status_code, voided.context["page"].conflict) == (409, "changed")
    assert stage.toy.vendor.calls == []


def test_permission_lost_meanwhile_keeps_the_draft(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    assign_perm("approvals.see_queue", stage.cast.alice, stage.cast.queue)
    remove_perm("approvals.decide_queue", stage.cast.alice, stage.cast.queue)
    for fields in ({"checked": "I looked."}, {"checked": "I looked.", "verb": ""}):
        response = decide(alice, request, **fields)
        assert (response.status_code, response.context["page"].panel) == (403, None)
        assert "I looked." in response.content.decode()
    assert state(request) == "pending"


def test_decision_needs_its_csrf_token(stage: Stage) -> None:
    request = stage.ask()
    client = client_of(stage.cast.alice, enforce_csrf_checks=True)
    assert decide(client, request).status_code == 403
    assert state(request) == "pending"
    client.get(page_url(request))
    token = client.get(page_url(request)).context["csrf_token"]
    assert decide(client, request, csrfmiddlewaretoken=str(token)).status_code == 302


@pytest.mark.parametrize("method", ["get", "head", "put", "delete", "patch"])
def test_only_post_decides(stage: Stage, alice: Client, method: str) -> None:
    request = stage.ask()
    url = reverse("approval_decide", args=[request.pk]) + f"?verb=approve&digest={request.digest}"
    response = getattr(alice, method)(url)
    assert (response.status_code, response["Allow"], state(request)) == (405, "POST", "pending")


def test_htmx_is_sent_to_the_receipt_as_a_whole_page(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    data: dict[str, Any] = {"verb": "approve", "digest": request.digest, "checked": "Seen."}
    url = reverse("approval_decide", args=[request.pk])
    response = alice.post(url, data, headers={"HX-Request": "true"})
    assert (response.status_code, response["HX-Redirect"]) == (200, page_url(request))
    assert state(request) == "approved"
