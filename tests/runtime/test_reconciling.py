"""Calls whose outcome nobody knows: the queue, asking again, a person's word, and never a second call."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import Settings

from agentops.agents.models import Agent
from agentops.ledger.models import LedgerEvent
from agentops.registry import roles
from agentops.registry.tool import OutcomeUnknown
from agentops.runtime import control, effect, reconciling
from agentops.runtime.models import Invocation, Session
from agentops.runtime.reconciling import CannotReconcile, ask_again, can_be_asked, settle_by_person, unreconciled
from tests.factories.people import Cast
from tests.factories.runs import DONE, answer_of, come_back, decide, events, go_on, pay, start, stream, work
from tests.factories.sums import sums_of_targets
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

BOB = "user:bob"
Change = Callable[..., None]


@pytest.fixture
def change_pay(monkeypatch: pytest.MonkeyPatch) -> Change:
    """Changes the declaration of the tool that pays, for the whole installation."""

    def change(**fields: object) -> None:
        spec = roles.get_role("toy")
        tools = tuple(replace(t, **fields) if t.name == "pay" else t for t in spec.tools)  # type: ignore[arg-type]
        changed = replace(spec, tools=tools)
        monkeypatch.setattr(roles, "all_roles", lambda: (changed,))

    return change


@pytest.fixture
def session(toy: Toy, agent: Agent) -> Session:
    """A session that ended because the vendor took the money, did not say so, and could not be asked for a while."""
    toy.vendor.after.append(OutcomeUnknown("timed out"))
    return left_unknown(toy, agent)


def left_unknown(toy: Toy, agent: Agent) -> Session:
    toy.vendor.deaf = True
    session = work(toy, agent, pay(), DONE)
    while session.status == "sleeping":
        come_back(session)
    toy.vendor.deaf = False
    assert (session.status, session.stop_code) == ("stopped", "OUTCOME_UNKNOWN")
    return session


def unknown() -> Invocation:
    return Invocation.objects.get(tool="pay")


def window() -> int:
    return sums_of_targets().values_list("total_minor", flat=True).get()


def test_call_of_unknown_outcome_is_queued_for_a_person(toy: Toy, agent: Agent, cast: Cast, session: Session) -> None:
    assert list(unreconciled(agent.tenant_id)) == [unknown()]
    assert not unreconciled(cast.other.pk).exists()
    assert (len(toy.vendor.calls), window(), toy.handed_over) == (1, 500, ["OUTCOME_UNKNOWN"])
    assert any(line.startswith("pay:") for line in answer_of(session)["blocked"])


def test_asking_again_finds_that_it_happened(toy: Toy, agent: Agent, session: Session) -> None:
    assert ask_again(invocation_id=unknown().pk, actor=BOB) == "It took effect."
    call = unknown()
    assert (call.state, call.undo["tool"], window()) == ("succeeded", "pay_back", 500)
    assert not unreconciled(agent.tenant_id).exists()
    event = stream(session)[-1]
    assert (event.type, event.actor, event.facts["how"], event.facts["found"]) == (
        "call.reconciled",
        BOB,
        "query",
        "happened",
    )
    assert len(toy.vendor.calls) == 1
    # What is known now can be undone like any other call.
    control.propose_undo(invocation_id=call.pk, actor=BOB, reason="It was not owed.")
    go_on(session)
    assert (unknown().state, toy.vendor.balances["a-1"], session.status) == ("compensated", 100_000, "stopped")


def test_asking_again_finds_that_it_did_not_happen_and_frees_key_and_amount(toy: Toy, agent: Agent) -> None:
    toy.vendor.before.append(OutcomeUnknown("timed out"))
    session = left_unknown(toy, agent)
    assert ask_again(invocation_id=unknown().pk, actor=BOB) == "It never took effect."
    call = unknown()
    assert (call.state, call.idempotency_key, window()) == ("failed", None, 0)
    assert stream(session)[-1].facts["found"] == "not_happened"
    second = go_on(start(toy, agent, "w-1"))
    assert (second.status, toy.vendor.balances["a-1"]) == ("finished", 99_500)


def test_vendor_that_still_does_not_answer_changes_nothing(toy: Toy, session: Session) -> None:
    toy.vendor.deaf = True
    before = events(session)
    with pytest.raises(CannotReconcile):
        ask_again(invocation_id=unknown().pk, actor=BOB)
    assert (unknown().state, events(session)) == ("unknown", before)


@pytest.mark.parametrize("happened", [True, False])
def test_word_of_a_person_settles_it_with_the_evidence(toy: Toy, session: Session, happened: bool) -> None:
    with pytest.raises(CannotReconcile):
        settle_by_person(invocation_id=unknown().pk, actor=BOB, happened=happened, evidence="  ")
    settle_by_person(invocation_id=unknown().pk, actor=BOB, happened=happened, evidence="Statement of 3 March, line 7.")
    call = unknown()
    assert call.state == ("succeeded" if happened else "failed")
    assert (call.idempotency_key is None, window()) == (not happened, 500 if happened else 0)
    assert call.undo is None
    assert stream(session)[-1].facts["how"] == "person"
    assert len(toy.vendor.calls) == 1


@pytest.mark.parametrize("asked", [True, False])
def test_nobody_says_too_early_that_it_did_not_happen(toy: Toy, agent: Agent, settings: Settings, asked: bool) -> None:
    settings.RECONCILE_AFTER_SECONDS = 300
    toy.vendor.before.append(OutcomeUnknown("timed out"))
    session = left_unknown(toy, agent)
    before = events(session)

    def say() -> None:
        if asked:
            ask_again(invocation_id=unknown().pk, actor=BOB)
        else:
            settle_by_person(invocation_id=unknown().pk, actor=BOB, happened=False, evidence="Not on the statement.")

    with pytest.raises(CannotReconcile, match="under way") as early:
        say()
    assert early.value.next_step == "Look again in 5 min."
    assert (unknown().state, events(session)) == ("unknown", before)

    Invocation.objects.filter(tool="pay").update(unknown_since=timezone.now() - timedelta(seconds=301))
    say()
    assert unknown().state == "failed"


def test_that_it_happened_can_be_said_at_once(toy: Toy, session: Session, settings: Settings) -> None:
    settings.RECONCILE_AFTER_SECONDS = 300
    settle_by_person(invocation_id=unknown().pk, actor=BOB, happened=True, evidence="Statement of 3 March, line 7.")
    assert unknown().state == "succeeded"


def test_what_is_known_by_now_cannot_be_settled_again(toy: Toy, session: Session) -> None:
    settle_by_person(invocation_id=unknown().pk, actor=BOB, happened=False, evidence="Not on the statement.")
    with pytest.raises(CannotReconcile):
        settle_by_person(invocation_id=unknown().pk, actor="user:eve", happened=True, evidence="I saw it.")
    with pytest.raises(CannotReconcile):
        ask_again(invocation_id=unknown().pk, actor=BOB)
    assert (unknown().state, window()) == ("failed", 0)
    assert events(session).count("call.reconciled") == 1


def test_vendor_that_cannot_be_asked_at_all_is_left_to_people_at_once(
    toy: Toy, agent: Agent, change_pay: Change
) -> None:
    change_pay(reconcile=None)
    toy.vendor.after.append(ConnectionResetError("gone"))
    session = work(toy, agent, pay(), DONE)
    assert (session.status, session.stop_code, unknown().state) == ("stopped", "OUTCOME_UNKNOWN", "unknown")
    assert not can_be_asked(unknown())
    with pytest.raises(CannotReconcile):
        ask_again(invocation_id=unknown().pk, actor=BOB)
    assert len(toy.vendor.calls) == 1


def test_tool_that_is_no_longer_there_is_left_to_people(
    toy: Toy, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roles, "all_roles", lambda: ())
    assert reconciling.tool_of(unknown()) is None
    with pytest.raises(CannotReconcile):
        ask_again(invocation_id=unknown().pk, actor=BOB)
    settle_by_person(invocation_id=unknown().pk, actor=BOB, happened=True, evidence="Receipt r-1.")
    assert unknown().state == "succeeded"


def later(monkeypatch: pytest.MonkeyPatch, by: timedelta) -> None:
    for module in (effect, reconciling):
        monkeypatch.setattr(module, "utcnow", lambda: timezone.now() + by, raising=False)


def test_key_that_the_vendor_has_forgotten_proves_nothing(
    toy: Toy, agent: Agent, change_pay: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The vendor forgot that it paid, so its "never heard of it" would lead to a second payment."""
    change_pay(key_lifetime=timedelta(hours=24))
    toy.vendor.after.append(OutcomeUnknown("timed out"))
    toy.vendor.deaf = True
    session = work(toy, agent, pay(), DONE)
    assert session.status == "sleeping"
    toy.vendor.deaf = False
    toy.vendor.done.clear()
    later(monkeypatch, timedelta(hours=25))
    assert come_back(session).stop_code == "OUTCOME_UNKNOWN"
    assert (unknown().state, toy.vendor.balances["a-1"], len(toy.vendor.calls)) == ("unknown", 99_500, 1)
    assert not can_be_asked(unknown())
    with pytest.raises(CannotReconcile):
        ask_again(invocation_id=unknown().pk, actor=BOB)


