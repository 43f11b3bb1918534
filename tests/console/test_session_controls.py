"""Stepping in from the session's page: what is offered to whom, what it does, and what stands against it, in place."""

import re
from collections.abc import Iterable

import pytest
from django.test import Client
from django.utils import timezone

from agentops.console.controls import applicable
from agentops.kernel.errors import FailureKind
from agentops.ledger.queries import events_of
from agentops.registry.planner import PlannerUnavailable, ToolCall
from agentops.runtime import control
from agentops.runtime.models import Session
from agentops.runtime.states import SessionStatus
from agentops.tenancy.models import Role
from approvals.models import ApprovalRequest
from tests.console.conftest import DONE, TELL, Stage, pay, signed_in
from tests.console.test_session_page import entry_at, page_of, story_of, words_of
from tests.factories.people import make_person

BOB = "user:bob"
WHY = "The customer called."
MINE = {"status": "paused", "wanted": "", "taken_by": BOB}


def offered(page: str) -> set[str]:
    """The names of the operations whose forms are on the page."""
    return set(re.findall(r'hx-post="/sessions/[0-9a-f-]+/([a-z-]+)/', page))


def post(client: Client, session: Session, what: str, **fields: str) -> int:
    return client.post(f"/sessions/{session.pk}/{what}/", fields).status_code


def types_of(session: Session) -> list[str]:
    return [event.type for event in events_of(session.pk)]


def queued(stage: Stage) -> Session:
    """A session that no worker has taken yet."""
    session = stage.work(PlannerUnavailable(FailureKind.RATE_LIMIT, "slow down"), DONE)
    Session.objects.update(wake_at=timezone.now())
    return session


@pytest.mark.parametrize(
    ("state", "names"),
    [
        ({"status": "queued", "wanted": "", "taken_by": ""}, "pause take_over priority cancel"),
        ({"status": "running", "wanted": "", "taken_by": ""}, "pause take_over priority cancel"),
        ({"status": "running", "wanted": "pause", "taken_by": ""}, "take_over priority cancel"),
        ({"status": "running", "wanted": "take_over", "taken_by": BOB}, "priority cancel"),
        ({"status": "running", "wanted": "cancel", "taken_by": ""}, "priority"),
        ({"status": "waiting_person", "wanted": "", "taken_by": ""}, "pause take_over priority cancel"),
        ({"status": "paused", "wanted": "", "taken_by": ""}, "resume take_over priority cancel"),
        (MINE, "step finish hand_back priority cancel"),
        ({**MINE, "taken_by": "user:root"}, "hand_back priority cancel"),
        ({"status": "finished", "wanted": "", "taken_by": ""}, ""),
        ({"status": "cancelled", "wanted": "", "taken_by": ""}, ""),
    ],
)
def test_only_what_applies_is_offered(state: dict[str, str], names: str) -> None:
    assert applicable(**state, actor=BOB) == tuple(names.split())


def test_operators_step_in_and_approvers_read(stage: Stage, alice: Client, bob: Client) -> None:
    session = stage.work(pay(5000), DONE)
    root = signed_in(make_person("root", stage.cast.tenant, Role.ADMIN))
    names = {"pause", "take-over", "priority", "cancel"}
    assert offered(page_of(bob, session)) == offered(page_of(root, session)) == names
    assert offered(page_of(alice, session)) == set()
    assert post(alice, session, "pause", reason=WHY) == 404
    assert "session.paused" not in types_of(session)


def test_paused_session_says_who_and_why_and_goes_on_when_resumed(stage: Stage, bob: Client) -> None:
    session = stage.work(pay(5000), TELL, DONE)
    response = bob.post(f"/sessions/{session.pk}/pause/", {"reason": WHY})
    assert response.headers["Location"] == f"/sessions/{session.pk}/"
    page = page_of(bob, session)
    assert f"Paused by bob : “ {WHY} ” It goes on when somebody resumes it." in words_of(page)
    assert f"bob paused it: “{WHY}”" in story_of(page)
    assert ApprovalRequest.objects.get().state == "voided"
    assert post(bob, session, "resume") == 302
    assert "bob resumed it" in words_of(page_of(bob, stage.go_on(session)))
    assert session.status == SessionStatus.FINISHED


def test_wish_of_a_running_session_is_shown_until_its_worker_has_done_it(stage: Stage, bob: Client) -> None:
    session = queued(stage)
    Session.objects.filter(pk=session.pk).update(status="running")
    assert post(bob, session, "pause", reason=WHY) == 302
    page = page_of(bob, session)
    assert f"Pausing after the present step, as bob asked : “ {WHY} ”" in words_of(page)
    assert "pausing" in words_of(page)
    assert offered(page) == {"take-over", "priority", "cancel"}
    assert post(bob, session, "take-over", reason=WHY) == 302
    assert "Going over to bob after the present step" in words_of(page_of(bob, session))


