"""The processes of the SRE role as state charts: changing the platform, and the incident itself (pure).

Steps are writes alone. Look-ups are free at any time, and what they told is what the guards ask for: nothing is changed
that was not looked at, nothing more before the last change was verified, and after one that did not help nothing but
what takes it back. An incident ends when what was changed holds, or when nothing had to be.
"""

from collections.abc import Mapping
from typing import Any

from agentops.registry.planner import ObservationStatus
from agentops.registry.process import Edge, Guard, ProcessFacts, ProcessSpec
from sre_agent.changes import ON_NODE, PLATFORM, Change, changes_of
from sre_agent.connectors.effect import SOUND_ERRORS_PM, SOUND_LATENCY_MS

EVIDENCE = ("read_logs", "read_metrics", "list_deploys")


def changeable(tool: str) -> Guard:
    """Return the guard of a write on the platform by ``tool``.

    The incident is still the agent's, the last change was verified and holds, and its target was looked at in this
    session, in the version that the call names. What takes a change of this session back needs none of that.
    """
    looked_at = _LOOKED_AT.get(tool, _service)

    def guard(facts: ProcessFacts) -> str:
        changes = changes_of(facts.history)
        if any(change.is_taken_back_by(tool, facts.arguments) for change in changes):
            return ""
        if _is_over(facts):
            return "The incident is over or with a person; nothing more is changed by you."
        return (_problem_of(changes[-1]) if changes else "") or looked_at(facts) or _version(facts)

    return guard


def resolvable(facts: ProcessFacts) -> str:
    """Require that the last change on the platform holds, or that nothing was changed and the figures are sound."""
    incident = next(facts.told("read_incident"), None)
    if incident is None:
        return "The incident was not read in this session; call read_incident first."
    changes = changes_of(facts.history)
    if changes:
        return _problem_of(changes[-1])
    name = incident["service"]
    latest = _figures(facts, name)
    if not latest:
        return f"Nothing shows how {name or 'it'} does now; call list_services first."
    return next(filter(None, map(_trouble, latest)), "")


def _is_over(facts: ProcessFacts) -> bool:
    """Return whether the incident was ended or handed over in this session, and not reopened since."""
    ends = ("resolve_incident", "escalate_incident", "reopen_incident")
    done = [seen.tool for seen in facts.history if seen.tool in ends and seen.status is ObservationStatus.OK]
    return bool(done) and done[-1] != "reopen_incident"


def _problem_of(last: Change) -> str:
    """Return why nothing may follow a change but what takes it back."""
    if not last.known:
        return f"Nobody knows yet what became of {last.tool}; escalate the incident."
    if last.sound is None:
        return f"Whether {last.tool} helped was not verified; call verify_change for {last.target} first."
    if last.sound:
        return ""
    if last.takes_back:
        return f"{last.tool} took a change back, and what had to hold does not; escalate the incident."
    return f"What had to hold after {last.tool} does not; take it back or escalate the incident."


def _service(facts: ProcessFacts) -> str:
    return _looked_at(facts, facts.arguments["service"])


def _version(facts: ProcessFacts) -> str:
    """Require that the version which the call names was told in this session: one that was guessed binds to nothing."""
    kind, lists = ("node", "list_nodes") if "node" in facts.arguments else ("service", "list_services")
    name, version = facts.arguments[kind], facts.arguments["seen_version"]
    listed = [each for told in facts.told(lists) for each in told[f"{kind}s"] if each[kind] == name]
    described = [told for told in facts.told("describe_service") if told.get(kind) == name]
    known = {each["seen_version"] for each in (*listed, *described)}
    made = {change.seen.result["version"] for change in changes_of(facts.history) if change.known and _is(change, name)}
    if version in known | made:
        return ""
    read = lists if kind == "node" else "describe_service"
    return f"Nothing in this session told version {version} of {name}; call {read} for it first."


def _is(change: Change, name: str) -> bool:
    return name in (change.seen.arguments.get("service"), change.seen.arguments.get("node"))


def _release(facts: ProcessFacts) -> str:
    """Require besides that what is known of that very service shows the release."""
    name, release = facts.arguments["service"], facts.arguments["release"]
    listed = [told["deploys"] for told in facts.told("list_deploys") if told["service"] == name]
    described = [told["releases"] for told in facts.told("describe_service") if told["service"] == name]
    known = {each["release"] for releases in (*listed, *described) for each in releases}
    return _service(facts) or ("" if release in known else f"list_deploys does not show release {release} of {name}.")


def _replica(facts: ProcessFacts) -> str:
    """Require besides that the description of that very service shows the replica."""
    name, replica = facts.arguments["service"], facts.arguments["replica"]
    described = next((told for told in facts.told("describe_service") if told["service"] == name), None)
    known = {each["replica"] for each in described["replicas"]} if described else set()
    return _service(facts) or ("" if replica in known else f"describe_service does not show {replica} of {name}.")


