"""What a session may use, and going in circles: warned in time, told first, then stopped with a clear code."""

from datetime import timedelta

import pytest
from django.utils import timezone

from agentops.agents.models import Agent, AgentVersion
from agentops.ledger.models import LedgerEvent
from agentops.llm.scripted import ScriptedPlanner
from agentops.registry.planner import FinalAnswer, PlanContext, Proposal, Question, ToolCall, Usage
from agentops.runtime.models import Question as Asked
from agentops.runtime.models import Session, SpendDay
from agentops.runtime.questions import answer_question
from agentops.tenancy.models import Tenant
from approvals.models import Verdict
from tests.factories.people import Cast
from tests.factories.runs import (
    DONE,
    LOOK,
    TELL,
    begin,
    decide,
    events,
    go_on,
    lose_worker,
    pay,
    results,
    start,
    stream,
    work,
)
from tests.factories.toy import Toy

pytestmark = pytest.mark.django_db


def allow(agent: Agent, **limits: int) -> None:
    AgentVersion.objects.filter(pk=agent.current_version_id).update(**limits)


def note(number: int) -> ToolCall:
    return ToolCall("note", {"text": f"note {number}"})


def notes(toy: Toy, usage: Usage, most: int = 99) -> None:
    """Give the role a planner that takes notes without end, each call of which takes so much."""

    def choose(context: PlanContext) -> Proposal:
        return note(len(context.history)) if len(context.history) < most else DONE

    toy.planner = ScriptedPlanner(choose, usage=usage)


def warned(session: Session) -> list[tuple[str, int]]:
    return [(e.facts["kind"], e.facts["percent"]) for e in stream(session) if e.type == "budget.warned"]


def test_tokens_that_are_used_up_stop_the_session(toy: Toy, agent: Agent) -> None:
    allow(agent, max_tokens=1_000)
    notes(toy, Usage("m", 200, 100))
    session = go_on(start(toy, agent))
    assert (session.status, session.stop_code) == ("stopped", "BUDGET_TOKENS")
    assert (session.input_tokens, session.output_tokens, len(toy.notes)) == (800, 400, 4)
    assert toy.handed_over == ["BUDGET_TOKENS"]
    assert warned(session)[:2] == [("tokens", 50), ("tokens", 80)]


def test_steps_are_warned_of_once_each_also_after_another_worker(toy: Toy, agent: Agent, cast: Cast) -> None:
    allow(agent, max_steps=10)
    script = [*[note(number) for number in range(5)], pay(5000), *[note(number) for number in range(6, 20)]]
    session = work(toy, agent, *script)
    assert session.status == "waiting_approval"
    assert warned(session) == [("steps", 50)]
    decide(cast, Verdict.REJECT)
    go_on(session)
    assert session.stop_code == "BUDGET_STEPS"
    assert warned(session) == [("steps", 50), ("steps", 80)]


def test_step_that_crosses_both_marks_warns_of_both(toy: Toy, agent: Agent) -> None:
    allow(agent, max_tokens=1_000)
    notes(toy, Usage("m", 900, 0), most=1)
    session = go_on(start(toy, agent))
    assert warned(session) == [("tokens", 50), ("tokens", 80)]


def test_cost_stops_before_the_call_that_could_exceed_it(toy: Toy, agent: Agent) -> None:
    allow(agent, max_cost_micro=1_000)
    notes(toy, Usage("m", 1, 1, 300))
    session = go_on(start(toy, agent))
    assert (session.stop_code, session.cost_micro, len(toy.notes)) == ("BUDGET_COST", 900, 3)
    assert warned(session) == [("cost", 50), ("cost", 80)]
    assert session.reserved_micro == 0


@pytest.mark.parametrize("whose", ["tenant", "agent"])
def test_day_that_is_spent_stops_with_a_hand_over_and_warns_once(
    toy: Toy, agent: Agent, cast: Cast, whose: str
) -> None:
    if whose == "tenant":
        Tenant.objects.filter(pk=cast.tenant.pk).update(max_day_micro=1_000)
    else:
        Agent.objects.filter(pk=agent.pk).update(max_day_micro=1_000)
    notes(toy, Usage("m", 1, 1, 300), most=2)
    first = go_on(start(toy, agent))
    assert (first.status, first.cost_micro) == ("finished", 900)
    second = go_on(start(toy, agent, "w-2"))
    assert (second.stop_code, second.cost_micro, second.outcome) == ("BUDGET_DAY", 0, "escalated")
    told = LedgerEvent.objects.filter(type="budget.warned", facts__kind=f"{whose}_day").order_by("position")
    assert [event.facts["percent"] for event in told] == [50, 80]
    assert set(SpendDay.objects.values_list("spent_micro", "reserved_micro")) == {(900, 0)}


