"""Something happened outside that a session may wait for: it goes on at once."""

from collections.abc import Iterable
from uuid import UUID

from django.db import transaction

from agentops.kernel.canonical import storable
from agentops.kernel.clock import utcnow
from agentops.ledger.append import Event
from agentops.runtime.models import Session
from agentops.runtime.operations import move
from agentops.runtime.questions import overtake_question
from agentops.runtime.states import SessionStatus

MOST_WORDS = 300
_WAITING = (SessionStatus.SLEEPING, SessionStatus.WAITING_PERSON)


@transaction.atomic
def wake_sessions(*, tenant_id: UUID, kind: str, subjects: Iterable[str], actor: str, words: str) -> list[str]:
    """Let the sessions of these subjects that sleep, or wait for an answer, go on now; return the subjects of those.

    ``words`` say what happened: a planner that waits for an answer is told them instead, and looks at the records
    again. One that people decide about goes on waiting for them; one that a person paused stays with that person; one
    that is queued or at work sees the records as they are by then.
    """
    wanted = sorted(set(subjects))
    if not wanted:
        return []
    found = Session.objects.filter(tenant_id=tenant_id, subject_kind=kind, subject_id__in=wanted, status__in=_WAITING)
    told = storable(words, most=MOST_WORDS)
    woken = []
    for session in found.order_by("id").select_for_update():
        if session.status == SessionStatus.SLEEPING:
            move(session, [Event("session.woken", actor, {"told": told})], SessionStatus.QUEUED)
        elif not overtake_question(session, actor=actor, words=told, at=utcnow()):
            continue
        woken.append(session.subject_id)
    return woken