def _book(facts: ProcessFacts) -> str:
    """Require besides that the list of procedures shows this one."""
    book = facts.arguments["runbook"]
    listed = next(facts.told("list_runbooks"), None)
    known = {each["runbook"] for each in listed["runbooks"]} if listed else set()
    return _service(facts) or ("" if book in known else f"list_runbooks does not show {book}; look it up first.")


def _node(facts: ProcessFacts) -> str:
    """Require that the node was listed, and that one of the services on it was looked at."""
    name = facts.arguments["node"]
    runs = _runs_on(facts, name)
    if runs is None:
        return f"list_nodes does not show {name}; look it up first."
    if all(_looked_at(facts, service) for service in runs):
        return f"No service on {name} was looked at; call {', '.join(EVIDENCE)} for one that runs there."
    return ""


def _drained(facts: ProcessFacts) -> str:
    """Require that the node was listed as drained: what does not run there any more tells nothing about it."""
    name = facts.arguments["node"]
    node = next((node for told in facts.told("list_nodes") for node in told["nodes"] if node["node"] == name), None)
    if node is None:
        return f"list_nodes does not show {name}; look it up first."
    return "" if node["cordoned"] else f"{name} is in use."


_LOOKED_AT: Mapping[str, Guard] = {
    "roll_back": _release,
    "delete_replica": _replica,
    "run_runbook": _book,
    "drain_node": _node,
    "uncordon_node": _drained,
}
"""Where more has to be known than what the service logs, does and was deployed."""


def _looked_at(facts: ProcessFacts, service: str) -> str:
    missing = [read for read in EVIDENCE if all(told["service"] != service for told in facts.told(read))]
    return f"{service} was not looked at in this session; call {', '.join(missing)} for it first." if missing else ""


def _runs_on(facts: ProcessFacts, name: str) -> frozenset[str] | None:
    """Return the services that were seen on a node, None for one that was not listed."""
    listed = [node for told in facts.told("list_nodes") for node in told["nodes"] if node["node"] == name]
    return frozenset(each["service"] for node in listed for each in node["runs"]) if listed else None


def _figures(facts: ProcessFacts, name: str) -> list[Mapping[str, Any]]:
    """Return what was read last about a service, about all of them when the incident names none."""
    for seen in reversed(facts.history):
        if seen.status is not ObservationStatus.OK:
            continue
        if name and seen.tool == "describe_service" and seen.result["service"] == name:
            return [seen.result]
        if seen.tool == "list_services":
            return [each for each in seen.result["services"] if not name or each["service"] == name]
    return []


def _trouble(service: Mapping[str, Any]) -> str:
    name = service["service"]
    if min(service["errors_pm"], service["latency_ms"]) < 0:
        return f"The figures of {name} are not known; escalate the incident, or look again."
    if service["errors_pm"] > SOUND_ERRORS_PM or service["latency_ms"] > SOUND_LATENCY_MS:
        return f"The figures of {name} are not sound yet, and nothing was changed."
    if service["rolling"] or service["ready"] < service["desired"]:
        return f"Not all replicas of {name} take requests."
    return ""


def _edges(tool: str) -> tuple[Edge, Edge]:
    about = "one of its services" if tool in ON_NODE else "that very service"
    words = f"{about} was looked at, and the last change was verified or is taken back"
    guard = changeable(tool)
    return (
        Edge(tool, "looking", "changed", tool, guard, words),
        Edge(f"{tool} after a change", "changed", "changed", tool, guard, words),
    )


REMEDIATION = ProcessSpec(
    name="remediation",
    version=1,
    title="Changes of the platform",
    initial="looking",
    final=frozenset({"changed"}),
    edges=tuple(edge for tool in PLATFORM for edge in _edges(tool)),
    # What did not help is taken back by a call that is verified; stopping a session says nothing about what it changed.
    compensates=False,
)

_RESOLVE_WORDS = "the last change holds, or nothing was changed and the figures are sound"
INCIDENT = ProcessSpec(
    name="incident",
    version=1,
    title="The incident",
    initial="open",
    final=frozenset({"open", "resolved", "with a person"}),
    edges=(
        Edge("write down", "open", "open", "update_incident"),
        Edge("write down afterwards", "resolved", "resolved", "update_incident"),
        Edge("write down for a person", "with a person", "with a person", "update_incident"),
        Edge("resolve", "open", "resolved", "resolve_incident", resolvable, _RESOLVE_WORDS),
        Edge("hand over", "open", "with a person", "escalate_incident"),
        Edge("hand over after all", "resolved", "with a person", "escalate_incident"),
        Edge("hand over once more", "with a person", "with a person", "escalate_incident"),
        Edge("reopen", "resolved", "open", "reopen_incident"),
        Edge("take back from a person", "with a person", "open", "reopen_incident"),
    ),
    compensates=False,
)

PROCESSES = (REMEDIATION, INCIDENT)
