"""One sentence says why a session stands where it stands, for each way in which it can."""

from datetime import UTC, datetime

import pytest
from django.test import Client
from django.utils import timezone

from agentops.agents.operations import create_agent
from agentops.console.records import Told
from agentops.console.reveal import reveal
from agentops.console.stands import Row, stands_of
from agentops.ledger.append import Event
from agentops.registry import roles
from agentops.runtime import freezing
from agentops.runtime.models import Session, SpendDay
from agentops.runtime.operations import note, start_session
from tests.console.conftest import Stage
from tests.console.test_session_page import page_of, words_of

AT = datetime(2026, 11, 1, 12, tzinfo=UTC)


def told(name: str, actor: str = "runtime", **facts: object) -> Told:
    return Told(0, AT, name, actor, {}, facts, {}, 0)


REQUESTED = told("session.pause_requested", "user:ann", reason="Wait.")


@pytest.mark.parametrize(
    ("row", "events", "words"),
    [
        ({"status": "running", "wanted": "pause"}, [REQUESTED], "Pausing after the present step, as ann asked"),
        (
            {"status": "running", "wanted": "cancel"},
            [told("session.cancel_requested", "user:ann")],
            "Cancelling after the present step, as ann asked",
        ),
        (
            {"status": "queued", "wanted": "cancel"},
            [told("session.cancel_requested", "user:ann")],
            "Cancelling once it is known what became of its last call, as ann asked",
        ),
        ({"status": "paused"}, [REQUESTED, told("session.paused")], "Paused by ann"),
        ({"status": "paused", "taken_by": "user:ann"}, [told("session.paused")], "Taken over by ann"),
        ({"status": "queued", "taken_by": "user:ann"}, [], "The step of ann waits on a free worker"),
        ({"status": "queued", "spent": True}, [], "Waits for the next day, because the spending limit"),
        ({"status": "queued"}, [told("session.preempted", **{"for": "an-id"})], "Paused for the more urgent session"),
        ({"status": "queued"}, [told("session.preempted"), told("budget.warned")], "Paused for more urgent work"),
        ({"status": "queued"}, [told("session.preempted"), told("session.resumed")], "Waits on a free worker"),
        ({"status": "queued", "frozen": ("user:ann", "Bad prices.")}, [], "Frozen by ann"),
        ({"status": "waiting_person"}, [], "Waits for a person’s answer"),
        ({"status": "sleeping", "wake_at": AT}, [told("session.sleeping", words="busy", attempt=2)], "Sleeps"),
        ({"status": "cancelled"}, [told("session.cancelled", "user:ann")], "Cancelled by ann"),
    ],
)
def test_sentence(row: dict[str, object], events: list[Told], words: str) -> None:
    given = {"wanted": "", "taken_by": "", "actor": "user:bob", **row}
    stands = stands_of(Row(**given), events)  # type: ignore[arg-type]
    assert stands is not None
    assert stands.words.startswith(words)


def test_session_that_waits_for_an_answer_has_not_failed() -> None:
    row = Row(status="sleeping", wanted="", taken_by="", actor="user:bob", wake_at=AT)
    told_of = [told("session.sleeping", tool="look", words="It settles.", waits=60, waited=60)]
    stands = stands_of(row, told_of)
    assert stands is not None
    assert stands.then == "Nothing failed: it asks again by itself."


def test_reason_is_that_of_the_person_and_names_the_urgent_session() -> None:
    row = Row(status="queued", wanted="", taken_by="", actor="user:bob")
    stands = stands_of(row, [told("session.preempted", title="INC-493", **{"for": "an-id"})])
    assert stands is not None
    assert (stands.reason, stands.session_pk) == (reveal("INC-493"), "an-id")


