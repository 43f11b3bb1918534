"""One request as a page, built from its row, its session's stream and its session."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, cast

from agentops.console.access import Reader
from agentops.console.codes import session_code
from agentops.console.formats import bytes_words, time_left_words
from agentops.console.marks import Rule, State, Tier, UntrustedText, plain
from agentops.console.reveal import reveal, reveal_cut
from agentops.kernel.money import Money
from agentops.ledger.models import LedgerEvent
from agentops.ledger.queries import payload_of
from agentops.runtime.models import Invocation, Session
from agentops.runtime.ports import ApprovalState
from agentops.runtime.states import InvocationState
from approvals import presenters, provenance
from approvals.forms import REASONS
from approvals.listing import SOON, amount_words, names_of, share_left
from approvals.models import ApprovalRequest
from approvals.queries import (
    View,
    approvals_of,
    decidable_queues,
    events_after,
    level_of,
    next_for,
    observed_before,
    steps_before,
    successor_of,
)

LONG_CHARACTERS = 300
LONG_LINES = 6
LAST_STEPS = 5
IF_NOBODY = "nothing is carried out"


@dataclass(frozen=True)
class Answer:
    """What a POST that decided nothing has to say. ``seen_digest`` is the digest that it was about."""

    conflict: presenters.Conflict = ""
    draft: presenters.Draft = field(default_factory=presenters.Draft)
    errors: Mapping[str, str] | None = None
    seen_digest: str = ""


def request_page(
    reader: Reader, request: ApprovalRequest, now: datetime, answer: Answer | None = None
) -> presenters.RequestPage:
    """Return the page of one request as the reader sees it."""
    answer = answer or Answer()
    mine = decidable_queues(reader.person)
    status = status_of(request, now)
    voted = any(decision.person_id == reader.person.pk for decision in request.decisions.all())
    successor = successor_of(request)
    events = events_after(request)
    next_pk = next_for(View(reader.tenant.pk, reader.person, mine, now), other_than=request.pk)
    return presenters.RequestPage(
        pk=str(request.pk),
        id=request.code,
        title=_flat(request.effect),
        effect=reveal(request.effect),
        tier=Tier(level_of(request)),
        tier_reason=next((_flat(words) for _, effect, words in request.reasons if effect == "ask"), ""),
        status=status,
        decision=_decision(reader, request, status, events),
        outcome=_outcome(request, events) if status == "approved" else None,
        conflict=answer.conflict,
        differences=_differences(request, successor, answer),
        draft=answer.draft,
        panel=_panel(request, answer) if status == "pending" and request.queue_id in mine and not voted else None,
        cannot=_cannot(request, voted=voted),
        tool=request.tool,
        tool_version=str(request.tool_version),
        **_proposed(request),
        evidence=[_evidence(request)],
        rules=[
            Rule(text=_flat(words), code=rule, effect=_EFFECTS.get(effect, effect))
            for rule, effect, words in request.reasons
        ],
        policy_version=request.policy_version,
        steps=_steps(request),
        queue=request.queue.name,
        next_pk=str(next_pk) if next_pk else "",
        **_session(request),
        **_line_of(request, successor),
        **_changes(request),
        **_digest(request),
        **_timing(request, now),
    )


def _line_of(request: ApprovalRequest, successor: ApprovalRequest | None) -> dict[str, Any]:
    """The requests that this one replaced and was replaced by."""
    before = request.supersedes
    return {
        "predecessor_pk": str(before.pk) if before else "",
        "predecessor_id": before.code if before else "",
        "successor_pk": str(successor.pk) if successor else "",
    }


def _cannot(request: ApprovalRequest, *, voted: bool) -> tuple[str, str]:
    """Return why the reader has no form: in a few words, and what it takes."""
    if not voted:
        words = f"That needs an approver of the queue {request.queue.name}."
        return "You can read this request, not decide it.", words
    missing = request.people - len(approvals_of(request))
    words = f"It is carried out after {missing} more {'person has' if missing == 1 else 'people have'} approved it."
    return "You have approved this request.", words


def status_of(request: ApprovalRequest, now: datetime) -> presenters.RequestStatus:
    """Return what became of a request. One past its time is expired, recorded as such yet or not."""
    if request.state == ApprovalState.PENDING and now >= request.expires_at:
        return "expired"
    return cast("presenters.RequestStatus", request.state)


def long_arguments(arguments: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the arguments that are folded on the page, and must be opened before approving."""
    return tuple(name for name, value in arguments.items() if _is_long(_written(value)))


_EFFECTS = {"ask": "asks", "forbid": "denies", "allow": "allows"}


def _flat(text: str) -> str:
    return "".join(f"[{part.name}]" if part.name else part.text for part in reveal(text))


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2)


