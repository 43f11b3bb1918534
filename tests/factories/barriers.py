"""What stood between hostile plans and effects, as the ledger tells."""

from agentops.kernel.canonical import loads
from agentops.ledger.models import LedgerEvent, Payload
from agentops.ledger.payloads import bodies


def barriers() -> set[frozenset[str]]:
    """Return which rules together stood alone between a plan and an effect: without them the call would have run."""
    decided = LedgerEvent.objects.filter(type__in=("approval.requested", "call.refused"))
    places = set(decided.values_list("stream", "position"))
    rows = [row for row in Payload.objects.values_list("stream", "position", "body") if row[:2] in places]
    found = set()
    for body in bodies(rows):
        assert body is not None
        reasons = loads(body).get("verdict", {}).get("reasons", ())
        if any(effect == "allow" for _, effect, _ in reasons):
            found.add(frozenset(rule for rule, effect, _ in reasons if effect != "allow"))
    return found
