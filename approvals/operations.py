"""Deciding, taking back, handing over and expiring requests. One row lock makes every race end in one outcome."""

import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from agentops.gateway.prepare import Refusal
from agentops.kernel.canonical import JSON
from agentops.kernel.errors import AgentOpsError
from agentops.ledger.append import Statement
from agentops.runtime import deciding, doorbell
from agentops.runtime.deciding import Decided
from agentops.runtime.operations import move
from agentops.runtime.ports import ApprovalState
from agentops.runtime.retiring import awaiting, withdrawal
from agentops.runtime.states import SessionStatus
from agentops.runtime.wakeup import Waiting, waiting_session
from approvals import live, sql
from approvals.acts import BY_ITSELF, record_act
from approvals.digest import is_intact
from approvals.duties.acknowledge import fact_of
from approvals.models import ActKind, ApprovalRequest, Decision, Notice, OnExpiry, Verdict
from approvals.notices import outbox
from approvals.refusals import (
    AlreadyClosed,
    AlreadyDecided,
    DigestBroken,
    Excluded,
    NeedsAcknowledgement,
    NeedsReason,
    NeedsStepUp,
    NotAllowed,
    NotDelegated,
    SamePerson,
    TooLate,
    require_open,
    require_shown,
)

log = logging.getLogger(__name__)

_BROKEN = "The stored request is not what its digest was made of."


@dataclass(frozen=True)
class Receipt:
    """A decision that stands. ``repeated``: it was this person's earlier one, sent again.

    ``missing`` is how many other people must still approve before anything happens. Until ``dispatch_at`` the approval
    can be taken back; None when it cannot.
    """

    repeated: bool
    missing: int
    dispatch_at: datetime | None = None


@dataclass(frozen=True)
class Said:
    """Who decided, and what they said to it. ``facts`` stand in the ledger with it."""

    actor: str
    reason: str = ""
    checked: str = ""
    reason_code: str = ""
    facts: dict[str, JSON] = field(default_factory=dict)
    hand_over: bool = False


def decide_request(  # noqa: PLR0913 - what a person says when deciding, each by its name
    *,
    request_id: UUID,
    person: User,
    verdict: Verdict,
    digest: str,
    now: datetime,
    reason: str = "",
    checked: str = "",
    acknowledged: str = "",
    stepped_up: str = "",
    on_behalf_of: User | None = None,
    dwell_ms: int | None = None,
    reason_code: str = "",
) -> Receipt:
    """Record a person's decision, and wake the session once it was rejected or as many people as needed approved.

    ``digest`` is that of the page the person read; ``acknowledged`` is what they typed and ``stepped_up`` how they
    proved to be there, for something irreversible. ``dwell_ms``: from showing the page to deciding. Where approvals can
    be taken back for a while, the session wakes after that (``dispatch_due``). Raises NotAllowed, AlreadyClosed,
    AlreadyDecided, ChangedSince, NeedsReason, NeedsAcknowledgement, NeedsStepUp, Frozen, IllegalTransition, or
    ApprovalRequest.DoesNotExist. DigestBroken is raised after the request was withdrawn, so not in a transaction.
    """
    cast = sql.Cast(
        person_id=person.pk,
        verdict=verdict,
        reason=reason.strip(),
        checked=checked.strip(),
        acknowledged=acknowledged.strip()[:200],
        stepped_up=stepped_up,
        behalf_id=on_behalf_of.pk if on_behalf_of and on_behalf_of.pk != person.pk else None,
        dwell_ms=dwell_ms,
    )
    with transaction.atomic():
        request = sql.lock_request(request_id)
        facts = _facts_allowing(request, person, cast, now)
        if facts.earlier == (verdict, digest, cast.behalf_id):
            missing = request.people - facts.approvals if request.state == ApprovalState.PENDING else 0
            return Receipt(repeated=True, missing=missing, dispatch_at=request.dispatch_at)
        require_open(request, now)
        require_shown(request, digest)
        if facts.earlier[0]:
            raise AlreadyDecided("You have decided this already, in another way.")
        if is_intact(request):
            _require_complete(request, cast)
            said = _said(person, on_behalf_of if cast.behalf_id else None, cast, cast.reason, reason_code)
            return _record(request, facts, cast, said, now=now)
        _withdraw_broken(request, facts.waiting)
    log.error("DIGEST_BROKEN: the stored request %s is not what was asked; it was withdrawn", request.code)
    raise DigestBroken(_BROKEN)


