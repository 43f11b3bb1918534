"""Every verb of the page besides approving and rejecting, as people send it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils.html import escape
from guardian.shortcuts import assign_perm

from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import FinalAnswer
from agentops.runtime.models import Session
from approvals.models import Act, ApprovalRequest, Draft, Rung
from tests.approvals.conftest import Stage, page_url
from tests.approvals.request.conftest import body_of, send, state
from tests.factories.explaining import ExplainingPlanner
from tests.factories.people import make_queue

pytestmark = pytest.mark.django_db


def explaining(stage: Stage, answer: str) -> None:
    """Let the agent answer questions from now on."""
    stage.toy.planner = ExplainingPlanner([FinalAnswer("Done.")], answer)


def test_six_verbs_stand_side_by_side_and_none_is_chosen(stage: Stage, alice: Client) -> None:
    body = body_of(alice, stage.ask())
    for verb in ("approve", "edit", "ask", "reject", "escalate", "take_over"):
        assert body.count(f'name="verb" value="{verb}"') == 1
    assert " checked" not in body.split('<fieldset class="verbs">')[1].split("</fieldset>")[0]


def test_question_goes_to_the_agent_and_its_answer_comes_back_as_a_claim(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    explaining(stage, "Because <b>Ann</b> wrote so.")
    response = send(alice, request, "ask", question="Why this account?")
    assert (response.status_code, response["Location"]) == (302, page_url(request) + "#h-talk")
    waiting = alice.get(page_url(request)).context["page"]
    assert (waiting.waits_for_answer, waiting.exchanges[0].by, waiting.exchanges[0].answer) == (True, "you", ())
    body = body_of(alice, request)
    assert "The agent is answering." in body
    assert 'name="verb"' not in body
    stage.work()
    body = body_of(alice, request)
    assert "Because &lt;b&gt;Ann&lt;/b&gt; wrote so." in body
    assert "Agent’s claim, not verified" in body.split('id="talk"')[1]
    assert state(request) == "pending"
    assert send(alice, request, "approve", checked="Asked.").status_code == 302


def test_question_that_is_empty_comes_back(stage: Stage, alice: Client) -> None:
    response = send(alice, stage.ask(), "ask", question="  ")
    assert response.status_code == 422
    assert "Write the question." in response.content.decode()


def test_escalating_calls_the_next_step_of_the_ladder(stage: Stage, alice: Client, dave_: User) -> None:
    request = stage.ask()
    Rung.objects.create(queue=stage.cast.queue, place=1, kind="person", person=dave_, after_percent=50)
    assert "Calls dave." in body_of(alice, request)
    assert send(alice, request, "escalate", note="Too large for me.").status_code == 302
    request.refresh_from_db()
    act = Act.objects.get(kind="escalated")
    assert (request.rung, request.state, act.words, act.person) == (1, "pending", "Too large for me.", stage.cast.alice)
    top = send(alice, request, "escalate", note="Still.")
    assert top.status_code == 409
    assert "There is" in top.content.decode() or "last step" in top.content.decode()
    assert "Still." in top.content.decode()


def test_taking_over_retires_the_request_and_leads_to_the_session(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    assert send(alice, request, "take_over", because="").status_code == 422
    response = send(alice, request, "take_over", because="I know Ann.")
    assert response["Location"] == reverse("session_detail", args=[request.session_id]) + "#stands"
    assert (state(request), Session.objects.get(pk=request.session_id).taken_by) == ("voided", "user:alice")
    assert "Retired" in body_of(alice, request)


def test_edit_opens_a_form_made_of_the_schema_with_the_arguments_in_it(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    response = send(alice, request, "edit", why="half typed")
    address = reverse("approval_edit", args=[request.pk])
    assert response["Location"] == address
    assert Draft.objects.get().fields["why"] == "half typed"
    body = alice.get(address).content.decode()
    assert 'name="arg-minor" value="5000"' in body
    assert 'name="arg-account" value="a-1"' in body
    assert "another person must decide" in body


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"arg-minor": "many"}, "Write a whole number in digits alone"),
        ({"arg-minor": "0"}, "greater than or equal to 1"),
        ({"arg-minor": ""}, "This field is required."),
        ({"rationale": ""}, "This field is required."),
        ({"arg-minor": "5000"}, "Nothing is changed yet."),
        ({"arg-account": "x" * 21}, "at most 20 characters"),
    ],
)
def test_edit_that_does_not_fit_comes_back_with_what_was_typed(
    stage: Stage, alice: Client, fields: dict[str, str], words: str
) -> None:
    request = stage.ask()
    data = {"digest": request.digest, "arg-account": "a-1", "arg-minor": "4000", "rationale": "Less is owed.", **fields}
    response = alice.post(reverse("approval_edit", args=[request.pk]), data)
    body = response.content.decode()
    assert response.status_code == 422
    assert words in body
    assert escape(data["rationale"]) in body
    assert state(request) == "pending"


def test_edited_request_waits_for_another_person(stage: Stage, alice: Client, dave: Client) -> None:
    request = stage.ask()
    data = {"digest": request.digest, "arg-account": "a-1", "arg-minor": "4000", "rationale": "Less is owed."}
    assert alice.post(reverse("approval_edit", args=[request.pk]), data)["Location"] == f"{page_url(request)}#outcome"
    assert "Edited and proposed anew" in body_of(alice, request)
    stage.toy.planner = ScriptedPlanner([FinalAnswer("Done.")])
    stage.work()
    anew = ApprovalRequest.objects.get(state="pending")
    assert (anew.arguments["minor"], anew.requester) == (4000, "user:alice")
    shown = alice.get(page_url(anew)).context["page"]
    assert shown.panel is None
    assert "cannot decide this" in shown.cannot[0]
    assert alice.post(
        reverse("approval_decide", args=[anew.pk]), {"verb": "approve", "digest": anew.digest}
    ).status_code in (403, 422)
    assert send(dave, anew, "approve", checked="Right sum.").status_code == 302
    stage.work()
    assert stage.toy.vendor.balances["a-1"] == 96_000


def test_edit_of_what_was_decided_meanwhile_says_so(stage: Stage, alice: Client, dave: Client) -> None:
    request = stage.ask()
    send(dave, request, "reject", reason="policy")
    data = {"digest": request.digest, "arg-account": "a-1", "arg-minor": "4000", "rationale": "Less is owed."}
    response = alice.post(reverse("approval_edit", args=[request.pk]), data)
    assert response.status_code == 409
    assert "already rejected" in response.content.decode()


def test_managers_assign_and_nobody_else(stage: Stage, alice: Client, dave: Client, dave_: User) -> None:
    request = stage.ask()
    address = reverse("approval_assign", args=[request.pk])
    assert address not in body_of(alice, request)
    assert alice.post(address, {"to": f"person:{dave_.pk}"}).status_code == 409
    assign_perm("approvals.manage_queue", stage.cast.alice, stage.cast.queue)
    other = make_queue(stage.cast.tenant, "fraud")
    assign_perm("approvals.manage_queue", stage.cast.alice, other)
    body = body_of(alice, request)
    assert f'value="person:{dave_.pk}"' in body
    assert f'value="queue:{other.pk}"' in body
    assert alice.post(address, {"to": f"person:{dave_.pk}", "words": "Yours."}).status_code == 302
    request.refresh_from_db()
    assert request.assigned_to == dave_
    for wrong in ("", "person:x", "person:999999", f"person:{stage.cast.charlie.pk}", "queue:999999"):
        assert alice.post(address, {"to": wrong}).status_code in (409, 422)
    assert alice.post(address, {"to": f"queue:{other.pk}"}).status_code == 302
    request.refresh_from_db()
    assert request.queue == other


def test_whoever_it_lies_with_gives_it_back(stage: Stage, alice: Client, dave: Client, dave_: User) -> None:
    request = stage.ask()
    assert 'value="free"' not in body_of(dave, request)
    ApprovalRequest.objects.filter(pk=request.pk).update(assigned_to=dave_)
    assert 'value="free"' in body_of(dave, request)
    address = reverse("approval_assign", args=[request.pk])
    assert dave.post(address, {"to": f"person:{stage.cast.alice.pk}"}).status_code == 409
    assert dave.post(address, {"to": "free"}).status_code == 302
    request.refresh_from_db()
    assert request.assigned_to is None
    assert alice.post(address, {"to": "free"}).status_code == 409