def _is_long(text: str) -> bool:
    return len(text) > LONG_CHARACTERS or text.count("\n") >= LONG_LINES


def _proposed(request: ApprovalRequest) -> dict[str, Any]:
    """The arguments with where they came from, and what was found out about the call as a whole."""
    facts, arguments = request.facts, request.arguments
    came_from = provenance.came_from(facts, arguments, observed_before(request) if facts else ())
    return {
        "arguments": [_argument(facts, name, value, came_from[name]) for name, value in arguments.items()],
        "traced": "flow" in facts,
        "red_lines": provenance.red_lines(facts),
        "risk": provenance.risk_of(facts),
        "findings": provenance.findings_of(facts, arguments),
    }


def _argument(
    facts: Mapping[str, Any], name: str, value: Any, came_from: Sequence[presenters.CameFrom]
) -> presenters.Argument:
    text = _written(value)
    pieces = provenance.pieces_of(facts, name, value, text)
    return presenters.Argument(
        name=name,
        value=provenance.joined(pieces) or reveal(text) or plain("(empty text)"),
        size=bytes_words(len(text.encode())),
        long=_is_long(text),
        came_from=came_from,
        tone=provenance.tone_of(facts, name),
        pieces=pieces,
    )


def _changes(request: ApprovalRequest) -> dict[str, Any]:
    lines = request.preview["changes"]
    records = [f"{record} version {version}" for record, version in request.preview["versions"].items()]
    sums = [request.target, f"{len(records)} record{'' if len(records) == 1 else 's'}", amount_words(request)]
    return {
        "changes": [
            presenters.Change(label=_flat(label), before=reveal(before), after=reveal(after))
            for label, before, after in lines
            if before != after
        ],
        "unchanged": [_flat(label) for label, before, after in lines if before == after],
        "record": _flat(", ".join(records)),
        "read_at": request.created_at,
        "reversibility": f"{request.reversibility[:1].upper()}{request.reversibility[1:]}.",
        "blast_radius": _flat(", ".join(filter(None, sums))),
    }


def _digest(request: ApprovalRequest) -> dict[str, Any]:
    short = request.digest[:12]
    return {"digest": f"{short[:4]} {short[4:8]} {short[8:]}", "digest_full": request.digest}


def _timing(request: ApprovalRequest, now: datetime) -> dict[str, Any]:
    left = request.expires_at - now
    return {
        "votes_in": len(approvals_of(request)),
        "votes_needed": request.people,
        "created": request.created_at,
        "due": request.expires_at,
        "time_left": time_left_words(left.total_seconds()),
        "soon": left < SOON,
        "share_left": share_left(request, now),
        "if_nobody": IF_NOBODY,
    }


def _panel(request: ApprovalRequest, answer: Answer) -> presenters.DecidePanel:
    what = [request.tool.replace("_", " "), amount_words(request)]
    return presenters.DecidePanel(
        digest=request.digest,
        approve_label=f"Approve: {', '.join(filter(None, what))}",
        reasons=[presenters.ReasonChoice(code=code, label=label) for code, label in REASONS],
        asks_check=level_of(request) >= 2,
        must_open=long_arguments(request.arguments),
        draft=answer.draft,
        errors=answer.errors or {},
    )


def _decision(
    reader: Reader, request: ApprovalRequest, status: presenters.RequestStatus, events: Sequence[LedgerEvent]
) -> presenters.Decision | None:
    if status == "voided":
        at = next((e.at for e in events if e.type == _VOIDED and e.refs.get("request") == str(request.pk)), None)
        return presenters.Decision(at=at or request.closed_at or request.created_at, by="", reason=request.void_reason)
    if status not in ("approved", "rejected"):
        return None
    decision, by = request.decisions.all()[0], names_of(request, reader.person)
    return presenters.Decision(at=decision.at, by=by, reason=decision.reason, checked=decision.checked)


_VOIDED = "approval.voided"

_OUTCOMES = {
    InvocationState.AWAITING_APPROVAL: (State("plain", "waiting for the agent"), "The agent carries it out next."),
    InvocationState.INTENDED: (State("plain", "under way"), "It was sent; the answer is not in yet."),
    InvocationState.SUCCEEDED: (State("ok", "done"), "Carried out once."),
    InvocationState.FAILED: (State("stop", "failed"), "It had no effect."),
    InvocationState.UNKNOWN: (
        State("stop", "outcome unknown, reconcile"),
        "It may or may not have taken effect, and is not repeated. Check with the system of record.",
    ),
    InvocationState.REFUSED: (State("stop", "refused"), "It was no longer possible, so nothing was carried out."),
}
_ENDINGS = ("call.succeeded", "call.failed", "call.unknown", "call.refused")
_PROOFS = ("transaction_id", "transaction", "receipt_id", "receipt", "refund_id", "operation_id", "confirmation")