def _facts_allowing(request: ApprovalRequest, person: User, cast: sql.Cast, now: datetime) -> sql.Facts:
    """Return what is known of the request under its lock. Raises NotAllowed unless the person may decide it at all."""
    if cast.behalf_id is not None and not sql.is_delegated(
        request, giver_id=cast.behalf_id, taker_id=person.pk, now=now
    ):
        raise NotDelegated("Nobody by that name lets you decide this for them now.")
    facts = sql.facts_of(request, person.pk, cast.behalf_id)
    if not facts.may_decide:
        whose = "Whoever you decide for" if cast.behalf_id else "You"
        raise NotAllowed(f"{whose} may read this request but not decide it.")
    if facts.excluded or request.requester == f"user:{person.get_username()}":
        raise Excluded("You, or whoever you decide for, have a part in what is asked.")
    if facts.overlaps and request.state == ApprovalState.PENDING:
        raise SamePerson("You, or whoever you decide for, have a part in another decision about this.")
    return facts


def _require_complete(request: ApprovalRequest, cast: sql.Cast) -> None:
    """Raise for a decision that lacks what it takes: a reason, or for something irreversible a fact and a factor."""
    if cast.verdict is Verdict.REJECT:
        if not cast.reason:
            raise NeedsReason("A rejection needs a reason.")
        return
    if not request.irreversible:
        return
    fact = fact_of(request)
    if not fact.is_said_by(cast.acknowledged):
        raise NeedsAcknowledgement(f"This cannot be undone, so type {fact.label}.")
    if not cast.stepped_up:
        raise NeedsStepUp("This cannot be undone, so a second factor is needed.")


def _said(
    person: User, behalf: User | None, vote: sql.Cast | Decision, reason: str = "", reason_code: str = ""
) -> Said:
    """Return what a person said, as they say it or as it is on record."""
    facts: dict[str, JSON] = {}
    if behalf is not None:
        facts["on_behalf_of"] = f"user:{behalf.get_username()}"
    if vote.acknowledged:
        facts["acknowledged"] = vote.acknowledged
    if vote.stepped_up:
        facts["stepped_up"] = vote.stepped_up
    return Said(f"user:{person.get_username()}", reason, vote.checked, reason_code, facts)


def _record(request: ApprovalRequest, facts: sql.Facts, cast: sql.Cast, said: Said, *, now: datetime) -> Receipt:
    """Record a decision that nothing stands against, with whatever follows from it."""
    part = sql.decision_part(request, cast, at=now)
    if cast.verdict is Verdict.REJECT:
        _close(request, ApprovalState.REJECTED, facts, said, now=now, decision=part)
        return Receipt(repeated=False, missing=0)
    missing = request.people - facts.approvals - 1
    if missing > 0:
        deciding.note_vote(facts.waiting, _told(request, facts.queue, "voted", said), also=[part])
        live.announce(request.tenant_id)
        return Receipt(repeated=False, missing=missing)
    dispatch_at = now + timedelta(seconds=settings.APPROVAL_UNDO_SECONDS)
    if settings.APPROVAL_UNDO_SECONDS <= 0 or dispatch_at >= request.expires_at:
        _close(request, ApprovalState.APPROVED, facts, said, now=now, decision=part)
        return Receipt(repeated=False, missing=0)
    closing = sql.closing_part(request, ApprovalState.APPROVED, at=now, decided=True, dispatch_at=dispatch_at)
    told = _told(request, facts.queue, "approved", said)
    told.facts["until"] = dispatch_at.isoformat()
    deciding.hold(facts.waiting, told, also=[part, closing])
    transaction.on_commit(lambda: doorbell.sweep_in(settings.APPROVAL_UNDO_SECONDS))
    _tell_closed(request, now, told=facts.told)
    return Receipt(repeated=False, missing=0, dispatch_at=dispatch_at)


def _withdraw_broken(request: ApprovalRequest, waiting: Waiting) -> None:
    """Withdraw a request, locked like its session, whose row was changed behind the program's back."""
    call = awaiting(request.session_id)
    if call is None or call.pk != request.invocation_id or waiting.session.status != SessionStatus.WAITING_APPROVAL:
        raise AlreadyClosed("The session does not wait for this any more.")
    refusal = Refusal(DigestBroken.code, _BROKEN, "Propose it again if it is still right.")
    events, concluded = withdrawal(call, refusal, actor=BY_ITSELF)
    move(waiting.session, events, SessionStatus.QUEUED, also=[concluded])


