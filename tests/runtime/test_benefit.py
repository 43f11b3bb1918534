"""Who asked for the work and is its customer gets an answer from somebody else, whenever money moves."""

import json
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.auth.models import User

from agentops.agents.models import Agent, ToolGrant
from agentops.kernel.canonical import loads
from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import events_of
from agentops.llm.scripted import ScriptedPlanner
from agentops.policy.operations import activate_rule_set, save_rule_set
from agentops.registry.planner import FinalAnswer, ToolCall
from agentops.runtime import control
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.house import house_of
from agentops.runtime.models import Session
from agentops.runtime.operations import start_session
from approvals.models import ApprovalRequest
from tests.factories.people import Cast
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db

WORDS = "Whoever asked for this has the customer's own mailbox, so it takes somebody else."
LOOK, PAY = ToolCall("look", {"account": "a-1"}), ToolCall("pay", {"account": "a-1", "minor": 500})


def mailbox(person: User, email: str) -> None:
    User.objects.filter(pk=person.pk).update(email=email)


def run(toy: Toy, agent: Agent, *steps: object, actor: str = "user:bob", **subject: Any) -> Session:
    """Work a session that ``actor`` began and whose customer is ann@example.com."""
    toy.add_work("w-1")
    toy.works["w-1"] = replace(toy.works["w-1"], **subject)
    toy.taken.add("w-1")
    toy.planner = ScriptedPlanner([*(steps or (LOOK, PAY)), FinalAnswer("Done.")])
    session = start_session(agent=agent, subject_id="w-1", actor=actor)
    work_until_quiet()
    session.refresh_from_db()
    return session


def asked(session: Session) -> list[str]:
    """Return why somebody was asked, and fail unless the fact is on record as it was decided on."""
    events = [each for each in events_of(session.pk) if each.type in ("call.intended", "approval.requested")]
    words = []
    for event in events:
        assert event.body is not None
        told = loads(event.body)
        reasons = [said for _, effect, said in told["verdict"]["reasons"] if effect == "ask"]
        assert (WORDS in reasons) == told["facts"].get("people", {}).get("requester_benefits", False)
        words += reasons
    return words


@pytest.mark.parametrize("email", ["ann@example.com", "ANN@Example.com", "ann+shop@example.com"])
def test_who_began_it_for_their_own_account_does_not_get_money_without_anybody(
    toy: Toy, agent: Agent, cast: Cast, email: str
) -> None:
    mailbox(cast.bob, email)
    session = run(toy, agent)
    assert (session.status, asked(session), toy.vendor.calls) == ("waiting_approval", [WORDS], [])


def test_it_asks_whatever_the_dial(toy: Toy, agent: Agent, cast: Cast) -> None:
    ToolGrant.objects.filter(tool="pay").update(dial="autonomous")
    mailbox(cast.bob, "ann@example.com")
    assert asked(run(toy, agent)) == [WORDS]


def test_who_has_another_mailbox_asks_nobody(toy: Toy, agent: Agent) -> None:
    session = run(toy, agent)
    assert (session.status, asked(session)) == ("finished", [])


def test_what_moves_no_money_asks_nobody(toy: Toy, agent: Agent, cast: Cast) -> None:
    mailbox(cast.bob, "ann@example.com")
    session = run(toy, agent, ToolCall("note", {"text": "Seen."}))
    assert (session.status, toy.notes) == ("finished", ["Seen."])


def test_the_owner_of_the_agent_is_asked_for_as_well(toy: Toy, agent: Agent, cast: Cast) -> None:
    Agent.objects.update(owner=cast.alice)
    mailbox(cast.alice, "ann@example.com")
    assert asked(run(toy, agent, actor="intake")) == [WORDS]


def test_the_customer_is_whom_the_system_of_record_knows(toy: Toy, agent: Agent) -> None:
    """The work came from a processor, and the customer is the person who began the session."""
    session = run(toy, agent, sender="processor@example.net", customer_email="bob@example.com")
    assert asked(session) == [WORDS]


def test_nobody_without_a_mailbox_is_taken_for_a_customer_without_one(toy: Toy, agent: Agent, cast: Cast) -> None:
    mailbox(cast.bob, "")
    session = run(toy, agent, sender="", customer_email="")
    assert (session.status, asked(session)) == ("finished", [])


def test_who_takes_the_work_over_asks_somebody_else(toy: Toy, agent: Agent, cast: Cast) -> None:
    mailbox(cast.alice, "ann@example.com")
    session = run(toy, agent, LOOK, ToolCall("pay", {"account": "a-1", "minor": 5000}))
    assert session.status == "waiting_approval"
    control.take_over(session_id=session.pk, actor="user:alice", reason="It is my own.")
    control.propose_call(
        session_id=session.pk, actor="user:alice", tool="pay", arguments={"account": "a-1", "minor": 400}, rationale="!"
    )
    work_until_quiet()
    newest = ApprovalRequest.objects.get(state="pending")
    assert (newest.money_minor, newest.requester) == (400, "user:alice")
    assert WORDS in [words for _, _, words in newest.reasons]
    assert toy.vendor.calls == []


def test_a_rule_of_the_tenant_can_name_it_also_where_no_money_moves(toy: Toy, agent: Agent, cast: Cast) -> None:
    own = {"fact": "people.requester_benefits", "op": "=", "value": True}
    rule = {"id": "own", "tools": ["note"], "when": [own], "effect": "forbid", "words": "Not about yourself."}
    house = house_of(cast.tenant.pk)
    made = save_rule_set(
        tenant_id=cast.tenant.pk, text=json.dumps({"rules": [rule]}), note="Ours.", house=house, actor="user:bob"
    )
    activate_rule_set(rule_set_id=made.pk, instead_of=None, house=house, actor="user:bob")
    note = ToolCall("note", {"text": "Seen."})
    run(toy, agent, note)
    assert toy.notes == ["Seen."]
    mailbox(cast.bob, "ann@example.com")
    toy.add_work("w-2")
    toy.taken.add("w-2")
    toy.planner = ScriptedPlanner([note, FinalAnswer("Done.")])
    start_session(agent=agent, subject_id="w-2", actor="user:bob")
    work_until_quiet()
    assert toy.notes == ["Seen."]
    assert LedgerEvent.objects.filter(type="call.refused", facts__code="POLICY").count() == 1
