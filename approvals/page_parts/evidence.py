"""Why it asks, as evidence: the person's message, the last steps, what was read, and what people decided before."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from agentops.console.marks import Rule, UntrustedText
from agentops.console.reveal import reveal, reveal_cut
from agentops.kernel.canonical import JSON
from agentops.ledger.payloads import Erased, Opened
from agentops.ledger.queries import reads_of
from approvals.insight.similar import similar_to
from approvals.models import ApprovalRequest
from approvals.page_parts.words import flat, written
from approvals.queries import steps_before
from approvals.request_presenters import Citation, StepLink

LAST_STEPS = 5
STEPS_READ = 20
"""So many calls before the question are looked through for documents that were read."""

MOST_CITATIONS = 8
_EFFECTS = {"ask": "asks", "forbid": "denies", "allow": "allows"}
_DID = {
    "call.read": "",
    "call.read_failed": "failed",
    "call.refused": "refused",
    "call.intended": "was sent",
    "call.failed": "failed",
    "call.unknown": "outcome unknown",
}
_PASSAGE = frozenset({"id", "title", "passage"})


def evidence(request: ApprovalRequest) -> dict[str, Any]:
    """Everything under the heading Evidence."""
    steps = steps_before(request, limit=STEPS_READ)
    cited = {
        (str(entry["id"]), str(entry["title"])): event.position
        for event, body in steps
        for entry in _passages(body.get("result"))
    }
    return {
        "evidence": [_message(request)],
        "rules": [
            Rule(text=flat(words), code=rule, effect=_EFFECTS.get(effect, effect))
            for rule, effect, words in request.reasons
        ],
        "policy_version": request.policy_version,
        "steps": [_step(event.position, event.type, event.facts, body) for event, body in steps[-LAST_STEPS:]],
        "citations": [
            Citation(position=position, document=reveal_cut(f"{title} ({ref})", 160))
            for (ref, title), position in list(cited.items())[-MOST_CITATIONS:]
        ],
        "similar": similar_to(request),
    }


def _message(request: ApprovalRequest) -> UntrustedText:
    read = reads_of(request.session_id, [0]).get(0)
    opened = read.value if isinstance(read, Opened) else None
    received = opened.get("received_at") if isinstance(opened, dict) else None
    words = "\n\n".join(filter(None, (request.subject_title, request.subject_text)))
    if isinstance(read, Erased):
        words = f"Erased on {read.at:%Y-%m-%d %H:%M} UTC."
    return UntrustedText(
        source=flat(f"{request.subject_kind.capitalize()} {request.subject_id}"),
        author=reveal(request.sender),
        at=datetime.fromisoformat(received) if received else request.created_at,
        body=reveal(words),
    )


def _step(position: int, type_: str, facts: Mapping[str, Any], body: Mapping[str, Any]) -> StepLink:
    did = " ".join(filter(None, (_DID[type_], facts.get("code"))))
    words = ": ".join(filter(None, (did, _in_a_line(body.get("arguments")))))
    return StepLink(position=position, label=flat(facts.get("tool", "")), detail=reveal_cut(words, 160))


def _in_a_line(arguments: JSON) -> str:
    if isinstance(arguments, dict):
        return ", ".join(written(value) for value in arguments.values())
    return arguments if isinstance(arguments, str) else ""


def _passages(result: JSON) -> Iterator[Mapping[str, Any]]:
    """The passages of documents in what a tool returned: entries with an id, a title and the text."""
    for value in result.values() if isinstance(result, dict) else ():
        for entry in value if isinstance(value, list) else ():
            if isinstance(entry, dict) and entry.keys() >= _PASSAGE:
                yield entry
