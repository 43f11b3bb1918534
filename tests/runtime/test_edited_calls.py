"""A person changes the agent's call: it ends, its changed form needs somebody else, and the agent goes on."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from guardian.shortcuts import assign_perm

from agentops.agents.models import Agent, ToolGrant
from agentops.ledger.queries import payload_of
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import ObservationStatus, PlanContext, Proposal, ToolCall
from agentops.runtime import control
from agentops.runtime.deciding import BadEdit, Frozen
from agentops.runtime.models import Invocation, Session
from agentops.runtime.session import load
from agentops.tenancy.models import Freeze, Role
from approvals.models import Act, ApprovalRequest, Verdict
from approvals.operations import decide_request
from approvals.refusals import NotAllowed
from tests.factories.people import Cast, make_person
from tests.factories.runs import DONE, TELL, events, go_on, pay, pending, results, start, stream, work
from tests.factories.toy import Toy
from tests.factories.verbs import ask, edit

pytestmark = pytest.mark.django_db


@pytest.fixture
def dave(cast: Cast) -> User:
    """A second approver of the same queue."""
    dave = make_person("dave", cast.tenant, Role.APPROVER)
    assign_perm("approvals.decide_queue", dave, cast.queue)
    return dave


def approve(person: User, request: ApprovalRequest | None = None) -> None:
    """Let a person approve what is pending."""
    request = request or pending()
    decide_as(person, request, Verdict.APPROVE)


def decide_as(person: User, request: ApprovalRequest, verdict: Verdict) -> None:
    decide_request(
        request_id=request.pk,
        person=person,
        verdict=verdict,
        digest=request.digest,
        reason="" if verdict is Verdict.APPROVE else "Not this either.",
        now=timezone.now(),
    )


def test_changed_call_is_made_after_somebody_else_agreed(toy: Toy, cast: Cast, agent: Agent, dave: User) -> None:
    session = work(toy, agent, pay(5_000), TELL, DONE)
    first = edit(cast.alice, minor=3_000)
    first.refresh_from_db()
    assert (first.state, first.void_reason) == ("voided", "Edited by alice.")
    assert go_on(session).status == "waiting_approval"
    second = pending()
    assert (second.supersedes_id, second.requester, second.arguments["minor"]) == (first.pk, "user:alice", 3_000)
    assert second.agent == first.agent
    with pytest.raises(NotAllowed):
        approve(cast.alice)
    approve(dave)
    assert go_on(session).status == "finished"
    assert toy.vendor.balances["a-1"] == 97_000
    assert [act.kind for act in Act.objects.filter(request=first)] == ["edited"]
    assert session.taken_by == ""


def test_planner_is_told_who_changed_what_and_why(toy: Toy, cast: Cast, agent: Agent, dave: User) -> None:
    seen: list[Any] = []

    def choose(context: PlanContext) -> Proposal:
        seen[:] = context.history
        return (pay(5_000), TELL, DONE, DONE)[len(context.history)]

    toy.planner = ScriptedPlanner(choose)
    session = go_on(start(toy, agent))
    edit(cast.alice, minor=3_000, reason="That is the price.")
    go_on(session)
    approve(dave)
    go_on(session)
    told = seen[0]
    assert (told.tool, told.arguments["minor"], told.status) == ("pay", 5_000, ObservationStatus.REJECTED)
    result = {name: told.result[name] for name in ("code", "by", "reason", "changed")}
    assert result == {
        "code": "EDITED",
        "by": "alice",
        "reason": "That is the price.",
        "changed": [{"argument": "minor", "was": 5_000, "now": 3_000}],
    }
    assert (seen[1].arguments["minor"], seen[1].status) == (3_000, ObservationStatus.OK)
    # What is folded from the stream is what was seen live.
    row = Session.objects.get()
    assert [one.result for one in load(row, owner="", epoch=0).history][: len(seen)] == [one.result for one in seen]


def test_changed_call_always_asks(toy: Toy, cast: Cast, agent: Agent, dave: User) -> None:
    """Policy lets the agent pay this much by itself."""
    session = work(toy, agent, pay(5_000), TELL, DONE)
    edit(cast.alice, minor=100)
    assert go_on(session).status == "waiting_approval"
    assert pending().reasons[0][0] == "runtime.edited"
    assert toy.vendor.calls == []
    approve(dave)
    go_on(session)
    assert toy.vendor.balances["a-1"] == 99_900


def test_changed_call_asks_again_when_the_record_changed(toy: Toy, cast: Cast, agent: Agent, dave: User) -> None:
    session = work(toy, agent, pay(5_000), TELL, DONE)
    edit(cast.alice, minor=100)
    go_on(session)
    approve(dave)
    toy.vendor.balances["a-1"] = 50_000
    toy.vendor.versions["a-1"] += 1
    assert go_on(session).status == "waiting_approval"
    again = pending()
    assert (again.requester, again.reasons[0][0]) == ("user:alice", "runtime.edited")
    with pytest.raises(NotAllowed):
        approve(cast.alice)
    approve(dave)
    go_on(session)
    assert toy.vendor.balances["a-1"] == 49_900


def test_changed_call_is_rejected_like_any_other(toy: Toy, cast: Cast, agent: Agent, dave: User) -> None:
    session = work(toy, agent, pay(5_000), lambda _: TELL, TELL, DONE)
    edit(cast.alice, minor=100)
    go_on(session)
    decide_as(dave, pending(), Verdict.REJECT)
    assert go_on(session).status == "finished"
    assert toy.vendor.calls == []


def test_changed_call_can_be_changed_again(toy: Toy, cast: Cast, agent: Agent, dave: User) -> None:
    session = work(toy, agent, pay(5_000), TELL, TELL, DONE)
    first = edit(cast.alice, minor=3_000)
    go_on(session)
    second = edit(dave, minor=2_900)
    go_on(session)
    third = pending()
    assert [third.supersedes_id, second.supersedes_id] == [second.pk, first.pk]
    assert third.arguments["minor"] == 2_900


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "type": ({"minor": "much"}, "minor"),
    "range": ({"minor": 0}, "minor"),
    "unknown argument": ({"extra": 1}, ""),
    "text that cannot be recorded": ({"account": "a\x00"}, ""),
    "nothing changed": ({}, ""),
}


@pytest.mark.parametrize("what", WRONG)
def test_bad_arguments_change_nothing(toy: Toy, cast: Cast, agent: Agent, what: str) -> None:
    session = work(toy, agent, pay(5_000), TELL, DONE)
    before = events(session)
    changes, field = WRONG[what]
    with pytest.raises(BadEdit) as caught:
        edit(cast.alice, **changes)
    assert field in caught.value.field
    assert (pending().state, events(session), Act.objects.count()) == ("pending", before, 0)


def test_changed_call_that_is_nobodys_record_is_refused_and_the_agent_goes_on(
    toy: Toy, cast: Cast, agent: Agent
) -> None:
    session = work(toy, agent, pay(5_000), TELL, TELL, DONE)
    edit(cast.alice, account="b-1")
    assert go_on(session).status == "finished"
    assert [result["code"] for result in results(session, "call.refused")] == ["NOT_FOUND"]
    assert toy.vendor.calls == []


def test_tool_that_was_taken_from_the_agent_cannot_be_proposed(toy: Toy, cast: Cast, agent: Agent) -> None:
    work(toy, agent, pay(5_000), TELL, DONE)
    ToolGrant.objects.filter(tool="pay").delete()
    with pytest.raises(BadEdit, match="does not have this tool"):
        edit(cast.alice, minor=100)


def test_undo_is_not_changed(toy: Toy, cast: Cast, agent: Agent) -> None:
    session = work(toy, agent, pay(500), DONE)
    ToolGrant.objects.filter(tool="pay_back").update(dial="ask")
    control.propose_undo(invocation_id=Invocation.objects.get().pk, actor="user:bob", reason="")
    go_on(session)
    with pytest.raises(BadEdit, match="exactly that call"):
        edit(cast.alice, minor=100)


def test_nothing_is_changed_while_the_agent_is_asked_or_frozen(toy: Toy, cast: Cast, agent: Agent, dave: User) -> None:
    work(toy, agent, pay(5_000), TELL, DONE)
    Freeze.objects.create(
        tenant_id=cast.tenant.pk, tool="pay", reason="Wait.", frozen_by="user:bob", frozen_at=timezone.now()
    )
    with pytest.raises(Frozen):
        edit(cast.alice, minor=100)
    Freeze.objects.all().delete()
    ask(cast.alice)
    with pytest.raises(Exception, match="is answering"):
        edit(dave, minor=100)


def test_pause_before_the_changed_call_is_proposed_does_not_lose_it(
    toy: Toy, cast: Cast, agent: Agent, dave: User
) -> None:
    session = work(toy, agent, pay(5_000), TELL, DONE)
    edit(cast.alice, minor=3_000)
    control.pause_session(session_id=session.pk, actor="user:bob", reason="")
    assert go_on(session).status == "paused"
    control.resume_session(session_id=session.pk, actor="user:bob")
    assert go_on(session).status == "waiting_approval"
    assert pending().arguments["minor"] == 3_000


def test_person_who_acts_in_the_agents_place_is_not_taken_for_an_editor(
    toy: Toy, cast: Cast, agent: Agent, dave: User
) -> None:
    session = work(toy, agent, pay(5_000), TELL, DONE)
    edit(cast.alice, minor=3_000)
    control.take_over(session_id=session.pk, actor="user:bob", reason="")
    control.propose_call(
        session_id=session.pk,
        actor="user:bob",
        tool="pay",
        arguments={"account": "a-1", "minor": 100},
        rationale="Mine.",
    )
    assert go_on(session).status == "paused"
    assert toy.vendor.balances["a-1"] == 99_900


def test_stream_tells_the_change_and_the_link(toy: Toy, cast: Cast, agent: Agent) -> None:
    session = work(toy, agent, ToolCall("pay", {"account": "a-1", "minor": 5_000}, "Owed."), TELL, DONE)
    first = edit(cast.alice, minor=3_000)
    go_on(session)
    told = {event.type: event for event in stream(session)}
    body = payload_of(session.pk, told["approval.edited"].position)
    assert body["proposal"] == {
        "tool": "pay",
        "arguments": {"account": "a-1", "minor": 3_000},
        "rationale": "Too much.",
    }
    asked = stream(session)[-1]
    assert (asked.type, asked.actor, asked.refs["edits"]) == ("approval.requested", "user:alice", str(first.pk))
