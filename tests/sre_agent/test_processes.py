"""The state charts bar what they are there to bar: changes of what was not looked at, and the next one too soon."""

from typing import Any

import pytest

from agentops.registry.planner import Observation, ObservationStatus
from agentops.registry.process import ProcessFacts, ProcessSpec, Step, next_step, problems_of_process
from agentops.registry.tool import Tier
from sre_agent.changes import PLATFORM, changes_of
from sre_agent.processes import INCIDENT, PROCESSES, REMEDIATION
from sre_agent.tools import PLATFORM_WRITES, TOOLS

OK, FAILED, UNKNOWN = ObservationStatus.OK, ObservationStatus.FAILED, ObservationStatus.UNKNOWN


def seen(tool: str, result: Any = None, arguments: Any = None, status: ObservationStatus = OK) -> Observation:
    return Observation(1, tool, arguments or {}, status, result or {})


def looked(service: str = "checkout") -> tuple[Observation, ...]:
    return (
        seen("read_logs", {"service": service, "lines": []}),
        seen("read_metrics", {"service": service, "points": []}),
        seen("list_deploys", {"service": service, "deploys": [{"release": "1.9.0"}, {"release": "1.8.0"}]}),
        seen("list_services", {"services": [{"service": service, "seen_version": 7}]}),
    )


def call(service: str = "checkout", **more: Any) -> dict[str, Any]:
    return {"service": service, "seen_version": 7, "reason": "It fails.", **more}


def made(tool: str, arguments: dict[str, Any], **result: Any) -> Observation:
    told = {name: arguments[name] for name in ("service", "node") if name in arguments}
    return seen(tool, {**told, "version": 8, **result}, arguments)


def verified(target: str = "service:checkout", *, sound: bool = True) -> Observation:
    return seen("verify_change", {"target": target, "tool": "restart_service", "sound": sound, "problems": []})


def nodes(
    *, cordoned: bool = False, runs: tuple[str, ...] = ("checkout", "search"), name: str = "node-a"
) -> Observation:
    on_it = [{"service": service, "replicas": 1} for service in runs]
    return seen("list_nodes", {"nodes": [{"node": name, "cordoned": cordoned, "runs": on_it, "seen_version": 3}]})


def step(process: ProcessSpec, state: str, tool: str, arguments: dict[str, Any], *history: Observation) -> str:
    """Return the state that a call leads to, or why it is no step."""
    found = next_step(process, state, tool, ProcessFacts(arguments, history))
    return f"→ {found.edge.target}" if isinstance(found, Step) else found.words


def change(tool: str, arguments: dict[str, Any], *history: Observation) -> str:
    """Return what the remediation says to a call, wherever it stands."""
    state = "changed" if any(each.tool in PLATFORM and each.status is OK for each in history) else "looking"
    return step(REMEDIATION, state, tool, arguments, *history)


RESTARTED = made("restart_service", call(), ready_wanted=4)
SCALED = made("scale_service", call(replicas=6), replicas_before=4)
NODE = {"node": "node-a", "seen_version": 3, "reason": "It is slow."}
DRAINED = made("drain_node", NODE, cordoned=True)
BOOKS = seen("list_runbooks", {"runbooks": [{"runbook": "archive_logs"}, {"runbook": "restore_logs"}]})
DESCRIBED = seen(
    "describe_service",
    {
        "service": "checkout",
        "releases": [{"release": "1.7.0"}],
        "replicas": [{"replica": "checkout-0-1"}],
        "seen_version": 9,
    },
)
NOT_LOOKED = "{} was not looked at in this session; call {} for it first."
ALL = "read_logs, read_metrics, list_deploys"


@pytest.mark.parametrize("process", PROCESSES, ids=lambda process: process.name)
def test_a_chart_holds_together(process: ProcessSpec) -> None:
    assert list(problems_of_process(process)) == []


def test_every_change_of_the_platform_is_a_step_of_the_remediation() -> None:
    hard = {tool.name for tool in TOOLS if tool.tier is Tier.WRITE_HARD}
    assert REMEDIATION.tools == hard == set(PLATFORM) == PLATFORM_WRITES


