"""What every platform promises: one key, one effect; only what was decided on; what was done can be taken back."""

from collections.abc import Callable

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import NotYet, ToolFailure
from sre_agent.connectors.port import (
    DeleteReplica,
    Drain,
    HaltRestart,
    PlatformWrite,
    Restart,
    RollBack,
    RunBook,
    Scale,
    Stop,
    Uncordon,
)
from tests.sre_agent.contract.harness import System

WRITES: dict[str, Callable[[System], PlatformWrite]] = {
    "restart": lambda system: Restart(system.service),
    "scale": lambda system: Scale(system.service, system.seen().desired + 2),
    "stop": lambda system: Stop(system.service),
    "delete": lambda system: DeleteReplica(system.service, system.seen().replicas[0].ref),
    "roll back": lambda system: RollBack(system.service, system.earlier),
    "drain": lambda system: Drain(system.node),
}


def refusal(act: Callable[[], object]) -> ToolFailure:
    with pytest.raises(ToolFailure) as failure:
        act()
    return failure.value


def state(system: System) -> tuple[object, ...]:
    service, node = system.seen(), system.machine()
    return service.version, service.desired, service.release.version, node.cordoned, node.version


@pytest.mark.parametrize("name", WRITES)
def test_a_dry_run_changes_nothing_and_stays_the_same(system: System, name: str) -> None:
    write, before = WRITES[name](system), state(system)
    first = system.platform.preview(system.context(), write)

    assert first.as_json() == system.platform.preview(system.context(), write).as_json()
    assert first.versions
    assert first.measures.keys() >= {"capacity_share_pct", "minutes_since_disruption", "change_freeze"}
    assert state(system) == before


@pytest.mark.parametrize("name", WRITES)
def test_one_key_has_one_effect_and_the_result_says_what_version_is_now(system: System, name: str) -> None:
    write = WRITES[name](system)
    assert system.platform.outcome(system.context("k1")) is None
    first = system.platform.write(system.context("k1"), write)
    after = state(system)

    assert system.platform.write(system.context("k1"), write) == first == system.platform.outcome(system.context("k1"))
    assert state(system) == after
    assert first["version"] == (system.machine() if isinstance(write, Drain) else system.seen()).version
    other = refusal(lambda: system.platform.write(system.context("k1"), Scale(system.service, 9)))
    assert other.kind is FailureKind.CONFLICT


@pytest.mark.parametrize("name", [name for name in WRITES if name != "delete"])
def test_what_was_changed_since_is_not_touched(system: System, name: str) -> None:
    write = WRITES[name](system)
    seen = {key: version + 1 for key, version in system.platform.preview(system.context(), write).versions.items()}
    before = state(system)

    failure = refusal(lambda: system.platform.write(system.context("k1", expected_versions=seen), write))
    assert failure.kind is FailureKind.CONFLICT
    assert state(system) == before
    assert system.platform.outcome(system.context("k1")) is None


@pytest.mark.parametrize(
    ("write", "back"),
    [
        (lambda system: Scale(system.service, 6), lambda system, before: Scale(system.service, before.desired)),
        (
            lambda system: RollBack(system.service, system.earlier),
            lambda system, before: RollBack(system.service, before.release.version),
        ),
        (lambda system: Stop(system.service), lambda system, before: Scale(system.service, before.desired)),
    ],
)
def test_a_change_of_a_service_is_taken_back(
    system: System,
    write: Callable[[System], PlatformWrite],
    back: Callable[..., PlatformWrite],
) -> None:
    before = system.seen()
    result = system.platform.write(system.context("there"), write(system))
    system.settle()
    seen = {f"service:{system.service}": result["version"]}
    system.platform.write(system.context("back", expected_versions=seen), back(system, before))
    system.settle()

    after = system.seen()
    assert (after.desired, after.ready, after.release.version) == (before.desired, before.ready, before.release.version)


def test_a_drained_node_is_empty_and_is_used_again(system: System) -> None:
    system.platform.write(system.context("k1"), Drain(system.node))
    system.settle()
    assert (system.machine().cordoned, system.machine().runs) == (True, ())
    assert refusal(lambda: system.platform.preview(system.context(), Drain(system.node))).kind is FailureKind.CONFLICT

    system.platform.write(system.context("k2"), Uncordon(system.node))
    assert not system.machine().cordoned


def test_a_restart_waits_for_the_rollout_under_way_and_a_rollback_does_not(system: System) -> None:
    system.platform.write(system.context("k1"), Restart(system.service))

    assert system.seen().rolling
    assert (
        refusal(lambda: system.platform.preview(system.context(), Restart(system.service))).kind is FailureKind.CONFLICT
    )
    system.platform.write(system.context("k2"), RollBack(system.service, system.earlier))
    assert system.seen().release.version == system.earlier


def test_a_restart_is_stopped_where_it_is(system: System) -> None:
    assert refusal(lambda: system.platform.preview(system.context(), HaltRestart(system.service))).kind is (
        FailureKind.CONFLICT
    )
    system.platform.write(system.context("k1"), Restart(system.service))
    system.platform.write(system.context("k2"), HaltRestart(system.service))
    assert not system.seen().rolling


@pytest.mark.parametrize(
    ("write", "kind", "field"),
    [
        (Restart("nothing"), FailureKind.NOT_FOUND, "service"),
        (Drain("node-z"), FailureKind.NOT_FOUND, "node"),
        (Uncordon("node-a"), FailureKind.CONFLICT, "node"),
        (Scale("storefront", 51), FailureKind.VALIDATION, "replicas"),
        (Scale("storefront", 0), FailureKind.VALIDATION, "replicas"),
        (DeleteReplica("storefront", "nothing"), FailureKind.NOT_FOUND, "replica"),
        (RollBack("storefront", "9.9.9"), FailureKind.CONFLICT, "release"),
        (RunBook("storefront", "rm -rf /"), FailureKind.VALIDATION, "runbook"),
    ],
)
def test_what_cannot_be_done_is_refused_before_anybody_is_asked(
    system: System, write: PlatformWrite, kind: FailureKind, field: str
) -> None:
    asked = refusal(lambda: system.platform.preview(system.context(), write))
    done = refusal(lambda: system.platform.write(system.context("k"), write))

    assert (asked.kind, asked.field) == (done.kind, done.field) == (kind, field)


def test_what_another_incident_works_on_is_left_alone(system: System) -> None:
    system.platform.write(system.context("k1"), Scale(system.service, 6))
    context = system.context("k2", incident="INC-2")

    assert refusal(lambda: system.platform.write(context, Scale(system.service, 7))).kind is FailureKind.CONFLICT
    assert system.seen().desired == 6


def test_whether_a_write_holds_is_said_when_it_is_due(system: System) -> None:
    target = f"service:{system.service}"
    assert refusal(lambda: system.platform.verified(system.context(), target)).kind is FailureKind.NOT_FOUND
    system.platform.write(system.context("k1"), Stop(system.service))
    with pytest.raises(NotYet):
        system.platform.verified(system.context(), target)
    system.settle()

    found = system.platform.verified(system.context(), target)
    assert (found.target, found.action, found.key, found.sound) == (target, "Stop", "k1", True)
