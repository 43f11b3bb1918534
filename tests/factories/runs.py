"""Sessions of the toy role, driven through the doors that workers and people use."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.db.models import F
from django.utils import timezone

from agentops.agents.models import Agent
from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payload_of
from agentops.llm.scripted import Line, ScriptedPlanner
from agentops.registry.planner import FinalAnswer, PlanContext, ToolCall
from agentops.runtime.dispatch import work_until_quiet
from agentops.runtime.models import Priority, Session
from agentops.runtime.operations import start_session
from agentops.runtime.sweep import sweep_once
from approvals.models import ApprovalRequest, Verdict
from approvals.operations import decide_request
from tests.factories.people import Cast
from tests.factories.toy import Toy

DONE = FinalAnswer("All done.", verified=("paid",))
TELL = ToolCall("note", {"text": "Told the customer."})
LOOK = ToolCall("look", {"account": "a-1"})

Moment = Callable[[PlanContext], Line]


def pay(minor: float = 500, account: str = "a-1") -> ToolCall:
    """Return the call that pays; more than 2,500 asks a person. Whole numbers alone are amounts."""
    return ToolCall("pay", {"account": account, "minor": minor}, "The customer asked for it.")


def thinking(happens: Callable[[], Any], line: Line) -> Moment:
    """Return a line of a script during which something happens: the planner is asked, and has not answered yet."""

    def moment(context: PlanContext) -> Line:
        happens()
        return line

    return moment


def once(happens: Callable[[], Any]) -> Callable[[], None]:
    """Return what happens the first time only: a planner that is asked again gets no second one."""
    left = [happens]

    def do() -> None:
        if left:
            left.pop()()

    return do


def plan(toy: Toy, *script: Line | Moment) -> None:
    """Give the role a planner that follows the script by the length of the history."""

    def choose(context: PlanContext) -> Line:
        line = script[len(context.history)]
        return line(context) if callable(line) else line

    toy.planner = ScriptedPlanner(choose)


def begin(toy: Toy, agent: Agent, *script: Line | Moment, work_id: str = "w-1") -> Session:
    """Start a session with a script, and leave it in the queue."""
    plan(toy, *script)
    return start(toy, agent, work_id)


def start(toy: Toy, agent: Agent, work_id: str = "w-1", *, priority: int = Priority.NORMAL) -> Session:
    """Start a session under the planner that is there."""
    toy.add_work(work_id)
    toy.works[work_id] = replace(toy.works[work_id], priority=priority)
    toy.taken.add(work_id)
    return start_session(agent=agent, subject_id=work_id, actor="user:bob")


def work(toy: Toy, agent: Agent, *script: Line | Moment, work_id: str = "w-1") -> Session:
    """Run a scripted session as far as it goes."""
    return go_on(begin(toy, agent, *script, work_id=work_id))


def go_on(session: Session) -> Session:
    """Work whatever can be worked, and return the session as it is then."""
    work_until_quiet()
    session.refresh_from_db()
    return session


def come_back(session: Session) -> Session:
    """Let the back-off be over, and work on."""
    Session.objects.filter(status="sleeping").update(wake_at=timezone.now())
    sweep_once()
    return go_on(session)


def lose_worker(session: Session) -> Session:
    """Let the lease run out."""
    Session.objects.filter(pk=session.pk).update(lease_until=F("created_at"))
    sweep_once()
    session.refresh_from_db()
    return session


def events(session: Session) -> list[str]:
    """Return the types of the session's events, in their order."""
    return [event.type for event in stream(session)]


def stream(session: Session) -> list[LedgerEvent]:
    """Return the session's events, in their order."""
    return list(LedgerEvent.objects.filter(stream=session.pk).order_by("position"))


def results(session: Session, type_: str) -> list[dict[str, Any]]:
    """Return what the events of a type told the planner."""
    return [payload_of(session.pk, event.position)["result"] for event in stream(session) if event.type == type_]


def answer_of(session: Session) -> dict[str, Any]:
    """Return the answer that the session's last event gives."""
    answer: dict[str, Any] = payload_of(session.pk, stream(session)[-1].position)["answer"]
    return answer


def pending() -> ApprovalRequest:
    """Return the one request that waits for a decision."""
    return ApprovalRequest.objects.get(state="pending")


def decide(cast: Cast, verdict: Verdict = Verdict.APPROVE, request: ApprovalRequest | None = None) -> ApprovalRequest:
    """Let Alice decide the request, or the only one that is pending."""
    request = request or pending()
    decide_request(
        request_id=request.pk,
        person=cast.alice,
        verdict=verdict,
        digest=request.digest,
        reason="" if verdict is Verdict.APPROVE else "Not ours to pay.",
        now=timezone.now(),
    )
    return request