@pytest.mark.parametrize(
    ("tool", "more", "besides"),
    [
        ("restart_service", {}, ()),
        ("halt_restart", {}, ()),
        ("scale_service", {"replicas": 6}, ()),
        ("stop_service", {}, ()),
        ("roll_back", {"release": "1.8.0"}, ()),
        ("roll_back", {"release": "1.7.0"}, (DESCRIBED,)),
        ("delete_replica", {"replica": "checkout-0-1"}, (DESCRIBED,)),
        ("run_runbook", {"runbook": "archive_logs"}, (BOOKS,)),
    ],
)
def test_a_service_is_changed_when_it_was_looked_at(
    tool: str, more: dict[str, Any], besides: tuple[Observation, ...]
) -> None:
    assert change(tool, call(**more), *looked(), *besides) == "→ changed"
    assert change(tool, call(**more), *besides) == NOT_LOOKED.format("checkout", ALL)
    assert change(tool, call(**more), *looked("search"), *besides) == NOT_LOOKED.format("checkout", ALL)


@pytest.mark.parametrize("left_out", range(3))
def test_each_of_the_three_reads_is_needed(left_out: int) -> None:
    reads = looked()
    history = [read for number, read in enumerate(reads) if number != left_out]
    failed = seen(reads[left_out].tool, reads[left_out].result, status=FAILED)
    words = NOT_LOOKED.format("checkout", reads[left_out].tool)
    assert change("restart_service", call(), *history) == words
    assert change("restart_service", call(), *history, failed) == words


def test_a_release_a_replica_and_a_procedure_have_to_be_known_of_that_very_service() -> None:
    others = looked("search")[2]
    assert change("roll_back", call(release="1.7.0"), *looked(), others) == (
        "list_deploys does not show release 1.7.0 of checkout."
    )
    assert change("delete_replica", call(replica="checkout-9"), *looked(), DESCRIBED) == (
        "describe_service does not show checkout-9 of checkout."
    )
    assert change("delete_replica", call(replica="checkout-0-1"), *looked()) == (
        "describe_service does not show checkout-0-1 of checkout."
    )
    assert change("run_runbook", call(runbook="archive_logs"), *looked()) == (
        "list_runbooks does not show archive_logs; look it up first."
    )


def test_a_version_that_nothing_told_in_this_session_is_guessed() -> None:
    guessed = "Nothing in this session told version {} of checkout; call describe_service for it first."
    assert change("restart_service", call(), *looked()[:3]) == guessed.format(7)
    assert change("restart_service", call(seen_version=9), *looked()) == guessed.format(9)
    assert change("restart_service", call(seen_version=9), *looked(), DESCRIBED) == "→ changed"
    # What a write of this session made of it was told as well: version 8.
    assert change("restart_service", call(seen_version=8), *looked(), SCALED, verified()) == "→ changed"
    others = [*looked()[:3], *looked("search")]
    assert change("restart_service", call(), *others) == guessed.format(7)
    assert change("drain_node", {**NODE, "seen_version": 4}, *looked(), nodes()) == (
        "Nothing in this session told version 4 of node-a; call list_nodes for it first."
    )


def test_a_node_is_drained_when_a_service_on_it_was_looked_at() -> None:
    assert change("drain_node", NODE, *looked(), nodes()) == "→ changed"
    assert change("drain_node", NODE, *looked()) == "list_nodes does not show node-a; look it up first."
    assert change("drain_node", NODE, *looked(), nodes(name="node-b")) == (
        "list_nodes does not show node-a; look it up first."
    )
    assert change("drain_node", NODE, *looked("mailer"), nodes()) == (
        f"No service on node-a was looked at; call {ALL} for one that runs there."
    )


def test_a_node_is_used_again_when_it_was_listed_as_drained() -> None:
    assert change("uncordon_node", NODE, nodes(cordoned=True, runs=())) == "→ changed"
    assert change("uncordon_node", NODE, nodes()) == "node-a is in use."
    assert change("uncordon_node", NODE) == "list_nodes does not show node-a; look it up first."


