"""What the role's tools do with the values they are given, and who wrote what they return.

Names, versions and figures are the house's own. What programs log, what alerts and deploys say of themselves and what
was noted about an incident is text by somebody else: it may describe, and must not choose a service, a node, a release
or a number of replicas. The only record that gives a number of replicas is the one that says how many ran before.

A reason is kept beside the call for whoever reads it later. No effect depends on it, so it counts as a label; what is
composed for people to act on, such as a hand-over, is text.
"""

from collections.abc import Mapping

from agentops.registry.flow import COUNT, Argument, Field, Flow, Intent, Kind, Trust

READ, RESTART, SCALE, STOP, DELETE, ROLL_BACK, DRAIN, RUNBOOK = (
    "look up",
    "restart",
    "scale",
    "stop",
    "delete",
    "roll back",
    "drain",
    "run a procedure",
)
SILENCE, OPEN, INCIDENT, PAGE, STATUS, TAKE_BACK = (
    "silence",
    "open an incident",
    "incident",
    "page",
    "draft a status update",
    "take back",
)

INTENTS = (
    Intent(RESTART),
    Intent(SCALE),
    Intent(ROLL_BACK),
    Intent(DRAIN),
    Intent(RUNBOOK),
    Intent(SILENCE),
    Intent(INCIDENT),
    Intent(PAGE),
    Intent(STATUS),
    Intent(TAKE_BACK),
    Intent(STOP, ("stop service", "shut down", "switch off", "take out of service", "scale to zero")),
    Intent(DELETE, ("delete replica*", "delete pod*", "kill replica*", "kill pod*")),
    Intent(OPEN, ("open incident", "another incident", "separate incident", "new incident")),
)
"""An incident asks for whatever diagnoses and mends it; people ask in words for what stops, deletes or goes beyond."""

_LABEL = Argument(Kind.LABEL)
_TEXT = Argument(Kind.TEXT)
_WHEN = Argument(Kind.WHEN)
_VALUE = Argument(Kind.VALUE)

_OWN_LABEL = Field(Trust.OWN, Kind.LABEL)
_OWN_WHEN = Field(Trust.OWN, Kind.WHEN)
_BEFORE = Field(Trust.OWN, Kind.AMOUNT)
_OTHERS = Field(Trust.UNTRUSTED, Kind.TEXT)
_OTHERS_LABEL = Field(Trust.UNTRUSTED, Kind.LABEL)
_LOGGED = Field(Trust.UNTRUSTED, Kind.TEXT, private=True)


def _ref(of: str) -> Argument:
    return Argument(Kind.REF, of=of)


def _own(of: str) -> Field:
    return Field(Trust.OWN, Kind.REF, of=of)


def _each(above: str, fields: Mapping[str, Field]) -> dict[str, Field]:
    return {f"{above}[].{name}": field for name, field in fields.items()}


_FIGURES = dict.fromkeys(
    ("errors_pm", "latency_ms", "processor_pm", "memory_pm", "disk_pm", "requests", "ready"), _OWN_LABEL
)
_SERVICE: Mapping[str, Field] = {
    "service": _own("service"),
    "tier": _OWN_LABEL,
    "desired": _OWN_LABEL,
    "rolling": _OWN_LABEL,
    "depends_on[]": _own("service"),
    **_FIGURES,
    "seen_version": _OWN_LABEL,
}
_RELEASE: Mapping[str, Field] = {
    "release": _own("release"),
    "at": _OWN_WHEN,
    "by": Field(Trust.THIRD, Kind.LABEL),
    "change": _OTHERS,
}

