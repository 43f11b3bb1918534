"""Who may decide, in whose name, and in plain sentences why somebody may not."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db.models import Q

from agentops.ledger.sql import fetch_one
from agentops.runtime.ports import ApprovalCase, ApprovalState
from agentops.tenancy.models import Membership
from approvals.access import may_decide
from approvals.duties.walls import EXCLUDED, OVERLAP
from approvals.models import ApprovalQueue, ApprovalRequest, Decision, Delegation, Exclusion, Verdict

LEAST_FOR_IRREVERSIBLE = 2


def least_people(case: ApprovalCase) -> int:
    """Return how many different people must approve: as many as the rules say, and two for what cannot be undone."""
    return max(case.people, LEAST_FOR_IRREVERSIBLE if case.irreversible else 1)


def principals(person: User, queue: ApprovalQueue | int, now: datetime) -> list[User]:
    """Return in whose names the person may decide the queue now: their own first, then whoever delegated to them.

    Only people who may decide it themselves at this moment are among them.
    """
    found = queue if isinstance(queue, ApprovalQueue) else ApprovalQueue.objects.get(pk=queue)
    member = Membership.objects.filter(user=person, tenant_id=found.tenant_id)
    if not person.is_active or not member.exists():
        return []
    mine = [person] if may_decide(person, found) else []
    return mine + [giver for giver in _givers(person, found, now) if may_decide(giver, found)]


def _givers(person: User, queue: ApprovalQueue, now: datetime) -> list[User]:
    given = Delegation.objects.filter(
        Q(queue=None) | Q(queue=queue),
        tenant_id=queue.tenant_id,
        taker=person,
        begins__lte=now,
        ends__gt=now,
        revoked_at=None,
    )
    return list(User.objects.filter(pk__in=given.values("giver")).order_by("username"))


def names_for(request: ApprovalRequest, person: User, now: datetime) -> list[User]:
    """Return in whose names the person may decide this request now: ``principals`` without whoever is barred."""
    return [name for name in principals(person, request.queue, now) if not _is_barred(request, person, name)]


def why_not(request: ApprovalRequest, person: User, now: datetime) -> tuple[str, str] | None:
    """Return why the person may not decide a pending request: in a few words, and what it takes. None: they may."""
    voted = Decision.objects.filter(request=request, person=person, taken_back_at=None).first()
    if voted is not None:
        return _voted(request, voted)
    barred = _exclusions(request, person)
    if barred:
        words = " and ".join(dict.fromkeys(_PART[Exclusion.Why(why)] for why in barred))
        return f"You {words}, so you cannot decide this.", "It takes somebody who has no part in it."
    names = principals(person, request.queue, now)
    if not names:
        return "You can read this request, not decide it.", f"That needs an approver of the queue {request.queue.name}."
    if all(_is_barred(request, person, name) for name in names):
        return (
            "You cannot decide this in any name that you may use.",
            "Whoever you decide for has a part in it, or has decided it already. It takes another person.",
        )
    return None


_PART = {
    Exclusion.Why.REQUESTER: "asked for this",
    Exclusion.Why.EDITOR: "changed this",
    Exclusion.Why.OWNER: "own the agent",
    Exclusion.Why.BENEFICIARY: "gain by this",
}


def _voted(request: ApprovalRequest, voted: Decision) -> tuple[str, str]:
    if request.state != ApprovalState.PENDING or voted.verdict != Verdict.APPROVE:
        return f"You have {voted.get_verdict_display().lower()} this request.", "A person decides a request once."
    votes = Decision.objects.filter(request=request, verdict=Verdict.APPROVE, taken_back_at=None).count()
    missing = request.people - votes
    more = "person has" if missing == 1 else "people have"
    return "You have approved this request.", f"It is carried out after {missing} more {more} approved it."


def _exclusions(request: ApprovalRequest, person: User) -> list[str]:
    """Return what the person has to do with the request, also through another account of theirs."""
    asked = EXCLUDED.format(request="%(request)s::uuid", person="%(person)s::int", behalf="NULL")
    sql = f"SELECT coalesce(array_agg(w.why ORDER BY w.why), '{{}}') FROM ({asked}) w"  # noqa: S608 - constants only
    row = fetch_one(sql, {"request": request.pk, "person": person.pk})
    own = [] if row is None else list(row[0])
    proposed = request.requester == f"user:{person.get_username()}"
    return [Exclusion.Why.REQUESTER, *own] if proposed else own


def _is_barred(request: ApprovalRequest, person: User, behalf: User) -> bool:
    return _holds(EXCLUDED, request, person, behalf) or _holds(OVERLAP, request, person, behalf)


def _holds(condition: str, request: ApprovalRequest, person: User, behalf: User) -> bool:
    params = {"request": request.pk, "person": person.pk, "behalf": behalf.pk}
    asked = condition.format(request="%(request)s::uuid", person="%(person)s::int", behalf="%(behalf)s::int")
    row = fetch_one(f"SELECT EXISTS ({asked})", params)
    return row is not None and bool(row[0])
