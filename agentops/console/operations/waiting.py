"""Breakers, and questions to people, from queries to what the templates receive."""

from datetime import datetime

from agentops.console.codes import as_uuid
from agentops.console.formats import time_left_words
from agentops.console.operations import queries
from agentops.console.operations.presenters import BreakerPage, BreakerRow, QuestionPage, QuestionRow, Standing
from agentops.console.operations.rights import may_reset
from agentops.console.operations.standing import tabs_of
from agentops.console.operations.words import breaker_state
from agentops.console.reveal import reveal_cut
from agentops.gateway.breaker import BreakerState
from agentops.gateway.models import Breaker
from agentops.runtime.models import Question, Session
from agentops.tenancy.access import Reader

TEXT = 300
TITLE = 160
SOON_SECONDS = 3600


def breaker_page(reader: Reader, standing: Standing, *, now: datetime, error: str = "") -> BreakerPage:
    """Return the breakers that concern the reader's tenant."""
    rows, total = queries.breakers_seen(reader.tenant.pk)
    return BreakerPage(
        tabs=tabs_of(standing, "breaker_list"),
        rows=[_breaker(reader, row, now) for row in rows],
        total=total,
        error=error,
    )


def _breaker(reader: Reader, row: Breaker, now: datetime) -> BreakerRow:
    everybodys = row.tenant_id is None
    off = row.state == BreakerState.OPEN and row.retry_at is not None and row.retry_at > now
    at_rest = row.state == BreakerState.CLOSED and not row.failures
    return BreakerRow(
        pk=str(row.pk),
        name=row.name.partition(":")[2] or row.name,
        everybodys=everybodys,
        state=breaker_state(row.state, failures=row.failures, retry_at=row.retry_at, now=now),
        until=row.retry_at if off else None,
        failures=row.failures,
        error=reveal_cut(row.last_words, TEXT),
        code=row.last_code,
        since=row.changed_at,
        can_reset=not at_rest and may_reset(reader, everybodys=everybodys),
    )


def question_page(reader: Reader, standing: Standing, after_text: str, *, now: datetime) -> QuestionPage:
    """Return a page of open questions; ``after_text`` is the id of the last one of the page before."""
    after = as_uuid(after_text)
    rows, more = queries.open_questions(reader.tenant.pk, after=after)
    sessions = queries.sessions_by_id(reader.tenant.pk, {row.session_id for row in rows})
    return QuestionPage(
        tabs=tabs_of(standing, "question_list"),
        rows=[_question(row, sessions[row.session_id], now) for row in rows],
        total=standing.questions,
        first_url="?" if after else "",
        next_url=f"?after={rows[-1].pk}" if more else "",
    )


def _question(row: Question, session: Session, now: datetime) -> QuestionRow:
    left = (row.expires_at - now).total_seconds()
    return QuestionRow(
        text=reveal_cut(row.text, TEXT),
        session_pk=str(session.pk),
        title=reveal_cut(session.title, TITLE),
        agent=str(session.agent_version),
        asked=row.asked_at,
        due=row.expires_at,
        time_left=time_left_words(left),
        soon=left < SOON_SECONDS,
    )
