"""The evidence pack of one call: what was asked, what was decided, what was called, what the vendor answered."""

from collections.abc import Iterator
from dataclasses import dataclass

from agentops.console import queries
from agentops.kernel.canonical import JSON
from agentops.ledger.append import Event, append_to
from agentops.ledger.packing import Evidence, Statement, gather, packed
from agentops.ledger.signing_keys import public_keys
from agentops.runtime.models import Session
from agentops.tenancy.access import Reader

_ANSWERED = frozenset({"call.succeeded", "call.failed", "call.unknown", "call.reconciled", "call.compensated"})
_SENT = frozenset({"arguments", "tool", "preview", "key"})
_ORDER = ("Request", "Decision", "Tool call", "Result", "Other")


@dataclass(frozen=True)
class Pack:
    """A file to download."""

    name: str
    content: bytes


def evidence_pack(session: Session, position: int, reader: Reader) -> Pack | None:
    """Return the pack of the call that the event at ``position`` tells of, None when it tells of none.

    Taking it out is an event itself, in the stream ``exports:evidence``. Raises NotProvable while no checkpoint covers
    all of the call's events, EventGone and LogIncomplete.
    """
    positions = queries.related_positions(session.pk, position)
    if positions is None:
        return None
    wanted = sorted({0, *positions})
    evidence = gather(session.pk, wanted)
    content = packed(evidence, _statements(evidence), keys=[key.vkey() for key in public_keys()])
    name = f"evidence-{session.pk}-step-{positions[0]}.zip"
    _record(session, positions, evidence.checkpoint.size, reader)
    return Pack(name, content)


def _record(session: Session, positions: list[int], size: int, reader: Reader) -> None:
    facts: dict[str, JSON] = {"positions": list(positions), "checkpoint": size}
    event = Event("evidence.exported", reader.actor, facts, {"session": str(session.pk)})
    append_to(tenant_id=session.tenant_id, name="exports:evidence", events=[event])


def _statements(evidence: Evidence) -> list[Statement]:
    """Return everything that the events say, the request first."""
    told = [each for position, proof in evidence.proofs.items() for each in _told(position, proof)]
    return sorted(told, key=lambda each: _ORDER.index(each.section))


def _told(position: int, proof: dict[str, JSON]) -> Iterator[Statement]:
    event, body = proof["event"], proof.get("body")
    section = _section(event["type"], position)
    places: list[tuple[str, tuple[str, ...]]] = [("when", ("at",)), ("who", ("actor",)), ("what", ("type",))]
    places += [(name, ("facts", name)) for name in event["facts"]]
    places += [(name, ("body", name)) for name in (body if isinstance(body, dict) else ())]
    for name, place in places:
        sent = position and name in _SENT and len(place) > 1
        yield Statement("Tool call" if sent else section, f"{event['type']}: {_words(name)}", position, place)


def _section(kind: str, position: int) -> str:
    if position == 0:
        return "Request"
    if kind in _ANSWERED:
        return "Result"
    return "Decision" if kind.startswith(("approval.", "call.")) else "Other"


def _words(name: str) -> str:
    return name.replace("_", " ")