def test_cancelling_takes_a_reason_and_a_tick(stage: Stage, bob: Client) -> None:
    session = stage.work(pay(5000), DONE)
    answer = bob.post(f"/sessions/{session.pk}/cancel/", {"reason": WHY})
    assert answer.status_code == 422
    page = answer.content.decode()
    assert "Tick this to say that you mean it. Nothing was cancelled." in words_of(page)
    assert f'value="{WHY}"' in page
    assert '<details class="act" open' in page
    session.refresh_from_db()
    assert session.status == SessionStatus.WAITING_APPROVAL

    assert post(bob, session, "cancel", reason=WHY, sure="on") == 302
    page = page_of(bob, session)
    assert f"Cancelled by bob : “ {WHY} ”" in words_of(page)
    assert f"It was cancelled by bob: “{WHY}”" in story_of(page)
    assert offered(page) == set()
    assert "Cancelled" in words_of(entry_at(page, session.position + 2))


def test_what_the_runtime_turns_down_is_said_in_place(stage: Stage, bob: Client) -> None:
    session = stage.work(TELL, DONE)
    answer = bob.post(f"/sessions/{session.pk}/pause/", {"reason": WHY})
    assert answer.status_code == 409
    words = words_of(answer.content.decode())
    assert "The session is already finished. Load the session again to see where it stands." in words
    assert post(bob, session, "resume") == 409
    assert post(bob, session, "priority", priority="3") == 409
    assert post(bob, session, "priority", priority="9") == 422
    assert types_of(session)[-1] == "session.finished"


def test_answer_to_htmx_is_the_page_at_once(stage: Stage, bob: Client) -> None:
    session = stage.work(pay(5000), DONE)
    answer = bob.post(f"/sessions/{session.pk}/pause/", {"reason": WHY}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert 'id="main"' in answer.content.decode()
    assert "Paused by bob" in answer.content.decode()


def test_forged_form_changes_nothing(stage: Stage) -> None:
    session = stage.work(pay(5000), DONE)
    strict = signed_in(stage.cast.bob, enforce_csrf_checks=True)
    assert post(strict, session, "pause", reason=WHY) == 403
    assert types_of(session)[-1] == "approval.requested"


def test_priority_is_ranked_anew(stage: Stage, bob: Client) -> None:
    session = stage.work(pay(5000), DONE)
    assert post(bob, session, "priority", priority="3") == 302
    page = page_of(bob, session)
    assert "bob changed the priority from normal to urgent" in words_of(page)
    assert "Priority urgent" in words_of(page)


def test_person_hands_back_with_a_note_that_the_planner_reads(stage: Stage, bob: Client) -> None:
    session = stage.work(pay(5000), DONE, TELL, DONE)
    assert post(bob, session, "take-over", reason=WHY) == 302
    page = page_of(bob, session)
    assert "Taken over by you" in words_of(page)
    assert offered(page) == {"hand-back", "priority", "cancel", "finish"}
    assert post(bob, session, "hand-back", note="They only want to be told.") == 302
    page = page_of(bob, stage.go_on(session))
    assert "bob handed it back to the agent: “ They only want to be told. ”" in words_of(page)
    assert session.status == SessionStatus.FINISHED


def test_somebody_else_sees_who_has_it_and_cannot_do_its_steps(stage: Stage, bob: Client) -> None:
    session = stage.work(pay(5000), DONE)
    control.take_over(session_id=session.pk, actor="user:root", reason=WHY)
    page = page_of(bob, session)
    assert "Taken over by root" in words_of(page)
    assert offered(page) == {"hand-back", "priority", "cancel"}
    assert 'id="do"' not in page
    step = {"tool": "note", "arg-text": "Hello", "rationale": WHY}
    assert post(bob, session, "step", **step) == 409
    assert post(bob, session, "finish", message="Done.") == 409


def titles(client: Client, **params: str) -> Iterable[str]:
    return re.findall(r"data-open><bdi>(.*?)</bdi>", client.get("/sessions/", params).content.decode())


def test_list_finds_by_the_new_statuses_and_by_code(stage: Stage, bob: Client) -> None:
    paused, taken, cancelled = (stage.work(pay(5000 + n), DONE) for n in range(3))
    control.pause_session(session_id=paused.pk, actor=BOB, reason=WHY)
    control.take_over(session_id=taken.pk, actor=BOB, reason=WHY)
    control.cancel_session(session_id=cancelled.pk, actor=BOB, reason=WHY)
    stage.work(pay(0), pay(0), pay(0), ToolCall("shout", {}))
    assert titles(bob, status="paused") == ["Work w-2", "Work w-1"]
    assert titles(bob, status="mine") == ["Work w-2"]
    assert (
        titles(bob, status="cancelled") == titles(bob, stop="CANCELLED") == titles(bob, q="cancelled") == ["Work w-3"]
    )
    assert titles(bob, q="LOOP_REFUSED") == ["Work w-4"]
    page = bob.get("/sessions/").content.decode()
    assert "taken over by bob" in page
    assert "A person cancelled the session." in page
    root = signed_in(make_person("root", stage.cast.tenant, Role.ADMIN))
    assert titles(root, status="mine") == []
