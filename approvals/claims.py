"""Who has a request on the desk. A claim is a courtesy: it ends by itself, and others may still look and decide."""

from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from agentops.kernel.errors import AgentOpsError
from approvals import live
from approvals.access import View, not_skipped, rights_of, view_of
from approvals.acts import record_act
from approvals.duties.rights import why_not
from approvals.models import ActKind, ApprovalRequest
from approvals.queries import Bucket, by_urgency, requests_in
from approvals.refusals import NeedsReason, NotAllowed, require_open

CLAIMED_FOR = timedelta(minutes=15)
SKIPPED_FOR = timedelta(hours=1)
"""What somebody passed over is not served to them again for so long."""

MOST_WORDS = 500
MOST_TRIES = 50
"""The list takes no notice of people with several accounts, who may decide with none of them; deciding does."""


class ClaimedByAnother(AgentOpsError):
    """Somebody else has the request on the desk."""

    code = "CLAIMED_BY_ANOTHER"
    next_step = "You may still read and decide it, or take the next one."


class NotClaimed(AgentOpsError):
    """A claim was to end that there is not."""

    code = "NOT_CLAIMED"
    next_step = "Nothing has to be done: the request is free."


@transaction.atomic
def claim(*, request_id: UUID, person: User, now: datetime) -> ApprovalRequest:
    """Put a pending request on the person's desk for ``CLAIMED_FOR``, anew when it is there already.

    Raises NotAllowed, AlreadyClosed, ClaimedByAnother, or ApprovalRequest.DoesNotExist.
    """
    request = _locked(request_id)
    require_open(request, now)
    _require_decider(request, person, now)
    if request.assigned_to_id not in (None, person.pk):
        raise ClaimedByAnother(f"It is assigned to {_name(request.assigned_to)}.")
    if _is_claimed(request, now) and request.claimed_by_id != person.pk:
        raise ClaimedByAnother(f"{_name(request.claimed_by)} has it until {_clock(request.claimed_until)}.")
    _put_on_desk(request, person, now)
    return request


@transaction.atomic
def release(*, request_id: UUID, person: User, now: datetime) -> ApprovalRequest:
    """End a claim: one's own, or that of somebody else in a queue that the person manages.

    Raises NotAllowed, AlreadyClosed, NotClaimed, or ApprovalRequest.DoesNotExist.
    """
    request = _locked(request_id)
    require_open(request, now)
    if not _is_claimed(request, now):
        raise NotClaimed("Nobody has claimed it.")
    if request.claimed_by_id != person.pk and request.queue_id not in rights_of(person).manage:
        raise NotAllowed(
            f"{_name(request.claimed_by)} has claimed it, not you.",
            next_step="Whoever manages the queue can release it.",
        )
    _take_off_desk(request)
    record_act(request, ActKind.RELEASED, person=person, at=now)
    live.announce(request.tenant_id)
    return request


@transaction.atomic
def skip(*, request_id: UUID, person: User, reason: str, now: datetime) -> None:
    """Pass over a request with a reason: it is not served to the person again for ``SKIPPED_FOR``.

    Raises NotAllowed, AlreadyClosed, NeedsReason, or ApprovalRequest.DoesNotExist.
    """
    request = _locked(request_id)
    require_open(request, now)
    _require_decider(request, person, now)
    words = reason.replace("\x00", "").strip()[:MOST_WORDS]
    if not words:
        raise NeedsReason("Skipping needs a reason.", next_step="Say in a word why, for whoever takes it next.")
    if request.claimed_by_id == person.pk:
        _take_off_desk(request)
    record_act(request, ActKind.SKIPPED, person=person, at=now, words=words)
    live.announce(request.tenant_id)


@transaction.atomic
def serve_next(*, view: View, now: datetime) -> UUID | None:
    """Claim the most urgent request that waits for the person and return its id, None when nothing does.

    One that two people ask for at the same moment goes to one of them, and the other gets the next.
    """
    waiting = requests_in(view, Bucket.TURN).filter(not_skipped(view, since=now - SKIPPED_FOR))
    passed: list[UUID] = []
    for _ in range(MOST_TRIES):
        free = by_urgency(waiting.exclude(pk__in=passed)).select_for_update(of=("self",), skip_locked=True)
        request = free.select_related("queue").first()
        if request is None:
            return None
        if why_not(request, view) is None:
            _put_on_desk(request, view.person, now)
            return request.pk
        passed.append(request.pk)
    return None


def _locked(request_id: UUID) -> ApprovalRequest:
    requests = ApprovalRequest.objects.select_for_update(of=("self",))
    return requests.select_related("queue", "claimed_by", "assigned_to").get(pk=request_id)


def _require_decider(request: ApprovalRequest, person: User, now: datetime) -> None:
    against = why_not(request, view_of(person, request.tenant_id, now))
    if against is not None:
        raise NotAllowed(against[0], next_step=against[1])


def _is_claimed(request: ApprovalRequest, now: datetime) -> bool:
    """A claim is over with its time, or when its person has voted."""
    if request.claimed_until is None or request.claimed_until <= now:
        return False
    return not request.decisions.filter(person_id=request.claimed_by_id, taken_back_at=None).exists()


def _put_on_desk(request: ApprovalRequest, person: User, now: datetime) -> None:
    request.claimed_by, request.claimed_until = person, now + CLAIMED_FOR
    request.save(update_fields=["claimed_by", "claimed_until"])
    until = request.claimed_until.isoformat(timespec="seconds")
    record_act(request, ActKind.CLAIMED, person=person, at=now, facts={"until": until})
    live.announce(request.tenant_id)


def _take_off_desk(request: ApprovalRequest) -> None:
    request.claimed_by, request.claimed_until = None, None
    request.save(update_fields=["claimed_by", "claimed_until"])


def _clock(moment: datetime | None) -> str:
    return "" if moment is None else f"{timezone.localtime(moment):%H:%M %Z}"


def _name(person: User | None) -> str:
    return "somebody else" if person is None else person.get_full_name() or person.get_username()
