"""Asking the agent about its own call, which a person is to decide: it answers, and the call goes on waiting.

Whatever becomes of the question, the request is shown an answer: the agent's words, or a plain sentence that says why
there are none. The answer decides nothing and is told to nobody but the people who asked.
"""

import logging
import time

from django.db import transaction

from agentops.kernel.canonical import storable
from agentops.kernel.crashpoints import CrashPoint, reach
from agentops.kernel.errors import IncidentCode
from agentops.kernel.stopwatch import ms_since
from agentops.ledger.append import Event, StaleStream
from agentops.registry.planner import Answer, Explains, PlannerUnavailable, ToolCall, Usage
from agentops.runtime import guards
from agentops.runtime.models import Invocation
from agentops.runtime.ports import approval_gate
from agentops.runtime.providers import ask, set_aside
from agentops.runtime.record import (
    Interrupted,
    Leaving,
    Took,
    back_off,
    record,
    sleep,
    stands_elsewhere,
    together,
    usage_facts,
)
from agentops.runtime.session import Asked
from agentops.runtime.states import SessionStatus
from agentops.runtime.work import Work

log = logging.getLogger(__name__)

MOST_ANSWER = 2_000
MOST_MARK = 50
"""What the mark of a cut takes at most."""
_RUNTIME = "runtime"


def explain(work: Work, invocation: Invocation, asked: Asked) -> None:
    """Let the planner answer, and leave the session waiting for the decision; or sleep, when it cannot answer now.

    Raises Interrupted when somebody stepped in meanwhile.
    """
    began = time.monotonic()
    try:
        answer = _answer(work, invocation, asked)
    except PlannerUnavailable as error:
        attempt = work.held.attempts + 1
        if error.kind.retryable and (not error.counts or attempt < guards.MOST_ATTEMPTS):
            sleep(
                work.held,
                code=error.kind.value,
                words=error.message,
                seconds=back_off(attempt, retry_after=error.retry_after),
                took=Took(worked_ms=ms_since(began)),
                attempt=error.counts,
            )
            return
        answer = _plainly(f"The agent could not answer: {error.message}")
    reach(CrashPoint.QUESTION_ANSWERED)
    _record(work, invocation, answer, began)


def _answer(work: Work, invocation: Invocation, asked: Asked) -> Answer:
    """Return what the planner says, or why it is not asked. Raises PlannerUnavailable."""
    planner, held = work.planner, work.held
    if not work.by_planner:
        return _plainly("A person proposed this, not the agent. Ask them.")
    if not isinstance(planner, Explains):
        return _plainly("This agent cannot explain what it proposes. Its reason and what it read are on the page.")
    if held.attempts >= guards.MOST_LOST_WORKERS:
        return _plainly(f"The agent could not answer: {IncidentCode.WORKER_LOST.words}")
    call = ToolCall(invocation.tool, invocation.arguments, invocation.rationale)
    context = work.plan_context()
    code = guards.over_budget(
        work.limits, steps=held.steps, worked_ms=held.worked_ms, cost_micro=held.cost_micro, tokens=held.tokens
    )
    code = code or set_aside(work, planner.most_micro_to_explain(context, call, asked.question))
    if code is not None:
        return _plainly(f"The agent was not asked: {code.words}")
    try:
        said = ask(
            lambda: planner.answer(context, call, asked.question), tenant_id=held.tenant_id, breakers=work.breakers
        )
    except PlannerUnavailable:
        raise
    except Exception:
        log.exception("the planner of session %s failed to answer a question", held.id)
        return _plainly("The agent could not answer: something failed inside this program.")
    return said if said.words.strip() else Answer("The agent gave an empty answer.", said.usage, said.context)


def _plainly(words: str) -> Answer:
    return Answer(words, Usage(model=_RUNTIME))


def _record(work: Work, invocation: Invocation, answer: Answer, began: float) -> None:
    """Keep the answer and let the session wait again, in one durable point: asked once, answered once."""
    held = work.held
    words = storable(answer.words.strip(), most=MOST_ANSWER - MOST_MARK)
    refs = {"invocation": str(invocation.pk), "request": str(approval_gate().resolution(invocation.pk).request_id)}
    facts = {"tool": invocation.tool, **usage_facts(answer)}
    seen = {"context": answer.context} if answer.context else {}
    event = Event("approval.answered", work.agent, facts, refs, {"answer": words, **seen})
    took = Took(worked_ms=ms_since(began), usage=answer.usage)
    reach(CrashPoint.ANSWER_COMMITTING)
    while True:
        try:
            with transaction.atomic():
                # The request is locked before the session, as in deciding.
                approval_gate().answered(invocation.pk, words)
                record(held, [event], took, leaving=Leaving(SessionStatus.WAITING_APPROVAL), as_decided=True)
        except StaleStream:
            if not stands_elsewhere(held):
                raise
            if held.wanted or work.brief.stopped_by is not None:
                held.carried = together(answer.usage, held.carried) if held.carried else answer.usage
                raise Interrupted("somebody stepped in before the answer was recorded") from None
        else:
            return
