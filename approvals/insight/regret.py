"""Approved effects that turned out to be wrong: undone, disputed, or marked so by a person."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef

from agentops.kernel.canonical import storable
from agentops.kernel.ids import first_id
from agentops.ledger.append import Event, append_to
from agentops.ledger.models import LedgerEvent
from agentops.registry.role import Disputed
from agentops.registry.roles import all_roles
from agentops.runtime.models import Invocation
from agentops.runtime.ports import ApprovalState
from approvals.acts import about_of
from approvals.insight.errors import AlreadySaid, NeedsWords, NotCarriedOut
from approvals.insight.sql import fetch_all
from approvals.models import ApprovalRequest, Exemplar, Regret

MOST_WORDS = 500
NEAR, FAR = timedelta(hours=1), timedelta(days=14)
EVERY_MINUTES = 10
BY_ITSELF = "sweep"

# The key is time-ordered, so only calls that were proposed lately are read.
_UNDONE = """
SELECT r.id, i.id, i.session_id FROM invocation taker
JOIN invocation i ON i.id = taker.undoes AND i.state = 'compensated'
JOIN approvals_approvalrequest r ON r.invocation_id = i.id AND r.state = 'approved'
WHERE taker.id >= %(from)s AND taker.undoes IS NOT NULL AND taker.state = 'succeeded'
  AND NOT EXISTS (SELECT 1 FROM approvals_regret g WHERE g.request_id = r.id AND g.kind = 'undone')
ORDER BY taker.id LIMIT %(limit)s"""


@transaction.atomic
def note_regret(
    *,
    kind: Regret.Kind,
    by: str,
    at: datetime,
    words: str = "",
    request_id: UUID | None = None,
    invocation_id: UUID | None = None,
) -> Regret:
    """Record that an approved effect turned out to be wrong, once a kind, and stop showing the run to planners.

    Exactly one of ``request_id`` and ``invocation_id`` says which. ``by`` is an actor ("user:bob", "sweep"). UNDONE
    and DISPUTED are found by ``gather``; MARKED comes from the request's page. Raises NeedsWords, NotCarriedOut,
    AlreadySaid, or ApprovalRequest.DoesNotExist.
    """
    said = storable(words.strip(), most=MOST_WORDS)
    if kind is Regret.Kind.MARKED and not said:
        raise NeedsWords("Whoever reads this needs to know what was wrong.")
    request = _locked(request_id, invocation_id)
    if request.state != ApprovalState.APPROVED:
        raise NotCarriedOut(f"This request is {request.state}: nothing was carried out.")
    if Regret.objects.filter(request=request, kind=kind).exists():
        raise AlreadySaid(f"It is on record already that this was {kind.label}.")
    regret = Regret.objects.create(request=request, kind=kind, words=said, by=by[:150], at=at)
    record(request, "request.regretted", by, {"kind": kind.value}, said)
    shown = Exemplar.objects.filter(request=request, state__in=[Exemplar.State.PROPOSED, Exemplar.State.ACCEPTED])
    if shown.update(state=Exemplar.State.RETIRED):
        record(request, "exemplar.retired", by, {"because": "regret"}, "")
    return regret


def gather(now: datetime, limit: int) -> int:
    """Record a regret for each approved effect that was undone or disputed, and return how many. Part of the sweep.

    Looks at undo calls proposed and disputes opened in the last hour, and in one minute of ten at those of two weeks:
    an undo may wait for a person, and what became of it may be found out late.
    """
    since = now - (FAR if now.minute % EVERY_MINUTES == 0 else NEAR)
    return _gather_undone(since, now, limit) + _gather_disputed(since, limit)


def _gather_undone(since: datetime, now: datetime, limit: int) -> int:
    done = 0
    for request_id, invocation_id, session_id in fetch_all(_UNDONE, {"from": first_id(since), "limit": limit}):
        undone = LedgerEvent.objects.filter(
            stream=session_id, type="call.compensated", refs__invocation=str(invocation_id)
        ).first()
        by, at = (undone.actor, undone.at) if undone else (BY_ITSELF, now)
        try:
            note_regret(request_id=request_id, kind=Regret.Kind.UNDONE, by=by, at=at)
        except AlreadySaid:
            # Another sweep was faster.
            continue
        done += 1
    return done


def _gather_disputed(since: datetime, limit: int) -> int:
    done = 0
    for role in all_roles():
        for one in role.disputed(since, limit) if role.disputed else ():
            request_id = _approved_call(one)
            if request_id is None:
                continue
            try:
                note_regret(request_id=request_id, kind=Regret.Kind.DISPUTED, by=BY_ITSELF, at=one.at, words=one.words)
            except AlreadySaid:
                continue
            done += 1
    return done


def _approved_call(one: Disputed) -> UUID | None:
    """Return the request by which a person approved the call; None when nobody did, or its regret is on record."""
    call = Invocation.objects.filter(tenant_id=one.tenant_id, idempotency_key=one.key)
    found = ApprovalRequest.objects.filter(invocation_id__in=call.values("pk"), state=ApprovalState.APPROVED)
    said = Regret.objects.filter(request=OuterRef("pk"), kind=Regret.Kind.DISPUTED)
    return found.filter(~Exists(said)).values_list("pk", flat=True).first()


def record(request: ApprovalRequest, kind: str, actor: str, facts: dict[str, str], words: str) -> None:
    """Append what was said about a request to its ledger stream, in the caller's transaction."""
    event = Event(
        kind,
        actor,
        {"request": request.code, **facts},
        {"request": str(request.pk), "session": str(request.session_id), "invocation": str(request.invocation_id)},
        {"words": words} if words else None,
    )
    about = about_of(request) if words else None
    append_to(tenant_id=request.tenant_id, name=f"request:{request.pk}", events=[event], subject=about)


def _locked(request_id: UUID | None, invocation_id: UUID | None) -> ApprovalRequest:
    rows = ApprovalRequest.objects.select_for_update(of=("self",))
    if request_id is not None and invocation_id is None:
        return rows.get(pk=request_id)
    if invocation_id is not None and request_id is None:
        return rows.get(invocation_id=invocation_id, state=ApprovalState.APPROVED)
    raise ValueError("either the request or the call says what is regretted")
