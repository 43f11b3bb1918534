"""Taking a call back from the timeline, and elevated scopes: both under the same rules as everything else."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from agentops.agents.models import Elevation
from agentops.console.codes import session_code
from agentops.registry import roles
from agentops.runtime import control
from agentops.runtime.models import Invocation, Session
from agentops.runtime.states import SessionStatus
from agentops.tenancy.models import Role
from tests.console.conftest import DONE, Stage, pay, signed_in
from tests.console.test_session_controls import BOB, WHY, post
from tests.console.test_session_page import entry_at, page_of, story_of, words_of
from tests.factories.people import make_person
from tests.factories.toy import Toy


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, toy: Toy) -> Toy:
    """The toy role, whose payments are taken back by a note, and whose notes need an elevated scope."""
    spec = toy.spec()

    def undo(arguments: object, result: dict[str, object]) -> tuple[str, dict[str, object]]:
        return "hand_over", {"reason": f"Undo {result['receipt']}"}

    changes = {"pay": {"undo_call": undo, "undo_within": timedelta(hours=1)}, "note": {"elevated": True}}
    tools = tuple(replace(tool, **changes.get(tool.name, {})) for tool in spec.tools)  # type: ignore[arg-type]
    changed = replace(spec, tools=tools)
    monkeypatch.setattr(roles, "all_roles", lambda: (changed,))
    return toy


def paid(stage: Stage) -> tuple[Session, Invocation, str]:
    session = stage.work(pay(), DONE)
    call = Invocation.objects.get(session_id=session.pk)
    return session, call, f"/sessions/{session.pk}/calls/{call.pk}/undo/"


def test_call_is_taken_back_with_links_both_ways(stage: Stage, bob: Client, alice: Client) -> None:
    session, call, url = paid(stage)
    page = page_of(bob, session)
    assert f'hx-post="{url}"' in entry_at(page, 2)
    assert "Undo until" in words_of(entry_at(page, 2))
    assert url not in page_of(alice, session)
    assert alice.post(url, {"reason": WHY}).status_code == 404
    assert bob.post(url, {"reason": WHY}).headers["Location"] == f"/sessions/{session.pk}/"
    page = page_of(bob, stage.go_on(session))
    call.refresh_from_db()
    undo = Invocation.objects.get(undoes=call.pk)
    assert (call.state, undo.state, session.status) == ("compensated", "succeeded", SessionStatus.FINISHED)
    assert f"Undone by bob in step {undo.position}" in words_of(entry_at(page, 2))
    assert f"#step-{undo.position}" in entry_at(page, 2)
    assert "Takes back step 2" in words_of(entry_at(page, undo.position))
    assert "bob opened it again to take something back" in story_of(page)
    assert "That undid: Pay $5.00 from a-1." in story_of(page)
    assert url not in page
    assert "The session ended again as it had ended before" in words_of(page)


def test_why_it_cannot_be_undone_stands_at_the_call(stage: Stage, bob: Client) -> None:
    session, _, url = paid(stage)
    answer = bob.post(url, {})
    assert answer.status_code == 422
    assert "This field is required." in words_of(entry_at(answer.content.decode(), 2))
    Invocation.objects.update(undo_until=timezone.now() - timedelta(seconds=1))
    assert url not in page_of(bob, session)
    answer = bob.post(url, {"reason": WHY})
    assert answer.status_code == 409
    assert "It is too late to undo this." in words_of(entry_at(answer.content.decode(), 2))


def test_session_at_work_has_to_be_taken_over_first(stage: Stage, bob: Client) -> None:
    session = stage.work(pay(), pay(5000), DONE)
    page = page_of(bob, session)
    assert "Take the session over first, or wait for its end." in words_of(entry_at(page, 2))
    assert "/undo/" not in page
    control.take_over(session_id=session.pk, actor=BOB, reason=WHY)
    assert "/undo/" in page_of(bob, session)


def test_call_of_another_session_is_not_found(stage: Stage, bob: Client) -> None:
    _, call, _ = paid(stage)
    other = stage.work(DONE, DONE, DONE, DONE)
    assert bob.post(f"/sessions/{other.pk}/calls/{call.pk}/undo/", {"reason": WHY}).status_code == 404


def test_admin_allows_an_elevated_scope_and_takes_it_back(stage: Stage, bob: Client) -> None:
    session = stage.work(pay(5000), DONE)
    root = signed_in(make_person("root", stage.cast.tenant, Role.ADMIN))
    asks = {"scope": "notes:write", "hours": "2", "reason": WHY}
    assert post(bob, session, "elevations", **asks) == 404
    assert "/elevations/" not in page_of(bob, session)
    assert "None is allowed at the moment." in words_of(page_of(bob, session))
    assert post(root, session, "elevations", **{**asks, "hours": "9"}) == 422
    assert post(root, session, "elevations", **{**asks, "scope": "accounts:pay"}) == 422
    assert post(root, session, "elevations", **asks) == 302
    given = Elevation.objects.get()
    assert timedelta(hours=1, minutes=59) < given.expires_at - timezone.now() <= timedelta(hours=2)
    revoke = f"elevations/{given.pk}/revoke"
    page = page_of(root, session)
    assert f"/{revoke}/" in page
    assert f"notes:write by root: “ {WHY} ”" in words_of(page)
    assert "root allowed the elevated scope notes:write until" in words_of(page)
    assert f"/{revoke}/" not in page_of(bob, session)
    assert post(bob, session, revoke) == 404
    other = stage.work(pay(6000), DONE)
    assert post(root, other, revoke) == 404
    assert post(root, session, revoke) == 302
    page = page_of(root, session)
    assert "root took the elevated scope notes:write back" in words_of(page)
    assert "None is allowed at the moment." in words_of(page)


def test_ended_session_is_elevated_no_more(stage: Stage) -> None:
    session, _, _ = paid(stage)
    root = signed_in(make_person("root", stage.cast.tenant, Role.ADMIN))
    assert "/elevations/" not in page_of(root, session)
    answer = root.post(f"/sessions/{session.pk}/elevations/", {"scope": "notes:write", "hours": "1", "reason": WHY})
    assert answer.status_code == 409
    assert "The session has ended." in words_of(answer.content.decode())
    assert session_code(session.pk) in answer.content.decode()
