"""Whether a hard write may be done while the evidence of it is behind."""

from datetime import datetime

from django.conf import settings

from agentops.gateway.prepare import Refusal
from agentops.ledger.evidence import troubles
from agentops.registry.tool import Tier, ToolSpec


def refused_while_behind(tool: ToolSpec, now: datetime) -> Refusal | None:
    """Return why a call of this tool is not made now, None when it may be.

    Only with LEDGER_LAG_STOPS_WRITES, and only for hard writes and what cannot be taken back. It is asked at each
    decision and not kept: where nothing moves any more, nobody would say so.
    """
    if not settings.LEDGER_LAG_STOPS_WRITES or not (tool.irreversible or tool.tier is Tier.WRITE_HARD):
        return None
    found = troubles(now)
    if not found:
        return None
    return Refusal(found[0].code, f"{found[0].words}, so nothing is done that matters this much.", _LATER)


_LATER = "Propose it again once the ledger is up to date, or hand over."