def test_frozen_session_names_who_and_why_on_page_and_list(stage: Stage, bob: Client) -> None:
    stage.toy.add_work("w-1")
    session = start_session(agent=stage.agent, subject_id="w-1", actor="user:bob")
    assert "Waits on a free worker" in words_of(page_of(bob, session))
    made = freezing.freeze(
        tenant_id=session.tenant_id, agent_id=session.agent_id, tool="", actor="user:root", reason="Bad prices."
    )
    page = page_of(bob, session)
    assert "Frozen by root : “ Bad prices. ” No worker takes it until the freeze is lifted" in words_of(page)
    assert "data-follow" not in page
    assert "Work w-1" in bob.get("/sessions/", {"status": "frozen"}).content.decode()
    freezing.ask_to_lift(freeze_id=made.pk, actor="user:root", reason="Fixed.")
    freezing.lift(freeze_id=made.pk, actor="user:bob")
    assert "Frozen by" not in words_of(page_of(bob, session))
    assert "Work w-1" not in bob.get("/sessions/", {"status": "frozen"}).content.decode()


def test_freeze_of_another_agent_or_of_a_tool_is_not_shown(stage: Stage, bob: Client) -> None:
    stage.toy.add_work("w-1")
    session = start_session(agent=stage.agent, subject_id="w-1", actor="user:bob")
    other = create_agent(tenant_id=session.tenant_id, role=roles.get_role("toy"), name="Other", actor="user:bob")
    freezing.freeze(tenant_id=session.tenant_id, agent_id=other.pk, tool="", actor="user:root", reason="x")
    freezing.freeze(tenant_id=stage.cast.other.pk, agent_id=None, tool="", actor="user:root", reason="x")
    freezing.freeze(tenant_id=session.tenant_id, agent_id=None, tool="pay", actor="user:root", reason="x")
    assert "Waits on a free worker" in words_of(page_of(bob, session))
    assert "Work w-1" not in bob.get("/sessions/", {"status": "frozen"}).content.decode()


def test_session_that_waits_for_money_of_the_next_day_says_so(stage: Stage, bob: Client) -> None:
    stage.toy.add_work("w-1")
    session = start_session(agent=stage.agent, subject_id="w-1", actor="user:bob")
    tenant = stage.cast.tenant
    tenant.max_day_micro = 1000
    tenant.save()
    assert "Waits on a free worker" in words_of(page_of(bob, session))
    SpendDay.objects.create(
        id=session.pk, tenant_id=tenant.pk, scope="tenant", day=timezone.now().date(), spent_micro=1000
    )
    assert "spending limit of the day is reached" in words_of(page_of(bob, session))


def test_budgets_show_what_is_used_what_is_set_aside_and_the_warnings(stage: Stage, bob: Client) -> None:
    stage.toy.add_work("w-1")
    session = start_session(agent=stage.agent, subject_id="w-1", actor="user:bob")
    note(session, [Event("budget.warned", "runtime", {"kind": "steps", "percent": 50})])
    Session.objects.update(steps=7, cost_micro=900_000, reserved_micro=50_000, workstream="returns")
    page = page_of(bob, session)
    words = words_of(page)
    assert "Steps 7 of 12 50 % at step 1" in words
    assert "Cost $0.90 of $1.00 $0.0500 set aside for a call under way" in words
    assert "Workstream returns" in words
    assert "50 % of the budget of steps are used" in words
    assert 'data-kind="notice"><rect class="track" width="1000" height="8"/><rect class="fill" width="900"' in page


def test_reader_reads_times_in_their_zone(stage: Stage, bob: Client) -> None:
    stage.toy.add_work("w-1")
    session = start_session(agent=stage.agent, subject_id="w-1", actor="user:bob")
    stage.cast.tenant.timezone = "Asia/Tokyo"
    stage.cast.tenant.save()
    wake_at = datetime(2026, 11, 30, 20, 15, tzinfo=UTC)
    Session.objects.update(status="sleeping", wake_at=wake_at)
    assert "Sleeps until Tue 1 Dec 2026, 05:15 JST" in words_of(page_of(bob, session))