def test_the_next_change_waits_for_verification_of_the_last_one() -> None:
    done = (*looked(), *looked("search"), RESTARTED)
    unverified = "Whether restart_service helped was not verified; call verify_change for service:checkout first."
    assert change("scale_service", call("search", replicas=5), *done) == unverified
    assert change("scale_service", call("search", replicas=5), *done, verified("service:search")) == unverified
    assert change("scale_service", call("search", replicas=5), verified(), *done) == unverified
    assert change("scale_service", call("search", replicas=5), *done, verified()) == "→ changed"


def test_after_a_change_that_did_not_help_only_what_takes_it_back_is_let_through() -> None:
    failed = (*looked(), SCALED, verified(sound=False))
    assert change("restart_service", call(), *failed) == (
        "What had to hold after scale_service does not; take it back or escalate the incident."
    )
    assert change("scale_service", call(replicas=5), *failed) == (
        "What had to hold after scale_service does not; take it back or escalate the incident."
    )
    assert change("scale_service", call(replicas=4), *failed) == "→ changed"
    assert change("scale_service", call(replicas=4), *failed, verified()) == "→ changed"
    assert step(INCIDENT, "open", "escalate_incident", {}, *failed) == "→ with a person"


def test_what_was_taken_back_is_not_done_again() -> None:
    back = made("scale_service", call(replicas=4), replicas_before=6)
    history = (*looked(), SCALED, verified(sound=False), back)
    assert change("scale_service", call(replicas=6), *history) == (
        "Whether scale_service helped was not verified; call verify_change for service:checkout first."
    )
    assert change("scale_service", call(replicas=6), *history, verified(sound=False)) == (
        "scale_service took a change back, and what had to hold does not; escalate the incident."
    )
    assert change("restart_service", call(), *history, verified()) == "→ changed"


@pytest.mark.parametrize(
    ("done", "tool", "arguments"),
    [
        (RESTARTED, "halt_restart", call()),
        (SCALED, "scale_service", call(replicas=4)),
        (made("roll_back", call(release="1.8.0"), release_before="1.9.0"), "roll_back", call(release="1.9.0")),
        (made("run_runbook", call(runbook="archive_logs")), "run_runbook", call(runbook="restore_logs")),
        (DRAINED, "uncordon_node", NODE),
        (made("uncordon_node", NODE, cordoned=False), "drain_node", NODE),
    ],
)
def test_a_change_is_taken_back_at_any_time(done: Observation, tool: str, arguments: dict[str, Any]) -> None:
    handed_over = seen("escalate_incident", {"incident_id": "INC-1", "status": "escalated"})
    other = {**arguments, **({"node": "node-z"} if "node" in arguments else {"service": "search"})}
    assert change(tool, arguments, done) == "→ changed"
    assert change(tool, arguments, done, handed_over) == "→ changed"
    assert change(tool, other, done, handed_over) == (
        "The incident is over or with a person; nothing more is changed by you."
    )


def test_a_restart_is_not_taken_back_by_another_restart() -> None:
    assert change("restart_service", call(), *looked(), RESTARTED) == (
        "Whether restart_service helped was not verified; call verify_change for service:checkout first."
    )


def test_nothing_follows_a_change_whose_outcome_nobody_knows() -> None:
    lost = seen("restart_service", {"code": "UNKNOWN"}, call(), UNKNOWN)
    words = "Nobody knows yet what became of restart_service; escalate the incident."
    for tool, arguments in (("halt_restart", call()), ("scale_service", call(replicas=5))):
        assert step(REMEDIATION, "looking", tool, arguments, *looked(), lost, verified()) == words
    not_so = seen("restart_service", {"code": "CONFLICT"}, call(), FAILED)
    assert step(REMEDIATION, "looking", "scale_service", call(replicas=5), *looked(), lost, not_so) == "→ changed"
    so = made("restart_service", call(), ready_wanted=4)
    assert [(each.known, each.sound) for each in changes_of((*looked(), lost, so, verified()))] == [(True, True)]


