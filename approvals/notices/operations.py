"""What people change about notices: their own preferences, and trying one again that was given up."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction

from agentops.ledger.append import Event, append_to
from agentops.runtime.ports import ApprovalState
from approvals.models import Notice, NoticePreference


@transaction.atomic
def save_preference(own: NoticePreference, *, tenant_id: UUID, changed: Sequence[str]) -> None:
    """Save how a person wants to be told. The record says what was changed; the values are the person's own."""
    own.save()
    if changed:
        person = own.person
        event = Event("notices.preferences", f"user:{person.get_username()}", {"changed": sorted(changed)})
        append_to(tenant_id=tenant_id, name=f"person:{person.pk}", events=[event])


@transaction.atomic
def try_again(*, notice_id: UUID, by: User, now: datetime) -> bool:
    """Let a notice that was given up be sent again. False when it is of no more use, or another one waits already."""
    notice = Notice.objects.select_for_update(of=("self",)).select_related("request").get(pk=notice_id)
    is_open = notice.request.state == ApprovalState.PENDING or notice.kind == Notice.Kind.CLOSED
    if notice.state != Notice.State.FAILED or not is_open:
        return False
    notice.state, notice.attempts, notice.due_at, notice.leased_until = Notice.State.WAITING, 0, now, None
    try:
        with transaction.atomic():
            notice.save(update_fields=["state", "attempts", "due_at", "leased_until"])
    except IntegrityError:
        return False
    facts = {"channel": notice.channel, "kind": notice.kind, "request": notice.request.code}
    refs = {"notice": str(notice.pk), "request": str(notice.request_id)}
    event = Event("notice.tried_again", f"user:{by.get_username()}", dict(facts), refs)
    append_to(tenant_id=notice.tenant_id, name=f"request:{notice.request_id}", events=[event])
    return True
