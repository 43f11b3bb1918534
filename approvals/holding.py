"""What requests keep about the person they are about: told, and erased. The holder of approvals.

A request is frozen: its digest covers what was shown. After an erasure it no longer fits the row, and the events of the
session tell who decided what.
"""

from uuid import UUID

from django.db.models import QuerySet

from agentops.kernel.canonical import JSON
from agentops.registry.holder import ERASED, bare
from agentops.runtime.holding import sessions_about
from approvals.models import Act, ApprovalRequest, Draft, Exemplar, Notice, Regret


def requests_about(tenant_id: UUID, subject: str) -> QuerySet[ApprovalRequest]:
    """Return the requests of sessions that are about a subject."""
    sessions = sessions_about(tenant_id, subject).values("pk")
    return ApprovalRequest.objects.filter(tenant_id=tenant_id, session_id__in=sessions)


class Requests:
    """The rows of requests, of what was typed about them, and of messages that tell of them."""

    name = "approval requests"

    def held(self, tenant_id: UUID, subject: str) -> JSON:
        """Return each request with what it showed and what people wrote."""
        return [_told(request) for request in requests_about(tenant_id, subject).order_by("id")]

    def erase(self, tenant_id: UUID, subject: str) -> int:
        """Blank what was shown and what people typed; who decided what, and when, stays."""
        found = requests_about(tenant_id, subject)
        rows = Draft.objects.filter(request__in=found).delete()[0]
        # What a planner was to be shown as an example says nothing any more.
        rows += Exemplar.objects.filter(request__in=found).delete()[0]
        rows += Regret.objects.filter(request__in=found).exclude(words="").update(words="")
        rows += Act.objects.filter(request__in=found).exclude(words="").update(words="")
        Notice.objects.filter(request__in=found).exclude(last_error="").update(last_error="")
        for request in found.select_for_update(of=("self",)).order_by("id"):
            _blank(request)
            rows += 1
        return rows


def _told(request: ApprovalRequest) -> JSON:
    return {
        "request": request.code,
        "at": request.created_at.isoformat(),
        "state": request.state,
        "tool": request.tool,
        "effect": request.effect,
        "arguments": request.arguments,
        "preview": request.preview,
        "subject": request.subject_title,
        "text": request.subject_text,
        "sender": request.sender,
        "written": [act.words for act in request.acts.all() if act.words],
        "regretted": [regret.words for regret in request.regrets.all() if regret.words],
        "decided": [
            {"verdict": one.verdict, "reason": one.reason, "checked": one.checked} for one in request.decisions.all()
        ],
    }


def _blank(request: ApprovalRequest) -> None:
    request.arguments, request.preview, request.facts = bare(request.arguments), bare(request.preview), {}
    request.reasons = [[rule, effect, ""] for rule, effect, _ in request.reasons]
    request.effect = request.subject_title = ERASED
    request.rationale = request.subject_text = request.sender = ""
    request.void_reason = ERASED if request.void_reason else ""
    request.save(
        update_fields=[
            *("arguments", "preview", "facts", "reasons", "effect", "subject_title", "rationale", "subject_text"),
            *("sender", "void_reason"),
        ]
    )