def test_what_a_lost_worker_had_set_aside_counts(toy: Toy, agent: Agent) -> None:
    allow(agent, max_cost_micro=1_000)

    class Gone(KeyboardInterrupt):
        pass

    lost = [Gone()]

    def choose(context: PlanContext) -> Proposal:
        if lost:
            raise lost.pop()
        return note(len(context.history)) if len(context.history) < 1 else DONE

    toy.planner = ScriptedPlanner(choose, usage=Usage("m", 1, 1, 400))
    session = start(toy, agent)
    with pytest.raises(Gone):
        go_on(session)
    session.refresh_from_db()
    assert session.reserved_micro == 400
    lose_worker(session)
    assert (session.cost_micro, session.reserved_micro) == (400, 0)
    # The second of the two further calls would go beyond the limit.
    assert (go_on(session).stop_code, session.cost_micro) == ("BUDGET_COST", 800)
    assert set(SpendDay.objects.values_list("spent_micro", "reserved_micro")) == {(800, 0)}


def test_call_that_keeps_giving_the_same_is_refused_and_another_way_is_free(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, LOOK, LOOK, LOOK, LOOK, pay(), DONE)
    assert (session.status, session.outcome) == ("finished", "refunded")
    assert [e for e in events(session) if e.startswith("call.")][:4] == [*["call.read"] * 3, "call.refused"]
    assert results(session, "call.refused")[0]["code"] == "REPEATED"


def test_planner_that_does_not_listen_is_stopped(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, *[LOOK] * 9)
    assert (session.status, session.stop_code) == ("stopped", "LOOP_REPEATED")
    assert events(session).count("call.read") == 3
    assert [r["code"] for r in results(session, "call.refused")] == ["REPEATED"] * 2
    assert toy.handed_over == ["LOOP_REPEATED"]


def test_repetition_is_remembered_by_the_next_worker(toy: Toy, agent: Agent) -> None:
    session = work(toy, agent, LOOK, LOOK, Question("Shall I look again?"), LOOK, LOOK, LOOK, DONE)
    answer_question(question_id=Asked.objects.get().pk, actor="user:bob", answer="As you like.")
    assert go_on(session).stop_code == "LOOP_REPEATED"
    assert events(session).count("call.read") == 3


def test_how_often_is_too_often_is_the_versions_limit(toy: Toy, agent: Agent) -> None:
    allow(agent, max_identical=1)
    session = work(toy, agent, LOOK, LOOK, pay(), DONE)
    assert results(session, "call.refused")[0]["code"] == "REPEATED"
    assert session.status == "finished"


def test_many_steps_that_find_nothing_new_are_stopped(toy: Toy, agent: Agent) -> None:
    """Twelve looks at two accounts, turn by turn, each in its own right not too often."""
    allow(agent, max_steps=99, max_identical=99)
    session = work(toy, agent, *[LOOK] * 40)
    assert (session.status, session.stop_code) == ("stopped", "NO_PROGRESS")
    assert events(session).count("call.read") == 13
    assert toy.handed_over == ["NO_PROGRESS"]


def test_equal_outputs_are_stopped(toy: Toy, agent: Agent) -> None:
    """The end is sent back as long as nothing was achieved; saying it again in the same words does not help."""
    session = work(toy, agent, *[FinalAnswer("Done.")] * 9)
    assert session.status == "stopped"
    assert session.stop_code in ("LOOP_SAME_OUTPUT", "LOOP_REFUSED")
    assert results(session, "call.refused")[0]["code"] == "NO_OUTCOME"
    assert (events(session).count("call.refused"), toy.handed_over) == (3, [session.stop_code])


def test_budget_of_time_counts_the_work_and_not_the_waiting(toy: Toy, agent: Agent, cast: Cast) -> None:
    allow(agent, max_seconds=3_600)
    session = work(toy, agent, pay(5000), TELL, DONE)
    long_ago = timezone.now() - timedelta(days=2)
    Session.objects.filter(pk=session.pk).update(created_at=long_ago)
    decide(cast)
    assert go_on(session).status == "finished"
    again = begin(toy, agent, TELL, DONE, work_id="w-2")
    Session.objects.filter(pk=again.pk).update(worked_ms=3_600_000)
    assert (go_on(again).stop_code, toy.handed_over) == ("BUDGET_TIME", ["BUDGET_TIME"])
