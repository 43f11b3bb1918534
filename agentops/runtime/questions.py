"""A planner's questions to people: answering them, and what happens when nobody does."""

import logging
from dataclasses import replace
from datetime import datetime
from uuid import UUID

from django.db import transaction

from agentops.kernel.canonical import storable
from agentops.kernel.clock import utcnow
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Event, Statement
from agentops.registry.planner import ASK_PERSON
from agentops.runtime import statements
from agentops.runtime.models import Question, Session
from agentops.runtime.operations import move
from agentops.runtime.states import SessionStatus

log = logging.getLogger(__name__)

MOST_ANSWER = 4_000
_NOBODY = {
    "code": "EXPIRED",
    "message": "Nobody answered in time.",
    "next_step": "Go on without the answer if that is safe, otherwise hand over.",
}


class CannotAnswer(AgentOpsError):
    """The question is not open any more, or the answer is empty."""

    code = "CANNOT_ANSWER"
    next_step = "Load the session again to see what became of the question."


@transaction.atomic
def answer_question(*, question_id: UUID, actor: str, answer: str) -> None:
    """Give a person's answer to the planner, which goes on with it. Raises CannotAnswer or Question.DoesNotExist."""
    words = storable(answer.strip(), most=MOST_ANSWER)
    if not words:
        raise CannotAnswer("An answer cannot be empty.", next_step="Write the answer.")
    session, question = _waiting(Question.objects.get(pk=question_id))
    if session is None:
        raise CannotAnswer("This question was already answered, or the session no longer waits for it.")
    closing = closing_of(question, answered_by=actor, answer=words, at=utcnow())
    _go_on(session, question, closing, Event("person.answered", actor), {"answer": words, "by": actor})


def expire_questions(limit: int) -> int:
    """Go on with sessions whose question nobody answered in time, and return how many."""
    due = Question.objects.filter(closed_at=None, expires_at__lte=utcnow()).order_by("expires_at")[:limit]
    return sum(_expire(question) for question in due)


@transaction.atomic
def _expire(question: Question) -> bool:
    session, fresh = _waiting(question)
    if session is None:
        return False
    closing = closing_of(fresh, answered_by="", answer="", at=utcnow())
    _go_on(session, fresh, closing, Event("question.expired", "sweep"), dict(_NOBODY))
    return True


def overtake_question(session: Session, *, actor: str, words: str, at: datetime) -> bool:
    """Go on with a session whose row is locked, without an answer: what ``words`` say has happened meanwhile.

    Return whether it waited for one. The planner is told, as of an answer that nobody gave; nobody has answered.
    """
    question = open_question(session.pk)
    if session.status != SessionStatus.WAITING_PERSON or question is None:
        return False
    told = {
        "code": "OVERTAKEN",
        "message": f"Nobody has answered yet, but something happened: {words}",
        "next_step": "Look at the records again; ask again if the answer is still needed.",
    }
    closing = closing_of(question, answered_by="", answer="", at=at)
    _go_on(session, question, closing, Event("question.overtaken", actor), told)
    return True


def _waiting(question: Question) -> tuple[Session | None, Question]:
    """Return the session, locked, when it still waits for this question."""
    session = Session.objects.select_for_update().get(pk=question.session_id)
    fresh = Question.objects.get(pk=question.pk)
    waits = session.status == SessionStatus.WAITING_PERSON and fresh.closed_at is None
    return (session if waits else None), fresh


def _go_on(session: Session, question: Question, closing: Statement, event: Event, result: dict[str, str]) -> None:
    asked = {"question": question.text, "options": question.options}
    told = replace(
        event,
        facts={"tool": ASK_PERSON},
        refs={"question": str(question.pk)},
        payload={"arguments": asked, "result": result},
    )
    move(session, [told], SessionStatus.QUEUED, also=[closing])


def closing_of(question: Question, *, answered_by: str, answer: str, at: datetime) -> Statement:
    """Return the part of a durable point that closes a question."""
    params = {"question": question.pk, "closed_at": at, "answered_by": answered_by, "answer": answer}
    return Statement("closed", statements.CLOSE_QUESTION, params, required=True)


def open_question(session_id: UUID) -> Question | None:
    """Return what the session waits to be told, None when it waits for no answer."""
    return Question.objects.filter(session_id=session_id, closed_at=None).first()