def test_nothing_is_changed_once_the_incident_is_over_or_with_a_person() -> None:
    resolved = seen("resolve_incident", {"incident_id": "INC-1", "status": "resolved"})
    reopened = seen("reopen_incident", {"incident_id": "INC-1", "status": "open"})
    words = "The incident is over or with a person; nothing more is changed by you."
    assert change("restart_service", call(), *looked(), resolved) == words
    assert change("restart_service", call(), *looked(), resolved, reopened) == "→ changed"


def figures(tool: str = "list_services", **changes: Any) -> Observation:
    one = {"service": "checkout", "errors_pm": 10, "latency_ms": 200, "rolling": False, "ready": 4, "desired": 4}
    other = {**one, "service": "search", "errors_pm": 400}
    found = {**one, **changes}
    return seen(tool, found if tool == "describe_service" else {"services": [found, other]})


def incident(service: str = "checkout") -> Observation:
    return seen("read_incident", {"incident_id": "INC-1", "service": service})


def resolve(*history: Observation) -> str:
    return step(INCIDENT, "open", "resolve_incident", {"cause": "c", "remedy": "r"}, *history)


def test_an_incident_ends_when_the_last_change_holds() -> None:
    assert resolve(incident(), RESTARTED, verified()) == "→ resolved"
    assert resolve(incident(), RESTARTED, figures()) == (
        "Whether restart_service helped was not verified; call verify_change for service:checkout first."
    )
    assert resolve(incident(), RESTARTED, verified(sound=False), figures()) == (
        "What had to hold after restart_service does not; take it back or escalate the incident."
    )
    assert resolve(incident(), seen("restart_service", {}, call(), UNKNOWN), figures()) == (
        "Nobody knows yet what became of restart_service; escalate the incident."
    )
    assert resolve(RESTARTED, verified()) == ("The incident was not read in this session; call read_incident first.")


def test_an_incident_in_which_nothing_was_changed_ends_when_the_figures_are_sound() -> None:
    assert resolve(incident(), figures()) == "→ resolved"
    assert resolve(incident(), figures("describe_service")) == "→ resolved"
    assert resolve(incident()) == "Nothing shows how checkout does now; call list_services first."
    unsound = "The figures of {} are not sound yet, and nothing was changed."
    assert resolve(incident(), figures(errors_pm=51)) == unsound.format("checkout")
    assert resolve(incident(), figures(latency_ms=1_501)) == unsound.format("checkout")
    assert resolve(incident(), figures(), figures("describe_service", errors_pm=51)) == unsound.format("checkout")
    assert resolve(incident(), figures(ready=3)) == "Not all replicas of checkout take requests."
    assert resolve(incident(), figures(rolling=True)) == "Not all replicas of checkout take requests."
    assert resolve(incident(), figures(errors_pm=-1)) == (
        "The figures of checkout are not known; escalate the incident, or look again."
    )


def test_an_incident_of_no_known_service_ends_when_all_of_them_are_sound() -> None:
    assert resolve(incident(""), figures()) == "The figures of search are not sound yet, and nothing was changed."
    alone = seen("list_services", {"services": figures().result["services"][:1]})
    assert resolve(incident(""), alone) == "→ resolved"
    assert resolve(incident(""), figures("describe_service")) == (
        "Nothing shows how it does now; call list_services first."
    )


@pytest.mark.parametrize("state", ["open", "resolved", "with a person"])
def test_an_incident_can_be_handed_over_wherever_it_stands(state: str) -> None:
    assert step(INCIDENT, state, "escalate_incident", {}) == "→ with a person"


def test_what_is_over_is_not_ended_again_and_can_be_reopened() -> None:
    assert step(INCIDENT, "resolved", "resolve_incident", {}) == (
        "The incident stands at 'resolved', where resolve_incident is no step."
    )
    assert step(INCIDENT, "resolved", "reopen_incident", {}) == "→ open"
    assert step(INCIDENT, "with a person", "reopen_incident", {}) == "→ open"
    assert step(INCIDENT, "open", "update_incident", {"mitigated": True}) == "→ open"
    assert step(INCIDENT, "with a person", "resolve_incident", {}) == (
        "The incident stands at 'with a person', where resolve_incident is no step."
    )
