"""Landing on the one thing that a pasted id names: a session, a step, a write, a question to people."""

from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, TextField
from django.db.models.functions import Cast, Right

from agentops.console.codes import as_uuid, tail_of
from agentops.console.ports import approval_desk
from agentops.runtime.models import Invocation, Session


@dataclass(frozen=True)
class Landing:
    """Where an id leads: a session, and the position of a step in it unless it names the whole session."""

    session_id: UUID
    position: int | None = None


def landing_of(tenant_id: UUID, text: str) -> Landing | None:
    """Return where ``text`` leads, None when it is no id of the tenant's or names more than one thing.

    Known are the ids and short names of sessions and approval requests, the ids and idempotency keys of
    writes, and the ids of subjects and customers that one session is about.
    """
    text = text.strip()
    found: set[Landing] = set()
    tail = tail_of(text)
    pk = as_uuid(text)
    if pk is not None:
        found |= _sessions(tenant_id, Q(pk=pk)) | _writes(tenant_id, Q(pk=pk))
        found |= {Landing(r.session_id, r.position) for r in approval_desk().find(tenant_id, pk=pk)}
    elif tail is not None and text.upper().startswith("S-"):
        found |= _by_tail(tenant_id, tail)
    elif tail is not None:
        found |= {Landing(r.session_id, r.position) for r in approval_desk().find(tenant_id, tail=tail)}
    if text and not found:
        found |= _writes(tenant_id, Q(idempotency_key=text))
        found |= _sessions(tenant_id, Q(subject_id=text)) | _sessions(tenant_id, Q(customer_id=text))
    return found.pop() if len(found) == 1 else None


def landing_of_call(tenant_id: UUID, key: str) -> Landing | None:
    """Return the step that proposed the call with this idempotency key, None when the tenant has none."""
    return next(iter(_writes(tenant_id, Q(idempotency_key=key))), None)


def _sessions(tenant_id: UUID, which: Q) -> set[Landing]:
    return {Landing(pk) for pk in Session.objects.filter(which, tenant_id=tenant_id).values_list("pk", flat=True)[:2]}


def _by_tail(tenant_id: UUID, tail: str) -> set[Landing]:
    tails = Session.objects.filter(tenant_id=tenant_id).alias(tail=Right(Cast("id", TextField()), 10))
    return {Landing(pk) for pk in tails.filter(tail=tail).values_list("pk", flat=True)[:2]}


def _writes(tenant_id: UUID, which: Q) -> set[Landing]:
    rows = Invocation.objects.filter(which, tenant_id=tenant_id).values_list("session_id", "position")
    return {Landing(session_id, position) for session_id, position in rows[:2]}
