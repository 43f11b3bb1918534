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
}
_DID = {
    "approval.voted": "approved; others still have to",
    "approval.approved": "approved",
    "approval.rejected": "rejected",
    "approval.expired": "nobody decided in time, so nothing was done",
    "approval.voided": "withdrew the approval",
}
_WHO = {"approval.expired": "Time", "approval.voided": "Policy"}


def gate_entry(first: Told, decisions: Sequence[Told], request: RequestSummary | None) -> GateEntry:
    """Build the entry of one question to people.

    ``first`` is the question, or the first decision when the question stands on an earlier page;
    ``decisions`` are those on this page; ``request`` is what the approvals app knows.
    """
    asked = first if first.type == "approval.requested" else None
    queue = request.queue if request else "people"
    history = [GateMoment(at=asked.at, who="Policy", did=f"asked {queue}")] if asked else []
    history += [_moment(event) for event in decisions]
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
    known = decisions[-1].type.removeprefix("approval.") if decisions else (request.state if request else "")
    return _STATES.get(known, State("notice", "waits"))


def _waited(asked: Told | None, decisions: Sequence[Told], request: RequestSummary | None) -> str:
    """Return how long people took, "" while it waits; a question and an answer on two pages do not say."""
    closed = [event for event in decisions if event.type != "approval.voted"]
    if asked and closed:
        return duration_words((closed[0].at - asked.at).total_seconds())
    still_open = asked is not None and (request is None or request.state == "pending")
    return "" if still_open else "some time"


def _did(event: Told) -> str:
    if event.type == "approval.voided" and event.actor.startswith("user:"):
        return "withdrew the question"
    return _DID.get(event.type, event.type)


def _moment(event: Told) -> GateMoment:
    reason = event.body.get("reason") or event.facts.get("reason") or event.facts.get("checked") or ""
    return GateMoment(
        at=event.at,
        who=actor_name(event.actor) if event.actor.startswith("user:") else _WHO.get(event.type, event.actor),
        did=_did(event),
        reason=reveal(str(reason)),
    )