READ_INCIDENT = Flow(
    READ,
    results={
        "incident_id": _own("incident"),
        "title": _OTHERS,
        "priority": _OWN_LABEL,
        "status": _OWN_LABEL,
        "service": _own("service"),
        "opened_at": _OWN_WHEN,
        "summary": _OTHERS,
        "version": _OWN_LABEL,
        "alerts[].alert_id": _own("alert"),
        "alerts[].rule": _OTHERS_LABEL,
        "alerts[].service": Field(Trust.THIRD, Kind.LABEL),
        "alerts[].priority": _OWN_LABEL,
        "alerts[].words": _OTHERS,
        "alerts[].times": _OWN_LABEL,
        "alerts[].began_at": _OWN_WHEN,
        "alerts[].ended_at": _OWN_WHEN,
        "alerts[].silenced_until": _OWN_WHEN,
        "notes[].at": _OWN_WHEN,
        "notes[].actor": _OWN_LABEL,
        "notes[].kind": _OWN_LABEL,
        "notes[].text": _OTHERS,
        "pages[].page_id": _own("page"),
        "pages[].person": _own("person"),
        "pages[].words": _OTHERS,
        "pages[].paged_at": _OWN_WHEN,
        "drafts[].update_id": _own("status update"),
        "drafts[].text": _OTHERS,
        "drafts[].state": _OWN_LABEL,
    },
)
LIST_SERVICES = Flow(READ, results=_each("services", {**_SERVICE, "release": _own("release")}))
DESCRIBE_SERVICE = Flow(
    READ,
    arguments={"service": _ref("service")},
    document="service",
    results={
        **_SERVICE,
        "place": _OWN_LABEL,
        **_each("releases", _RELEASE),
        "dependants[]": _own("service"),
        "certificate_ends": _OWN_WHEN,
        "claimed_by": _own("incident"),
        "frozen": _OWN_LABEL,
        "replicas[].replica": _own("replica"),
        "replicas[].node": _own("node"),
        "replicas[].ready": _OWN_LABEL,
        "replicas[].memory_pm": _OWN_LABEL,
    },
)
READ_LOGS = Flow(
    READ,
    arguments={"service": _ref("service"), "minutes": _LABEL, "containing": _TEXT},
    document="service",
    results={
        "service": _own("service"),
        "lines[].at": _OWN_WHEN,
        "lines[].level": _OTHERS_LABEL,
        "lines[].replica": _OTHERS_LABEL,
        "lines[].text": _LOGGED,
        "cut": _OWN_LABEL,
    },
)
READ_METRICS = Flow(
    READ,
    arguments={"service": _ref("service"), "minutes": _LABEL},
    document="service",
    results={"service": _own("service"), **_each("points", {"at": _OWN_WHEN, **_FIGURES})},
)
LIST_DEPLOYS = Flow(
    READ,
    arguments={"service": _ref("service"), "hours": _LABEL},
    document="service",
    results={"service": _own("service"), **_each("deploys", _RELEASE)},
)
LIST_NODES = Flow(
    READ,
    results={
        "nodes[].node": _own("node"),
        "nodes[].cordoned": _OWN_LABEL,
        "nodes[].stolen_pm": _OWN_LABEL,
        "nodes[].runs[].service": _own("service"),
        "nodes[].runs[].replicas": _OWN_LABEL,
        "nodes[].seen_version": _OWN_LABEL,
    },
)
VERIFY_CHANGE = Flow(
    READ,
    arguments={"target": _VALUE},
    document="target",
    results={"target": _OWN_LABEL, "tool": _OWN_LABEL, "sound": _OWN_LABEL, "problems[]": _OWN_LABEL},
)
LIST_ON_CALL = Flow(
    READ, results={"people[].person": _own("person"), "people[].level": _OWN_LABEL, "people[].until": _OWN_WHEN}
)
LIST_RUNBOOKS = Flow(
    READ,
    results={
        "runbooks[].runbook": Field(Trust.HOUSE, Kind.VALUE),
        "runbooks[].what_it_does": Field(Trust.HOUSE, Kind.TEXT),
        "runbooks[].opposite": Field(Trust.HOUSE, Kind.VALUE),
    },
)

