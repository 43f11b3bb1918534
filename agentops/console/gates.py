"""Questions to people as timeline entries (pure)."""

from collections.abc import Sequence

from agentops.console.formats import duration_words
from agentops.console.marks import State, Tier
from agentops.console.records import RequestSummary, Told
from agentops.console.reveal import reveal
from agentops.console.said import actor_name, cost_of, rules_of, tokens_of, took_words
from agentops.console.timeline import GateEntry, GateMoment

_STATES = {
    "approved": State("ok", "approved"),
    "rejected": State("stop", "rejected"),
    "expired": State("gone", "expired"),
    "voided": State("notice", "withdrawn"),
    "edited": State("notice", "edited and proposed anew"),
}
_DID = {
    "approval.voted": "approved; others still have to",
    "approval.given": "approved; it may still be taken back",
    "approval.taken_back": "took the approval back",
    "approval.asked": "asked the agent",
    "approval.answered": "answered",
    "approval.approved": "approved",
    "approval.edited": "changed it and proposed it anew",
    "approval.rejected": "rejected",
    "approval.expired": "nobody decided in time, so nothing was done",
    "approval.voided": "withdrew the approval",
}
_WHO = {"approval.expired": "Time", "approval.voided": "Policy"}


_BETWEEN = frozenset({"approval.voted", "approval.given", "approval.taken_back", "approval.asked", "approval.answered"})
"""What happens to a question to people that stays open, or may become so again."""


def gate_entry(first: Told, decisions: Sequence[Told], request: RequestSummary | None) -> GateEntry:
    """Build the entry of one question to people.

    ``first`` is the question, or the first decision when the question stands on an earlier page;
    ``decisions`` are those on this page; ``request`` is what the approvals app knows.
    """
    asked = first if first.type == "approval.requested" else None
    queue = request.queue if request else "people"
    history = [GateMoment(at=asked.at, who="Policy", did=f"asked {queue}")] if asked else []
    is_open = request is None or request.state == "pending"
    history += [_sealed(event) if is_open and event.type == "approval.voted" else _moment(event) for event in decisions]
    effect = (first.body.get("preview") or {}).get("effect") or (request.effect if request else "")
    return GateEntry(
        position=first.position,
        at=first.at,
        took=took_words(first.facts),
        cost=cost_of(first.facts),
        tokens=tokens_of(first.facts),
        folded=[event.position for event in decisions if event is not first],
        effect=reveal(effect),
        tier=Tier(request.level if request else 2),
        state=_state(decisions, request),
        queue=queue,
        waited=_waited(asked, decisions, request),
        due=request.due if request else first.at,
        request_pk=str(request.pk) if request else "",
        request_id=request.code if request else first.request,
        rules=rules_of(first.body),
        history=history,
        rationale=reveal(str(first.body.get("rationale", ""))),
    )


def _state(decisions: Sequence[Told], request: RequestSummary | None) -> State:
    ends = [event for event in decisions if event.type not in _BETWEEN]
    known = ends[-1].type.removeprefix("approval.") if ends else ""
    if not ends and not decisions and request:
        known = request.state
    return _STATES.get(known, State("notice", "waits"))


def _waited(asked: Told | None, decisions: Sequence[Told], request: RequestSummary | None) -> str:
    """Return how long people took, "" while it waits; a question and an answer on two pages do not say."""
    closed = [event for event in decisions if event.type not in _BETWEEN]
    if asked and closed:
        return duration_words((closed[0].at - asked.at).total_seconds())
    still_open = asked is not None and (request is None or request.state == "pending")
    return "" if still_open else "some time"


def _did(event: Told) -> str:
    if event.type == "approval.voided" and event.actor.startswith("user:"):
        return "withdrew the question"
    return _DID.get(event.type, event.type)


def _who(event: Told) -> str:
    if event.actor.startswith(("user:", "agent:")):
        return actor_name(event.actor)
    return _WHO.get(event.type, event.actor)


def _sealed(event: Told) -> GateMoment:
    """A vote while others have still to give theirs: neither name nor words may lead them."""
    return GateMoment(at=event.at, who="Somebody", did=_did(event), reason=())


def _moment(event: Told) -> GateMoment:
    said = (event.body.get(name) for name in ("reason", "question", "answer"))
    reason = next(filter(None, said), "") or event.facts.get("reason") or event.facts.get("checked") or ""
    return GateMoment(
        at=event.at,
        who=_who(event),
        did=_did(event),
        reason=reveal(str(reason)),
    )
