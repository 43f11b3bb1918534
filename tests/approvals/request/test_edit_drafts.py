"""What was typed into the form of an edit is kept, belongs to its page, and is never sent by itself."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from guardian.shortcuts import remove_perm

from agentops.gateway.prepare import Refusal
from agentops.kernel.errors import FailureKind
from agentops.runtime import deciding
from approvals.edit_views import EditPage
from approvals.models import ApprovalRequest, Draft, Exclusion
from tests.approvals.conftest import Stage, client_of, page_url
from tests.approvals.request.conftest import body_of, send, state

pytestmark = pytest.mark.django_db


def address(request: ApprovalRequest) -> str:
    return reverse("approval_edit", args=[request.pk])


def opened(client: Client, request: ApprovalRequest) -> EditPage:
    page: EditPage = client.get(address(request)).context["page"]
    return page


def filled(client: Client, request: ApprovalRequest, **fields: str) -> dict[str, str]:
    """Return what the form sends when some of its fields were typed over."""
    page = opened(client, request)
    assert page.form is not None
    held = {name: str(page.form[name].value() or "") for name in page.form.fields}
    return {**held, "digest": page.digest, "shown": page.shown, **fields}


def post(client: Client, request: ApprovalRequest, data: dict[str, str], where: str = "approval_edit") -> HttpResponse:
    return client.post(reverse(where, args=[request.pk]), data)


def save(client: Client, request: ApprovalRequest, data: dict[str, str]) -> int:
    return post(client, request, data, "approval_draft").status_code


def held(client: Client, request: ApprovalRequest) -> dict[str, Any]:
    form = opened(client, request).form
    assert form is not None
    return {name: form[name].value() for name in form.fields}


def typed(page: EditPage) -> dict[str, str]:
    return {one.label: "".join(part.text for part in one.value) for one in page.typed}


TYPED = {"arg-minor": "40o0", "rationale": "Less <b>is</b> owed."}
KEPT = {"arg-account": "a-1", **TYPED}


def replaced(stage: Stage, request: ApprovalRequest, dave: Client) -> ApprovalRequest:
    """Let the record change after it was approved, so that it is asked about anew."""
    send(dave, request, "approve", checked="ok")
    stage.toy.vendor.balances["a-1"] -= 1
    stage.toy.vendor.versions["a-1"] += 1
    stage.work()
    return ApprovalRequest.objects.get(state="pending")


def test_what_was_typed_is_there_after_a_reload_for_its_person_alone(stage: Stage, alice: Client, dave: Client) -> None:
    request = stage.ask()
    assert not opened(alice, request).has_draft
    assert save(alice, request, filled(alice, request, **TYPED)) == 204
    for client in (alice, client_of(stage.cast.alice)):
        assert held(client, request) == KEPT
    body = alice.get(address(request)).content.decode()
    assert "Less &lt;b&gt;is&lt;/b&gt; owed." in body
    assert "The form holds what you typed before." in body
    assert f'hx-post="{reverse("approval_draft", args=[request.pk])}"' in body
    assert held(dave, request) == {"arg-account": "a-1", "arg-minor": 5000, "rationale": None}
    assert state(request) == "pending"


def test_edit_and_decision_keep_a_draft_each(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    panel = alice.get(page_url(request)).context["page"].panel
    save(alice, request, {"verb": "edit", "why": "Too much.", "digest": request.digest, "shown": panel.shown})
    save(alice, request, filled(alice, request, **TYPED))
    assert "Too much." in body_of(alice, request)
    assert held(alice, request) == KEPT
    save(alice, request, {"digest": request.digest, "shown": panel.shown})
    assert list(Draft.objects.values_list("form", flat=True)) == ["edit"]


def test_form_that_lacks_something_comes_back_and_stays_after_a_reload(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    response = post(alice, request, filled(alice, request, **TYPED))
    body = response.content.decode()
    assert (response.status_code, "Not sent yet: see what is marked below." in body) == (422, True)
    assert held(alice, request) == KEPT
    post(alice, request, filled(alice, request, **{"arg-minor": "", "rationale": "Nothing."}))
    assert held(alice, request) == {"arg-account": "a-1", "arg-minor": "", "rationale": "Nothing."}


def test_login_that_ran_out_keeps_it_and_leads_back_to_the_form(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    data = filled(alice, request, **{**TYPED, "arg-minor": "4000"})
    stranger = Client()
    response = post(stranger, request, data)
    assert response["Location"] == f"/login/?next={address(request)}"
    assert stranger.get(address(request))["Location"] == f"/login/?next={address(request)}"
    assert state(request) == "pending"
    stranger.post("/login/", {"username": "alice", "password": "alice"})
    assert held(stranger, request) == {**KEPT, "arg-minor": "4000"}
    assert save(Client(), request, {**data, "rationale": "Typed on."}) == 204
    assert held(alice, request)["rationale"] == "Typed on."
    assert save(Client(), request, {**data, "shown": "forged", "rationale": "Not mine."}) == 302
    assert held(alice, request)["rationale"] == "Typed on."


def test_what_was_sent_is_no_draft_and_does_not_come_back(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    data = filled(alice, request, **{**TYPED, "arg-minor": "4000"})
    save(alice, request, data)
    assert post(alice, request, data)["Location"] == f"{page_url(request)}#outcome"
    assert save(alice, request, data) == 204
    assert Draft.objects.count() == 0


def test_decision_drops_the_edit_and_a_question_does_not(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    save(alice, request, filled(alice, request, **TYPED))
    send(alice, request, "ask", question="Why?")
    stage.work()
    assert held(alice, request) == KEPT
    send(alice, request, "reject", reason="policy")
    assert Draft.objects.count() == 0


def test_draft_can_be_dropped(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    save(alice, request, filled(alice, request, **TYPED))
    assert 'name="start_over"' in alice.get(address(request)).content.decode()
    response = post(alice, request, {**filled(alice, request), "start_over": "1"})
    assert (response.status_code, response["Location"]) == (302, address(request))
    assert held(alice, request)["arg-minor"] == 5000
    assert 'name="start_over"' not in alice.get(address(request)).content.decode()


def test_draft_is_bounded_and_never_cut(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    data = filled(alice, request, **TYPED)
    save(alice, request, data)
    assert save(alice, request, {**data, "arg-account": "x" * 300_000}) == 204
    assert save(alice, request, {**data, **{f"arg-{n}": "x" for n in range(200)}}) == 204
    assert Draft.objects.get().fields == KEPT
    assert save(alice, request, {**data, "arg-unknown": "y\x00z", "other": "x"}) == 204
    assert Draft.objects.get().fields == {**KEPT, "arg-unknown": "yz"}
    assert held(alice, request) == KEPT


def test_changed_record_shows_the_difference_and_keeps_what_was_typed(
    stage: Stage, alice: Client, dave: Client
) -> None:
    first = stage.ask()
    data = filled(alice, first, **{**TYPED, "arg-minor": "4000"})
    second = replaced(stage, first, dave)
    response = post(alice, first, data)
    page = response.context["page"]
    assert (response.status_code, page.form, page.successor_pk) == (409, None, str(second.pk))
    assert typed(page) == {"Minor": "4000", "Why you change it": "Less <b>is</b> owed."}
    body = response.content.decode()
    assert ("Changed since you looked." in body, "already voided" in body) == (True, False)
    assert f'href="{address(second)}"' in body
    assert f'href="{page_url(second)}"' in body
    assert "Version of a-1" in [change.label for change in page.differences]

    page = opened(alice, second)
    assert (page.changed, held(alice, second)) == (True, {**KEPT, "arg-minor": "4000"})
    assert "Version of a-1" in [change.label for change in page.differences]
    assert (state(first), state(second)) == ("voided", "pending")
    save(alice, second, filled(alice, second))
    assert not opened(alice, second).changed
    assert post(alice, second, filled(alice, second)).status_code == 302
    assert Draft.objects.count() == 0


def test_form_of_another_digest_is_not_sent_and_the_next_one_is_about_what_is_shown(
    stage: Stage, alice: Client
) -> None:
    request = stage.ask()
    data = filled(alice, request, **{**TYPED, "arg-minor": "4000"})
    response = post(alice, request, {**data, "digest": "0" * 64})
    page = response.context["page"]
    assert (response.status_code, page.changed, page.digest) == (409, True, request.digest)
    assert page.form["arg-minor"].value() == "4000"
    assert state(request) == "pending"
    assert opened(alice, request).changed
    assert post(alice, request, filled(alice, request)).status_code == 302


@pytest.mark.parametrize("closing", ["decided", "excluded"])
def test_edit_that_may_not_be_made_any_more_shows_what_was_typed(
    stage: Stage, alice: Client, dave: Client, closing: str
) -> None:
    request = stage.ask()
    data = filled(alice, request, **{**TYPED, "arg-minor": "4000"})
    if closing == "decided":
        send(dave, request, "reject", reason="policy")
    else:
        Exclusion.objects.create(request=request, person=stage.cast.alice, why=Exclusion.Why.OWNER)
    response = post(alice, request, data)
    assert response.status_code == {"decided": 409, "excluded": 403}[closing]
    unfit = post(alice, request, {**data, "arg-minor": "4000", "rationale": ""})
    assert (unfit.status_code, "marked below" in unfit.content.decode()) == (409, False)
    for page in (response.context["page"], opened(alice, request)):
        assert (page.form, typed(page)["Minor"]) == (None, "4000")


def test_permission_lost_altogether_keeps_it_and_tells_nothing_of_the_request(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    data = filled(alice, request, **TYPED)
    remove_perm("approvals.decide_queue", stage.cast.alice, stage.cast.queue)
    response = post(alice, request, data)
    body = response.content.decode()
    assert response.status_code == 403
    assert "Less &lt;b&gt;is&lt;/b&gt; owed." in body
    assert f"/login/?next={address(request).replace('/', '%2F')}" in body
    assert "Pay $50.00" not in body
    assert Draft.objects.get().fields == KEPT
    assert post(alice, request, {**data, "shown": ""}).status_code == 404


def test_refusal_of_an_argument_stands_at_its_field(
    stage: Stage, alice: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = stage.ask()
    refusal = Refusal(FailureKind.VALIDATION, "The limit is 30.00 USD.", "Ask for less.", "minor.0")
    monkeypatch.setattr(deciding, "checked_arguments", lambda tool, given: refusal)
    response = post(alice, request, filled(alice, request, **{**TYPED, "arg-minor": "4000"}))
    body = response.content.decode()
    field = next(part for part in body.split("<input") if 'name="arg-minor"' in part)
    assert response.status_code == 422
    assert 'aria-invalid="true"' in field.split(">")[0]
    assert 'aria-describedby="edit-arg-minor_error"' in field.split(">")[0]
    assert "The limit is 30.00 USD." in field.split('id="edit-arg-minor_error"')[1].split("</div>")[0]
    assert body.count("The limit is 30.00 USD.") == 1
    assert "Not sent yet: see what is marked below." in body
    assert held(alice, request)["arg-minor"] == "4000"
    refusal = Refusal(FailureKind.VALIDATION, "Not like this.", "Try again.", "nowhere")
    monkeypatch.setattr(deciding, "checked_arguments", lambda tool, given: refusal)
    response = post(alice, request, filled(alice, request))
    assert (response.status_code, "Not like this." in response.context["page"].error) == (409, True)


def test_outsider_keeps_nothing(stage: Stage, alice: Client, charlie: Client, dave_: User) -> None:
    request = stage.ask()
    data = filled(alice, request, **TYPED)
    assert save(charlie, request, data) == 404
    assert post(charlie, request, data).status_code == 404
    assert Draft.objects.count() == 0


def test_what_cannot_be_seen_in_a_field_is_named_above_the_form(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    assert opened(alice, request).concealed == []
    refused = post(alice, request, filled(alice, request, **{"arg-account": "a-1\u202e", "arg-minor": "none"}))
    page: EditPage = refused.context["page"]
    assert [(one.label, one.value[-1].name) for one in page.concealed] == [("Account", "U+202E right-to-left override")]
    told = refused.content.decode().partition('id="concealed"')[2]
    assert "right-to-left override" in told


def test_a_stranger_who_only_looks_is_asked_to_sign_in_and_told_nothing(stage: Stage) -> None:
    request, stranger = stage.ask(), Client()
    answer = stranger.get(address(request))
    assert answer.status_code == 302
    assert answer["Location"].endswith(f"?next={address(request)}")
    assert "run out" not in stranger.get(answer["Location"]).content.decode()
    assert set(stranger.cookies) <= {"csrftoken"}
    assert post(stranger, request, {"rationale": "x"}).status_code == 302
    assert "Your login had run out" in stranger.get(answer["Location"]).content.decode()