_BOUND = {"seen_version": _VALUE, "reason": _LABEL}
_ON_SERVICE = {"service": _ref("service"), **_BOUND}
_ON_NODE = {"node": _ref("node"), **_BOUND}
_CHANGED: Mapping[str, Field] = {
    "service": _own("service"),
    "node": _own("node"),
    "replica": _own("replica"),
    "version": _OWN_LABEL,
    "ready_wanted": _OWN_LABEL,
    "verify_after_s": _OWN_LABEL,
    "replicas_before": _BEFORE,
    "release_before": _own("release"),
    "cordoned": _OWN_LABEL,
    "runbook": Field(Trust.OWN, Kind.VALUE),
}
RESTART_SERVICE = Flow(RESTART, arguments=_ON_SERVICE, results=_CHANGED)
HALT_RESTART = Flow(TAKE_BACK, arguments=_ON_SERVICE, results=_CHANGED)
SCALE_SERVICE = Flow(SCALE, arguments={**_ON_SERVICE, "replicas": Argument(Kind.AMOUNT, of=COUNT)}, results=_CHANGED)
STOP_SERVICE = Flow(STOP, arguments=_ON_SERVICE, results=_CHANGED)
DELETE_REPLICA = Flow(DELETE, arguments={**_ON_SERVICE, "replica": _ref("replica")}, results=_CHANGED)
ROLL_BACK_SERVICE = Flow(ROLL_BACK, arguments={**_ON_SERVICE, "release": _ref("release")}, results=_CHANGED)
DRAIN_NODE = Flow(DRAIN, arguments=_ON_NODE, results=_CHANGED)
UNCORDON_NODE = Flow(TAKE_BACK, arguments=_ON_NODE, results=_CHANGED)
RUN_RUNBOOK = Flow(RUNBOOK, arguments={**_ON_SERVICE, "runbook": _VALUE}, results=_CHANGED)

_KEPT: Mapping[str, Field] = {
    "alert_id": _own("alert"),
    "silenced_until": _OWN_WHEN,
    "incident_id": _own("incident"),
    "status": _OWN_LABEL,
    "version": _OWN_LABEL,
    "before.summary": _OTHERS,
    "before.priority": _OWN_LABEL,
    "before.mitigated": _OWN_LABEL,
    "page_id": _own("page"),
    "person": _own("person"),
    "update_id": _own("status update"),
}
SILENCE_ALERT = Flow(SILENCE, arguments={"alert_id": _ref("alert"), "minutes": _WHEN, "reason": _TEXT}, results=_KEPT)
UNSILENCE_ALERT = Flow(TAKE_BACK, arguments={"alert_id": _ref("alert")}, results=_KEPT)
OPEN_INCIDENT = Flow(
    OPEN,
    arguments={"service": _ref("service"), "title": _TEXT, "summary": _TEXT, "priority": _LABEL},
    results=_KEPT,
)
WITHDRAW_INCIDENT = Flow(TAKE_BACK, arguments={"incident_id": _ref("incident")}, results=_KEPT)
UPDATE_INCIDENT = Flow(INCIDENT, arguments={"summary": _TEXT, "priority": _LABEL, "mitigated": _LABEL}, results=_KEPT)
RESOLVE_INCIDENT = Flow(INCIDENT, arguments={"cause": _TEXT, "remedy": _TEXT}, results=_KEPT)
REOPEN_INCIDENT = Flow(TAKE_BACK, arguments={"reason": _TEXT}, results=_KEPT)
ESCALATE_INCIDENT = Flow(INCIDENT, arguments={"reason": _TEXT, "summary": _TEXT}, results=_KEPT)
PAGE_PERSON = Flow(PAGE, arguments={"level": _LABEL, "words": _TEXT}, results=_KEPT)
WITHDRAW_PAGE = Flow(TAKE_BACK, arguments={"page_id": _ref("page")}, results=_KEPT)
DRAFT_STATUS_UPDATE = Flow(STATUS, arguments={"text": _TEXT}, results=_KEPT)
DISCARD_STATUS_UPDATE = Flow(TAKE_BACK, arguments={"update_id": _ref("status update")}, results=_KEPT)
