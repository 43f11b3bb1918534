"""What sessions, calls and questions keep about a person: told, and erased. The holder of the runtime.

Open sessions of the person are stopped first. Their stream moves on, so a worker that holds one finds its position gone
and writes nothing more under the key that is destroyed in the same transaction.
"""

from uuid import UUID

from django.db.models import QuerySet

from agentops.kernel.canonical import JSON
from agentops.kernel.errors import IncidentCode
from agentops.registry.holder import ERASED, CannotErase, bare
from agentops.registry.subjects import CUSTOMER, SENDER, sender_subject
from agentops.runtime.control import withdrawn
from agentops.runtime.models import Invocation, Question, Session
from agentops.runtime.states import ENDED, InvocationState
from agentops.runtime.stopping import stop_unheld

ACTOR = "erasure"
_UNDER_WAY = (InvocationState.INTENDED.value, InvocationState.UNKNOWN.value)


def sessions_about(tenant_id: UUID, subject: str) -> QuerySet[Session]:
    """Return the sessions whose payloads are about a subject; none for a user, who is nobody's customer."""
    sessions = Session.objects.filter(tenant_id=tenant_id)
    kind, _, name = subject.partition(":")
    if kind == CUSTOMER:
        return sessions.filter(customer_id=name)
    if kind != SENDER:
        return sessions.none()
    unknown = sessions.filter(customer_id="").exclude(requester="")
    senders = unknown.order_by().values_list("requester", flat=True).distinct()
    return unknown.filter(requester__in=[one for one in senders if sender_subject(tenant_id, one) == subject])


class Sessions:
    """The rows of sessions, of the calls they proposed and of the questions they asked."""

    name = "sessions"

    def held(self, tenant_id: UUID, subject: str) -> JSON:
        """Return each session with its calls and questions."""
        return [_told(session) for session in sessions_about(tenant_id, subject).order_by("id")]

    def erase(self, tenant_id: UUID, subject: str) -> int:
        """Stop what is open, and blank what was said. Raises CannotErase while it is not known what a call did."""
        done = 0
        for pk in sessions_about(tenant_id, subject).order_by("id").values_list("pk", flat=True):
            _stop(pk)
            done += _blank(pk)
        return done


def _told(session: Session) -> JSON:
    calls = Invocation.objects.filter(session_id=session.pk).order_by("position")
    questions = Question.objects.filter(session_id=session.pk).order_by("asked_at")
    return {
        "session": str(session.pk),
        "title": session.title,
        "requester": session.requester,
        "subject": f"{session.subject_kind} {session.subject_id}",
        "created_at": session.created_at.isoformat(),
        "status": session.status,
        "calls": [
            {
                "tool": call.tool,
                "state": call.state,
                "at": call.created_at.isoformat(),
                "arguments": call.arguments,
                "preview": call.preview,
                "rationale": call.rationale,
            }
            for call in calls
        ],
        "questions": [{"asked": question.text, "answer": question.answer} for question in questions],
    }


def _stop(session_id: UUID) -> None:
    """End an open session. What people were asked is withdrawn, and locked before the session, as in deciding."""
    before = Session.objects.get(pk=session_id)
    if before.status in ENDED:
        Session.objects.select_for_update().get(pk=session_id)
        _require_known(session_id)
        return
    words = IncidentCode.SUBJECT_ERASED.words
    events, also = withdrawn(session_id, ACTOR, words)
    session = Session.objects.select_for_update().get(pk=session_id)
    _require_known(session_id)
    if (session.status, session.position) != (before.status, before.position):
        raise CannotErase("A session about this person is at work.", next_step="Try again in a moment.")
    code = IncidentCode.SUBJECT_ERASED
    stop_unheld(session, code=code, actor=ACTOR, events=events, also=also)


def _require_known(session_id: UUID) -> None:
    """What a call did must be known before the words are gone by which somebody could find it out."""
    call = Invocation.objects.filter(session_id=session_id, state__in=_UNDER_WAY).first()
    if call is None:
        return
    if call.state == InvocationState.INTENDED:
        raise CannotErase(f"A call of {call.tool} is under way.", next_step="Try again once it has ended.")
    words = f"Nobody knows yet what a call of {call.tool} did."
    raise CannotErase(words, next_step="Reconcile it under Operations, Unknown outcomes.")


def _blank(session_id: UUID) -> int:
    rows = Session.objects.filter(pk=session_id).update(title=ERASED, requester="", taken_by="")
    questions = Question.objects.filter(session_id=session_id)
    rows += questions.update(text=ERASED, options=[], answer="")
    for call in Invocation.objects.filter(session_id=session_id):
        call.arguments, call.preview, call.rationale, call.undo = bare(call.arguments), bare(call.preview), "", None
        call.save(update_fields=["arguments", "preview", "rationale", "undo"])
        rows += 1
    return rows