@transaction.atomic
def take_back(*, request_id: UUID, person: User, now: datetime) -> None:
    """Take back the person's own approval, which has not been handed over yet; the request is pending again.

    Raises TooLate, AlreadyClosed, IllegalTransition, or ApprovalRequest.DoesNotExist.
    """
    request = sql.lock_request(request_id)
    if request.state != ApprovalState.APPROVED or request.dispatch_at is None:
        raise TooLate("There is nothing to take back any more.")
    standing = Decision.objects.filter(request=request, taken_back_at=None)
    if not standing.filter(person=person).exists():
        raise NotAllowed("You have not approved this.", next_step="Only who approved it can take it back.")
    waiting = waiting_session(session_id=request.session_id, invocation_id=request.invocation_id)
    told = _told(request, request.queue.slug, "taken_back", Said(f"user:{person.get_username()}"))
    deciding.take_back(waiting, told, also=sql.reopening_parts(request, person.pk, at=now))
    record_act(request, ActKind.TAKEN_BACK, person=person, at=now)
    # People are asked again.
    outbox.tell(request, Notice.Kind.ASKED, now=now)
    live.announce(request.tenant_id)


def dispatch_due(*, now: datetime, limit: int) -> int:
    """Hand approvals that cannot be taken back any more to the runtime, each in its own transaction; return how many.

    One that cannot be handed over is logged and does not hold up the others.
    """
    due = ApprovalRequest.objects.filter(state=ApprovalState.APPROVED, dispatch_at__lte=now).order_by("dispatch_at")
    done = 0
    for request_id in due.values_list("pk", flat=True)[:limit]:
        try:
            with transaction.atomic():
                done += _dispatch(request_id, now)
        except AgentOpsError:
            log.exception("request %s could not be handed over", request_id)
    return done


def _dispatch(request_id: UUID, now: datetime) -> bool:
    due = ApprovalRequest.objects.select_for_update(skip_locked=True)
    request = due.filter(pk=request_id, state=ApprovalState.APPROVED, dispatch_at__lte=now).first()
    if request is None:
        return False
    waiting = waiting_session(session_id=request.session_id, invocation_id=request.invocation_id)
    standing = request.decisions.filter(taken_back_at=None, verdict=Verdict.APPROVE)
    last = standing.select_related("person", "on_behalf_of").order_by("-at", "-pk").first()
    if last is None:
        # Nobody stands for it, which only a hand on the database brings about; execution would refuse it too.
        raise NotAllowed("An approved request has no approval.")
    told = _told(request, request.queue.slug, "approved", _said(last.person, last.on_behalf_of, last))
    deciding.resume(waiting, told, also=[sql.dispatch_part(request)])
    live.announce(request.tenant_id)
    return True


def expired_requests(*, now: datetime, limit: int) -> list[UUID]:
    """Return pending requests past their time, the longest overdue first."""
    due = ApprovalRequest.objects.filter(state=ApprovalState.PENDING, expires_at__lte=now)
    return list(due.order_by("expires_at").values_list("pk", flat=True)[:limit])


def expire_request(*, request_id: UUID, now: datetime) -> bool:
    """Expire a request past its time, in the caller's transaction: nothing runs. False when somebody was faster."""
    due = ApprovalRequest.objects.select_for_update(skip_locked=True)
    request = due.filter(pk=request_id, state=ApprovalState.PENDING, expires_at__lte=now).first()
    if request is None:
        return False
    waiting = waiting_session(session_id=request.session_id, invocation_id=request.invocation_id)
    said = Said("sweep", hand_over=request.queue.on_expiry == OnExpiry.HAND_OVER)
    told = _told(request, request.queue.slug, ApprovalState.EXPIRED.value, said)
    deciding.resume(waiting, told, also=[sql.closing_part(request, ApprovalState.EXPIRED, at=now)])
    _tell_closed(request, now, told=True)
    return True


def _close(
    request: ApprovalRequest, state: ApprovalState, facts: sql.Facts, said: Said, *, now: datetime, decision: Statement
) -> None:
    """Close a request that is locked, and wake its session, in one statement with the ``decision``."""
    closing = sql.closing_part(request, state, at=now, decided=True)
    deciding.resume(facts.waiting, _told(request, facts.queue, state.value, said), also=[decision, closing])
    _tell_closed(request, now, told=facts.told)


def _tell_closed(request: ApprovalRequest, now: datetime, *, told: bool) -> None:
    """Have messages about the request changed, if people were told of it, and open pages look again.

    Pages hear of it after the doorbell, which resuming rings first: they may learn of it later than the worker.
    """
    if told:
        outbox.closed(request, now)
    live.announce(request.tenant_id)


def _told(request: ApprovalRequest, queue: str, verdict: str, said: Said) -> Decided:
    facts: dict[str, JSON] = {
        "digest": request.digest,
        "request": request.code,
        "checked": said.checked,
        "queue": queue,
        **said.facts,
    }
    return Decided(
        request.invocation_id,
        request.pk,
        verdict,
        said.actor,
        said.reason,
        facts,
        reason_code=said.reason_code,
        hand_over=said.hand_over,
    )
