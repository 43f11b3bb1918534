"""What was typed and not sent survives a reload, a login and a conflict, and is never sent by itself."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from guardian.shortcuts import remove_perm

from approvals import shown
from approvals.models import ApprovalRequest, Decision, Draft, Rung
from tests.approvals.conftest import Stage, client_of, page_url
from tests.approvals.request.conftest import body_of, send, state

pytestmark = pytest.mark.django_db


def save(client: Client, request: ApprovalRequest, **fields: str | list[str]) -> int:
    address = reverse("approval_draft", args=[request.pk])
    return client.post(address, {"digest": request.digest, **fields}).status_code


def moment_of(client: Client, request: ApprovalRequest) -> str:
    found: str = client.get(page_url(request)).context["page"].panel.shown
    return found


def test_draft_is_there_after_a_reload_and_in_another_browser(stage: Stage, alice: Client, dave: Client) -> None:
    request = stage.ask()
    assert save(alice, request, verb="reject", reason="policy", why="Not <b>today</b>.", question="Who?") == 204
    for client in (alice, client_of(stage.cast.alice)):
        panel = client.get(page_url(request)).context["page"].panel
        assert (panel.draft.verb, panel.draft.reason, panel.draft.why) == ("reject", "policy", "Not <b>today</b>.")
        assert panel.draft.question == "Who?"
    assert "Not &lt;b&gt;today" in body_of(alice, request)
    assert "Not &lt;b&gt;today" not in body_of(dave, request)
    assert (state(request), Decision.objects.count()) == ("pending", 0)


def test_empty_draft_is_none_and_a_typed_fact_is_never_kept(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    save(alice, request, verb="approve", checked="Seen.", acknowledged="50.00 USD", code="123456")
    assert "acknowledged" not in Draft.objects.get().fields
    assert "50.00 USD" not in str(Draft.objects.get().fields)
    assert save(alice, request) == 204
    assert Draft.objects.count() == 0


def test_draft_goes_with_the_decision_and_does_not_come_back(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    save(alice, request, verb="approve", checked="Seen.")
    send(alice, request, "approve", checked="Seen.")
    assert save(alice, request, verb="approve", checked="A late request of the browser.") == 204
    assert Draft.objects.count() == 0


def test_hostile_drafts_are_bounded(stage: Stage, alice: Client, charlie: Client) -> None:
    request = stage.ask()
    assert save(alice, request, verb="dance", why="x\x00" * 5000, opened=["y" * 999] * 500) == 204
    fields = Draft.objects.get().fields
    assert (fields["verb"], len(fields["why"]), len(fields["opened"])) == ("", 2000, 1)
    assert save(charlie, request, why="mine") == 404
    assert alice.get(reverse("approval_draft", args=[request.pk])).status_code == 405


def test_decision_sent_after_the_login_ran_out_is_kept_and_not_made(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    moment = moment_of(alice, request)
    stranger = Client()
    data = {"verb": "reject", "why": "A long explanation.", "digest": request.digest, "shown": moment}
    response = stranger.post(reverse("approval_decide", args=[request.pk]), data)
    assert response["Location"] == f"/login/?next={page_url(request)}"
    assert (state(request), Decision.objects.count()) == ("pending", 0)
    stranger.post("/login/", {"username": "alice", "password": "alice"})
    panel = stranger.get(page_url(request)).context["page"].panel
    assert (panel.draft.verb, panel.draft.why) == ("reject", "A long explanation.")
    assert save(Client(), request, why="Typed on.", shown=moment) == 204
    assert "Typed on." in body_of(alice, request)


def test_stranger_keeps_nothing_in_anybodys_name(stage: Stage, alice: Client, dave_: User) -> None:
    request, other = stage.ask(), stage.ask(5100)
    now = timezone.now()
    mine = moment_of(alice, request)
    old = shown.seal(request_id=request.pk, person_id=stage.cast.alice.pk, at=now - timedelta(hours=25))
    outsider = shown.seal(request_id=request.pk, person_id=stage.cast.charlie.pk, at=now)
    gone = shown.seal(request_id=request.pk, person_id=dave_.pk, at=now)
    User.objects.filter(pk=dave_.pk).update(is_active=False)
    for moment in ("", "x", mine[:-1], old, outsider, gone):
        assert save(Client(), request, why="forged", shown=moment) == 302
    assert save(Client(), other, why="forged", shown=mine) == 302
    assert Draft.objects.count() == 0


def test_words_go_over_to_the_request_that_replaces_it_and_what_was_opened_does_not(
    stage: Stage, alice: Client, dave: Client
) -> None:
    first = stage.ask()
    save(alice, first, verb="approve", checked="The balance.", opened=["note"])
    send(dave, first, "approve", checked="ok")
    stage.toy.vendor.balances["a-1"] -= 1
    stage.toy.vendor.versions["a-1"] += 1
    stage.work()
    second = ApprovalRequest.objects.get(state="pending")
    draft = alice.get(page_url(second)).context["page"].panel.draft
    assert (draft.checked, draft.verb, draft.opened) == ("The balance.", "", frozenset())


def test_permission_lost_altogether_keeps_the_draft_and_tells_nothing_of_the_request(
    stage: Stage, alice: Client
) -> None:
    request = stage.ask()
    moment = moment_of(alice, request)
    remove_perm("approvals.decide_queue", stage.cast.alice, stage.cast.queue)
    data = {"verb": "reject", "why": "Typed at length.", "digest": request.digest, "shown": moment}
    address = reverse("approval_decide", args=[request.pk])
    response = alice.post(address, data)
    body = response.content.decode()
    assert response.status_code == 403
    assert "Typed at length." in body
    assert "sign in again" in body
    assert "Pay $50.00" not in body
    assert alice.post(address, {**data, "shown": ""}).status_code == 404
    assert Draft.objects.get().fields["why"] == "Typed at length."


def test_what_a_page_saves_after_it_was_sent_is_not_kept(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    before = moment_of(alice, request)
    Rung.objects.create(queue=stage.cast.queue, place=1, kind="person", person=stage.cast.bob, after_percent=50)
    assert send(alice, request, "escalate", note="Look at this.").status_code == 302
    assert save(alice, request, verb="escalate", note="Look at this.", shown=before) == 204
    assert Draft.objects.count() == 0
    assert save(alice, request, note="Another one.", shown=moment_of(alice, request)) == 204
    assert Draft.objects.get().fields["note"] == "Another one."
