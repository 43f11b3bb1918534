"""Soft writes to incidents: what is known is written down, they end, go to a person, or are worked on again."""

from typing import Any

from agentops.kernel.errors import FailureKind
from agentops.registry.declare import Schema, Undo, closed, integer, ref, text, undone_by
from agentops.registry.tool import Arguments, Result, ToolFailure, UndoCall
from sre_agent.connectors.port import (
    EscalateIncident,
    OpenIncident,
    ReopenIncident,
    ResolveIncident,
    UpdateIncident,
    WithdrawIncident,
)
from sre_agent.tools import flows
from sre_agent.tools.parts import (
    FLAG,
    MOST_SUMMARY,
    ON_DESK,
    OUT_NAME,
    OUT_STATUS,
    OUT_VERSION,
    REASON,
    SERVICE,
    desk_write,
)

MOST_TITLE = 300
LEAST_URGENT = 4

_PRIORITY = integer("0 is the most urgent.", most=LEAST_URGENT)
_OUT = closed({"incident_id": OUT_NAME, "status": OUT_STATUS})
_STATE: dict[str, Schema] = {
    "summary": text(MOST_SUMMARY, least=0),
    "priority": integer(most=LEAST_URGENT),
    "mitigated": FLAG,
}


def _open(arguments: Arguments) -> OpenIncident:
    return OpenIncident(arguments["service"], arguments["title"], arguments["summary"], arguments["priority"])


def _withdraw(arguments: Arguments) -> WithdrawIncident:
    return WithdrawIncident(arguments["incident_id"])


def _update(arguments: Arguments) -> UpdateIncident:
    if not arguments:
        raise ToolFailure(FailureKind.VALIDATION, "Say what is to be changed: summary, priority or mitigated.")
    return UpdateIncident(arguments.get("summary"), arguments.get("priority"), arguments.get("mitigated"))


def _resolve(arguments: Arguments) -> ResolveIncident:
    return ResolveIncident(arguments["cause"], arguments["remedy"])


def _reopen(arguments: Arguments) -> ReopenIncident:
    return ReopenIncident(arguments["reason"])


def _escalate(arguments: Arguments) -> EscalateIncident:
    return EscalateIncident(arguments["reason"], arguments["summary"])


def _update_undone(arguments: Arguments, result: Result) -> UndoCall | None:
    """What was not given was not changed, and stays."""
    before: dict[str, Any] = result.get("before", {})
    changed = {name: before[name] for name in arguments if name in before}
    return ("update_incident", changed) if changed else None


def _reopened(why: str) -> Undo:
    def undo(arguments: Arguments, result: Result) -> UndoCall | None:
        return "reopen_incident", {"reason": why}

    return undo


OPEN_INCIDENT = desk_write(
    name="open_incident",
    version=1,
    description=(
        "Opens another incident, about trouble of another service that this incident is not the cause of. It is worked"
        " by itself. For what belongs to this incident use update_incident."
    ),
    input_schema=closed(
        {
            "service": SERVICE,
            "title": text(MOST_TITLE, "What is wrong, in a few words."),
            "summary": text(MOST_SUMMARY, "What was seen, and when."),
            "priority": _PRIORITY,
        }
    ),
    output_schema=closed({"incident_id": OUT_NAME}),
    auth_scope="sre:incidents:write",
    flow=flows.OPEN_INCIDENT,
    run=ON_DESK.runs(_open),
    examples=(
        {
            "service": "mailer",
            "title": "mailer cannot write to its disk",
            "summary": "Its disk is full since 09:40. checkout does not need it.",
            "priority": 3,
        },
    ),
    undo="it can be withdrawn until somebody works on it",
    undo_call=undone_by("withdraw_incident", {"incident_id": "incident_id"}),
    preview=ON_DESK.previews(_open),
    tags=("incidents",),
    worst="opens incidents about nothing, each of which is worked",
    stopped_by="asks unless the request speaks of another incident; it can be withdrawn",
)

WITHDRAW_INCIDENT = desk_write(
    name="withdraw_incident",
    version=1,
    description=(
        "Takes back an incident that open_incident opened by mistake, as long as nobody has begun to work on it."
    ),
    input_schema=closed({"incident_id": ref("The incident_id that open_incident returned.")}),
    output_schema=_OUT,
    auth_scope="sre:incidents:write",
    flow=flows.WITHDRAW_INCIDENT,
    run=ON_DESK.runs(_withdraw),
    examples=({"incident_id": "INC-4F0A21"},),
    undo="it can be opened again",
    preview=ON_DESK.previews(_withdraw),
    tags=("incidents",),
    worst="withdraws an incident that somebody should have looked at",
    stopped_by="only incidents that an agent opened and nobody has begun; it stays on record and can be opened again",
)

