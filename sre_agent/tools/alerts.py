"""Soft writes about alerts: nobody is called for a while, or is again."""

from agentops.registry.declare import closed, integer, ref, undone_by
from agentops.registry.tool import Arguments
from sre_agent.connectors.port import Silence, Unsilence
from sre_agent.tools import flows
from sre_agent.tools.parts import ON_DESK, OUT_MOMENT, OUT_NAME, REASON, desk_write

LEAST_MINUTES, MOST_MINUTES = 5, 240

_ALERT = ref("The alert's id, as read_incident gives it.")


def _silence(arguments: Arguments) -> Silence:
    return Silence(arguments["alert_id"], arguments["minutes"])


def _unsilence(arguments: Arguments) -> Unsilence:
    return Unsilence(arguments["alert_id"])


SILENCE_ALERT = desk_write(
    name="silence_alert",
    version=1,
    description=(
        "Lets nobody be called about an alert of this incident for some minutes; it goes on firing and is seen. Use it"
        " when people know and are called again and again. It ends by itself."
    ),
    input_schema=closed(
        {
            "alert_id": _ALERT,
            "minutes": integer("For how long.", least=LEAST_MINUTES, most=MOST_MINUTES),
            "reason": REASON,
        }
    ),
    output_schema=closed({"alert_id": OUT_NAME, "silenced_until": OUT_MOMENT}),
    auth_scope="sre:alerts:write",
    flow=flows.SILENCE_ALERT,
    run=ON_DESK.runs(_silence),
    examples=({"alert_id": "AL-77A410", "minutes": 30, "reason": "The on-call engineer works on it."},),
    undo="people can be called about it again; it ends by itself",
    undo_call=undone_by("unsilence_alert", {"alert_id": "alert_id"}),
    preview=ON_DESK.previews(_silence),
    versioned=True,
    tags=("alerts",),
    worst="nobody is called about an alert for four hours",
    stopped_by="alerts of this incident only; four hours at most, then it ends by itself; the incident stays open",
)

UNSILENCE_ALERT = desk_write(
    name="unsilence_alert",
    version=1,
    description="Lets people be called about an alert of this incident again.",
    input_schema=closed({"alert_id": _ALERT}),
    output_schema=closed({"alert_id": OUT_NAME}),
    auth_scope="sre:alerts:write",
    flow=flows.UNSILENCE_ALERT,
    run=ON_DESK.runs(_unsilence),
    examples=({"alert_id": "AL-77A410"},),
    undo="it can be silenced again",
    preview=ON_DESK.previews(_unsilence),
    versioned=True,
    tags=("alerts",),
    worst="somebody is called at night about what is known",
    stopped_by="alerts of this incident only; it can be silenced again",
)

ALERTS = (SILENCE_ALERT, UNSILENCE_ALERT)
