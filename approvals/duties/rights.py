"""Who may decide, in whose name, and in plain sentences why somebody may not."""

from django.contrib.auth.models import User

from agentops.ledger.sql import fetch_one
from agentops.runtime.ports import ApprovalCase, ApprovalState
from approvals.access import View
from approvals.duties.walls import EXCLUDED, OVERLAP
from approvals.models import ApprovalRequest, Decision, Exclusion, Verdict

LEAST_FOR_IRREVERSIBLE = 2


def least_people(case: ApprovalCase) -> int:
    """Return how many different people must approve: as many as the rules say, and two for what cannot be undone."""
    return max(case.people, LEAST_FOR_IRREVERSIBLE if case.irreversible else 1)


def names_for(request: ApprovalRequest, view: View) -> list[User]:
    """Return in whose names the person may decide this request now: all that they have, without whoever is barred."""
    return [name for name in view.principals(request.queue_id) if not _is_barred(request, view.person, name)]


def why_not(request: ApprovalRequest, view: View) -> tuple[str, str] | None:
    """Return why the person may not decide a pending request: in a few words, and what it takes. None: they may."""
    person = view.person
    voted = Decision.objects.filter(request=request, person=person, taken_back_at=None).first()
    if voted is not None:
        return _voted(request, voted)
    barred = _exclusions(request, person)
    if barred:
        words = " and ".join(dict.fromkeys(_PART[Exclusion.Why(why)] for why in barred))
        return f"You {words}, so you cannot decide this.", "It takes somebody who has no part in it."
    if request.queue_id not in view.mine:
        return "You can read this request, not decide it.", f"That needs an approver of the queue {request.queue.name}."
    if not names_for(request, view):
        return (
            "You cannot decide this in any name that you may use.",
            "Whoever you decide for has a part in it, or has decided it already. It takes another person.",
        )
    return None


def gains(request: ApprovalRequest, person: User) -> bool:
    """Return whether the person is the customer that the request is about, through whichever of their accounts."""
    return Exclusion.Why.BENEFICIARY in _exclusions(request, person)


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
    names = {"request": "%(request)s::uuid", "person": "%(person)s::int", "behalf": "%(behalf)s::int"}
    params = {"request": request.pk, "person": person.pk, "behalf": behalf.pk}
    row = fetch_one(f"SELECT EXISTS ({EXCLUDED.format(**names)}) OR EXISTS ({OVERLAP.format(**names)})", params)
    return row is not None and bool(row[0])