def _outcome(request: ApprovalRequest, events: Sequence[LedgerEvent]) -> presenters.EffectOutcome:
    invocation = Invocation.objects.get(pk=request.invocation_id)
    state, words = _OUTCOMES[InvocationState(invocation.state)]
    ending = next((event for event in reversed(events) if event.type in _ENDINGS), None)
    if ending is None:
        return presenters.EffectOutcome(state=state, words=words)
    body = payload_of(request.session_id, ending.position)
    result = body.get("result") if isinstance(body, dict) else None
    told = result if isinstance(result, dict) else {}
    if ending.type != "call.succeeded":
        words = f"{words} {_flat(str(told.get('message', '')))}".strip()
    proof = next((str(told[name]) for name in _PROOFS if told.get(name)), "")
    return presenters.EffectOutcome(state=state, words=words, at=ending.at, proof=_flat(proof))


def _evidence(request: ApprovalRequest) -> UntrustedText:
    opened = payload_of(request.session_id, 0)
    received = opened.get("received_at") if isinstance(opened, dict) else None
    return UntrustedText(
        source=_flat(f"{request.subject_kind.capitalize()} {request.subject_id}"),
        author=reveal(request.sender),
        at=datetime.fromisoformat(received) if received else request.created_at,
        body=reveal("\n\n".join(filter(None, (request.subject_title, request.subject_text)))),
    )


_DID = {
    "call.read": "",
    "call.read_failed": "failed",
    "call.refused": "refused",
    "call.intended": "was sent",
    "call.failed": "failed",
    "call.unknown": "outcome unknown",
}


def _steps(request: ApprovalRequest) -> list[presenters.StepLink]:
    found = []
    for event, body in steps_before(request, limit=LAST_STEPS):
        did = " ".join(filter(None, (_DID[event.type], event.facts.get("code"))))
        words = ": ".join(filter(None, (did, _in_a_line(body.get("arguments")))))
        label = _flat(event.facts.get("tool", ""))
        found.append(presenters.StepLink(position=event.position, label=label, detail=reveal_cut(words, 160)))
    return found


def _in_a_line(arguments: Any) -> str:
    if isinstance(arguments, dict):
        values = (value if isinstance(value, str) else json.dumps(value) for value in arguments.values())
        return ", ".join(values)
    return arguments if isinstance(arguments, str) else ""


def _session(request: ApprovalRequest) -> dict[str, Any]:
    """The session that asks, what its planner claims, and who began it by hand: nobody when work came in by itself."""
    session = Session.objects.filter(pk=request.session_id).first()
    begun_by = session.created_by if session else ""
    return {
        "rationale": reveal(request.rationale),
        "rationale_size": bytes_words(len(request.rationale.encode())),
        "rationale_by": session.planner if session and session.planner else request.agent,
        "asked_by": begun_by.removeprefix("user:") if begun_by.startswith("user:") else "",
        "agent": request.agent,
        "session_pk": str(request.session_id),
        "session_id": session_code(request.session_id),
        "position": request.position,
    }


def _differences(
    request: ApprovalRequest, successor: ApprovalRequest | None, answer: Answer
) -> list[presenters.Change]:
    """What moved: from this request to the one that replaced it, or from the one that this one replaced."""
    if successor is not None:
        return differences(request, successor)
    before = request.supersedes
    if before is None or (answer.conflict == "changed" and answer.seen_digest != before.digest):
        return []
    return differences(before, request)


def differences(old: ApprovalRequest, new: ApprovalRequest) -> list[presenters.Change]:
    """Return what two requests for the same call say differently, the old words before the new ones."""
    was, now = _statements(old), _statements(new)
    return [
        presenters.Change(label=_flat(label), before=reveal(was.get(label, "")), after=reveal(now.get(label, "")))
        for label in [*was, *(label for label in now if label not in was)]
        if was.get(label) != now.get(label)
    ]


def _statements(request: ApprovalRequest) -> dict[str, str]:
    found = {"Effect": request.effect, "Target": request.target}
    for label, before, after in request.preview["changes"]:
        found[f"{label}, now"] = before
        found[f"{label}, after"] = after
    money = request.preview["money"]
    found["Amount"] = str(Money(*money)) if money else ""
    found |= {f"Version of {record}": str(version) for record, version in request.preview["versions"].items()}
    found["Approvals needed"] = str(request.people)
    return found | {"Version of the tool": str(request.tool_version), "Rules": request.policy_version}
