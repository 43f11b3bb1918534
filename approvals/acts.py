"""What happens to a request besides votes: one row for people, one event for the auditor, in one transaction."""

from collections.abc import Mapping
from datetime import datetime

from django.contrib.auth.models import User

from agentops.kernel.canonical import JSON, storable
from agentops.ledger.append import Event, append_to
from agentops.runtime.models import Session
from approvals.models import Act, ActKind, ApprovalRequest

MOST_WORDS = 1_900
"""Longer words are cut, and say so; the column has room for that."""

BY_ITSELF = "approvals"
"""The actor of what the product does without anybody asking."""


def record_act(
    request: ApprovalRequest,
    kind: ActKind,
    *,
    person: User | None,
    at: datetime,
    words: str = "",
    facts: Mapping[str, JSON] | None = None,
) -> Act:
    """Record an act in the caller's transaction, also in the ledger stream ``request:<id>``. ``person`` None: nobody.

    The request is locked by the caller, or one that nobody else sees yet.
    """
    told, said = dict(facts or {}), storable(words.strip(), most=MOST_WORDS)
    act = Act.objects.create(request=request, person=person, kind=kind, words=said, facts=told, at=at)
    actor = f"user:{person.get_username()}" if person else BY_ITSELF
    event = Event(
        f"request.{kind.value}",
        actor,
        {"request": request.code, **told},
        {"request": str(request.pk), "session": str(request.session_id), "invocation": str(request.invocation_id)},
        {"words": said} if said else None,
    )
    about = about_of(request) if said else None
    append_to(tenant_id=request.tenant_id, name=f"request:{request.pk}", events=[event], subject=about)
    return act


def about_of(request: ApprovalRequest) -> str | None:
    """Return whom words about a request are about: the person whose session asks, so that they go with that person."""
    session = Session.objects.filter(pk=request.session_id).first()
    return session.data_subject or None if session else None