UPDATE_INCIDENT = desk_write(
    name="update_incident",
    version=1,
    description=(
        "Writes down what is known of this incident: summary replaces what stood there and is what the post-mortem is"
        " drafted from, priority is 0 to 4, mitigated says that customers do not feel it any more. Name what changes."
        " Write the summary anew with each thing that you find out."
    ),
    input_schema=closed(
        {
            "summary": text(MOST_SUMMARY, "What is known by now: what fails, since when, why, what was done.", least=0),
            "priority": _PRIORITY,
            "mitigated": {**FLAG, "description": "Whether customers do not feel it any more."},
        },
        optional=("summary", "priority", "mitigated"),
    ),
    output_schema=closed({"incident_id": OUT_NAME, "version": OUT_VERSION, "before": closed(_STATE)}),
    auth_scope="sre:incidents:write",
    flow=flows.UPDATE_INCIDENT,
    run=ON_DESK.runs(_update),
    examples=(
        {"summary": "Requests to checkout fail since release 1.10.0. It is being rolled back."},
        {"mitigated": True},
        {"priority": 1},
    ),
    undo="what stood there before can be written back",
    undo_call=_update_undone,
    preview=ON_DESK.previews(_update),
    versioned=True,
    tags=("incidents",),
    worst="makes an incident look less urgent than it is",
    stopped_by="this incident only; what stood there before is kept; alerts go on calling people",
)

RESOLVE_INCIDENT = desk_write(
    name="resolve_incident",
    version=1,
    description=(
        "Ends this incident. Possible once the last write on the platform was verified as sound, or when nothing had to"
        " be changed and the figures are sound, and no alert of it fires. cause is why it came about, remedy what ended"
        " it; both stand in the post-mortem."
    ),
    input_schema=closed(
        {
            "cause": text(MOST_SUMMARY, "Why it came about, as far as it was found out."),
            "remedy": text(MOST_SUMMARY, "What ended it."),
        }
    ),
    output_schema=_OUT,
    auth_scope="sre:incidents:write",
    flow=flows.RESOLVE_INCIDENT,
    run=ON_DESK.runs(_resolve),
    examples=({"cause": "Release 1.10.0 fails on orders without a coupon.", "remedy": "checkout runs 1.9.0 again."},),
    undo="the incident can be opened again",
    undo_call=_reopened("It was not over."),
    preview=ON_DESK.previews(_resolve),
    versioned=True,
    tags=("incidents",),
    outcome="resolved",
    worst="ends an incident that goes on",
    stopped_by=(
        "refused while an alert fires or a change is not verified; a new alert opens a new incident; it can be reopened"
    ),
)

REOPEN_INCIDENT = desk_write(
    name="reopen_incident",
    version=1,
    description="Opens this incident again after it was resolved or handed over, when it turns out not to be over.",
    input_schema=closed({"reason": REASON}),
    output_schema=_OUT,
    auth_scope="sre:incidents:write",
    flow=flows.REOPEN_INCIDENT,
    run=ON_DESK.runs(_reopen),
    examples=({"reason": "Requests fail again since 10:20."},),
    undo="the incident can be resolved again",
    preview=ON_DESK.previews(_reopen),
    versioned=True,
    tags=("incidents",),
    worst="opens an incident that is over",
    stopped_by="this incident only, and only when it is over or with a person",
)

ESCALATE_INCIDENT = desk_write(
    name="escalate_incident",
    version=1,
    description=(
        "Hands this incident to a person. Use it when you cannot tell what is wrong, when a write did not help and was"
        " taken back, when the outcome of a write is not known, or when no tool does what is needed. Say what was"
        " found, what was done, what is left. Nothing more can be changed by you afterwards."
    ),
    input_schema=closed(
        {
            "reason": text(300, "Why a person is needed, in one sentence."),
            "summary": text(MOST_SUMMARY, "What was found, what was done, what is left."),
        }
    ),
    output_schema=_OUT,
    auth_scope="sre:incidents:write",
    flow=flows.ESCALATE_INCIDENT,
    run=ON_DESK.runs(_escalate),
    examples=(
        {
            "reason": "The rollback did not help.",
            "summary": "checkout fails since 09:40. It was rolled back and still fails. The cause is not known.",
        },
    ),
    undo="the incident can be opened again",
    undo_call=_reopened("It can be worked on after all."),
    preview=ON_DESK.previews(_escalate),
    versioned=True,
    tags=("incidents",),
    outcome="escalated",
    worst="floods people with incidents",
    stopped_by="one incident a session",
)

INCIDENT_WRITES = (
    OPEN_INCIDENT,
    WITHDRAW_INCIDENT,
    UPDATE_INCIDENT,
    RESOLVE_INCIDENT,
    REOPEN_INCIDENT,
    ESCALATE_INCIDENT,
)