def test_lifetime_of_a_key_counts_from_the_intent_not_from_the_request(
    toy: Toy, agent: Agent, cast: Cast, change_pay: Change
) -> None:
    """A request may wait for a decision for longer than the vendor remembers keys."""
    change_pay(key_lifetime=timedelta(minutes=5))
    toy.vendor.after.append(OutcomeUnknown("timed out"))
    toy.vendor.deaf = True
    session = work(toy, agent, pay(5000), DONE)
    Invocation.objects.update(created_at=timezone.now() - timedelta(hours=3))
    decide(cast)
    assert go_on(session).status == "sleeping"
    toy.vendor.deaf = False
    assert come_back(session).status == "finished"
    assert (unknown().state, len(toy.vendor.calls)) == ("succeeded", 1)


def test_answer_of_the_vendor_that_cannot_be_used_still_counts_as_done(
    toy: Toy, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    toy.vendor.done[unknown().idempotency_key or ""] = {"receipt": 7}
    assert ask_again(invocation_id=unknown().pk, actor=BOB) == "It took effect."
    assert (unknown().state, unknown().undo) == ("succeeded", None)


def test_nothing_is_called_twice_however_often_it_is_asked_about(toy: Toy, agent: Agent, session: Session) -> None:
    for _ in range(3):
        toy.vendor.deaf = True
        with pytest.raises(CannotReconcile):
            ask_again(invocation_id=unknown().pk, actor=BOB)
    toy.vendor.deaf = False
    ask_again(invocation_id=unknown().pk, actor=BOB)
    assert (len(toy.vendor.calls), toy.vendor.balances["a-1"]) == (1, 99_500)
    # Nor does the same business action run again in another session about the same work.
    again = go_on(start(toy, agent, "w-1"))
    assert (again.status, toy.vendor.balances["a-1"]) == ("stopped", 99_500)
    refused = LedgerEvent.objects.filter(stream=again.pk, type="call.refused").first()
    assert refused is not None
    assert refused.facts["code"] == "ALREADY_DONE"
