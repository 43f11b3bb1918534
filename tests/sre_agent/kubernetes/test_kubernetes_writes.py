"""Writes at a cluster: shown as they are made, made once, and only to what was decided on."""

import json
from collections.abc import Callable

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.preview_parts import Command
from agentops.registry.tool import CallContext, NotYet, OutcomeUnknown, ToolFailure
from sre_agent.connectors.kubernetes import KubernetesPlatform, evicting
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
from sre_agent.models import ClusterWrite, Operation
from tests.factories.fake_kubernetes import FakeKubernetes
from tests.sre_agent.kubernetes.conftest import later
from tests.sre_agent.kubernetes.test_kubernetes_reading import service

At = Callable[..., CallContext]
PATCHES = [Restart("checkout"), Scale("checkout", 6), Stop("checkout"), RollBack("checkout", "1.0.0")]


def refused(act: Callable[[], object]) -> ToolFailure:
    with pytest.raises(ToolFailure) as failure:
        act()
    return failure.value


def first_pod(fake: FakeKubernetes) -> str:
    return str(fake.cluster.pods("checkout")[0]["metadata"]["name"])


def test_a_rollback_shows_the_command_and_the_request(platform: KubernetesPlatform, at: At) -> None:
    preview = platform.preview(at(), RollBack("checkout", "1.0.0"))
    command, request = [part for part in preview.parts if isinstance(part, Command)]

    assert command.argv == (
        "kubectl", "--context", "east", "-n", "shop", "rollout", "undo", "deployment/checkout", "--to-revision=1",
    )  # fmt: skip
    assert (request.place, request.api) == ("east/shop", "PATCH /apis/apps/v1/namespaces/shop/deployments/checkout")
    assert json.loads(request.body)[-1]["value"]["images"] == ["registry.internal/checkout:1.0.0"]
    assert preview.versions == {"service:checkout": 2}
    assert preview.measures == {
        "capacity_share_pct": 25, "incident_priority": 0, "minutes_since_disruption": 1_000_000, "change_freeze": 0,
    }  # fmt: skip


@pytest.mark.parametrize("write", [*PATCHES, Drain("node-a"), RunBook("checkout", "archive_logs")])
def test_a_dry_run_is_tried_at_the_server_and_changes_nothing(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, write: PlatformWrite
) -> None:
    fake.cluster.runbook("archive_logs")
    before = fake.cluster.everything()
    first, again = platform.preview(at(), write), platform.preview(at(now=later(60)), write)

    assert any(call.endswith("(dry)") for call in fake.asked)
    assert fake.cluster.everything() == before
    assert first.as_json() == again.as_json()


def test_a_deletion_is_tried_out_without_deleting(platform: KubernetesPlatform, at: At, fake: FakeKubernetes) -> None:
    before = fake.cluster.everything()
    platform.preview(at(), DeleteReplica("checkout", first_pod(fake)))

    assert fake.cluster.everything() == before


def test_a_release_that_is_rolled_back_runs_again_with_its_own_words(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes
) -> None:
    result = platform.write(at("k1"), RollBack("checkout", "1.0.0"))
    assert (result["release_before"], result["version"]) == ("2.0.0", 3)
    assert fake.cluster.image("checkout") == "1.0.0"
    fake.cluster.settle("checkout")
    found = service(platform, at())
    assert (found.release.version, found.release.change, found.version) == ("1.0.0", "First", 3)

    platform.write(at("k2"), RollBack("checkout", "2.0.0"))
    assert fake.cluster.image("checkout") == "2.0.0"


def test_a_restart_can_be_halted_and_a_held_rollout_goes_on_with_the_next_write(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes
) -> None:
    platform.write(at("k1"), Restart("checkout"))
    fake.cluster.advance("checkout")
    assert service(platform, at()).rolling
    assert refused(lambda: platform.preview(at(), Restart("checkout"))).kind is FailureKind.CONFLICT
    platform.preview(at(), RollBack("checkout", "1.0.0"))

    platform.write(at("k2"), HaltRestart("checkout"))
    assert fake.cluster.deployment("checkout")["spec"]["paused"] is True
    assert not service(platform, at()).rolling
    platform.write(at("k3"), RollBack("checkout", "1.0.0"))
    assert "paused" not in fake.cluster.deployment("checkout")["spec"]


@pytest.mark.parametrize("write", [*PATCHES, Drain("node-a"), RunBook("checkout", "archive_logs")])
def test_one_key_has_its_effect_once(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, write: PlatformWrite
) -> None:
    fake.cluster.runbook("archive_logs")
    first = platform.write(at("k1"), write)
    effects = fake.cluster.effects()

    assert platform.write(at("k1"), write) == first == platform.outcome(at("k1"))
    assert fake.cluster.effects() == effects
    assert all(effect["manager"] == "agentops" for effect in effects)
    assert refused(lambda: platform.write(at("k1"), Scale("search", 7))).kind is FailureKind.CONFLICT
    assert not ClusterWrite.objects.exists()
    assert Operation.objects.get().target == ("node:node-a" if isinstance(write, Drain) else "service:checkout")


def test_a_replica_is_deleted_and_another_one_started(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes
) -> None:
    name = first_pod(fake)
    result = platform.write(at("k1"), DeleteReplica("checkout", name))

    assert result == platform.outcome(at("k1"))
    assert [effect["name"] for effect in fake.cluster.effects("pods")] == [name]
    assert name not in [pod["metadata"]["name"] for pod in fake.cluster.pods("checkout")]
    other = fake.cluster.pods("search")[0]["metadata"]["name"]
    assert refused(lambda: platform.write(at("k2"), DeleteReplica("checkout", other))).kind is FailureKind.NOT_FOUND


def test_a_runbook_is_a_job_with_the_service_and_nothing_outside_the_list_runs(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes
) -> None:
    fake.cluster.runbook("archive_logs")
    platform.write(at("k1"), RunBook("checkout", "archive_logs"))
    job = next(iter(fake.cluster.store.all("jobs")))

    assert job["metadata"]["labels"] == {"agentops.dev/runbook": "archive_logs", "agentops.dev/service": "checkout"}
    assert job["spec"]["template"]["spec"]["containers"][0]["env"] == [{"name": "SERVICE", "value": "checkout"}]
    unknown = refused(lambda: platform.write(at("k2"), RunBook("checkout", "rm -rf /")))
    assert (unknown.kind, unknown.field) == (FailureKind.VALIDATION, "runbook")
    # Its opposite needs logs that were archived, and a pattern of its own.
    assert refused(lambda: platform.write(at("k3"), RunBook("checkout", "restore_logs"))).kind is FailureKind.CONFLICT
    fake.cluster.change("checkout", **{"agentops.dev/archived-disk-pm": "120"})
    assert "CronJobs" in str(refused(lambda: platform.write(at("k4"), RunBook("checkout", "restore_logs"))))
    fake.cluster.runbook("restore_logs")
    platform.write(at("k5"), RunBook("checkout", "restore_logs"))
    assert len(fake.cluster.effects("jobs")) == 2


def test_what_has_changed_since_is_not_touched(platform: KubernetesPlatform, at: At, fake: FakeKubernetes) -> None:
    seen = platform.preview(at(), Scale("checkout", 6)).versions
    fake.cluster.deploy("checkout", "2.0.1")
    failure = refused(lambda: platform.write(at("k1", expected_versions=seen), Scale("checkout", 6)))

    assert failure.kind is FailureKind.CONFLICT
    assert fake.cluster.effects() == []
    assert platform.outcome(at("k1")) is None


def test_a_change_that_is_none_of_the_spec_is_no_other_version(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = platform.preview(at(), Scale("checkout", 6)).versions
    _meddle(fake, monkeypatch, lambda: fake.cluster.change("checkout", touched="yes"))

    platform.write(at("k1", expected_versions=seen), Scale("checkout", 6))
    assert [effect["resource"] for effect in fake.cluster.effects()] == ["deployments"]


def test_a_change_of_the_spec_between_reading_and_writing_is_a_conflict(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = platform.preview(at(), Scale("checkout", 6)).versions
    _meddle(fake, monkeypatch, lambda: fake.cluster.deploy("checkout", "2.0.1"))

    failure = refused(lambda: platform.write(at("k1", expected_versions=seen), Scale("checkout", 6)))
    assert failure.kind is FailureKind.CONFLICT
    assert fake.cluster.effects() == []
    assert not ClusterWrite.objects.exists()


def test_a_node_is_drained_but_for_what_is_its_own(platform: KubernetesPlatform, at: At, fake: FakeKubernetes) -> None:
    fake.cluster.daemon("logger", "node-a")
    result = platform.write(at("k1"), Drain("node-a"))

    left = [pod["metadata"]["name"] for pod in fake.cluster.store.all("pods") if pod["spec"]["nodeName"] == "node-a"]
    assert left == ["logger-node-a"]
    assert result["version"] == next(node.version for node in platform.nodes(at()) if node.ref == "node-a")
    assert refused(lambda: platform.preview(at(), Drain("node-a"))).kind is FailureKind.CONFLICT
    seen = {"node:node-a": result["version"]}
    platform.write(at("k2", expected_versions=seen), Uncordon("node-a"))
    assert [node.cordoned for node in platform.nodes(at())] == [False, False]


def test_a_drain_that_a_budget_holds_up_goes_on_when_it_is_asked_about(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evicting, "SECONDS", 0.5)
    fake.cluster.budget("checkout", 4)
    with pytest.raises(OutcomeUnknown, match="The node is cordoned"):
        platform.write(at("k1"), Drain("node-a"))
    with pytest.raises(OutcomeUnknown):
        platform.outcome(at("k1"))
    held = [pod for pod in fake.cluster.pods("checkout") if pod["spec"]["nodeName"] == "node-a"]
    assert held

    fake.cluster.lift_budget("checkout")
    monkeypatch.setattr(evicting, "SECONDS", 20)
    result = platform.outcome(at("k1"))
    assert result is not None
    assert result["cordoned"] is True
    assert all(pod["spec"]["nodeName"] == "node-b" for pod in fake.cluster.pods("checkout"))
    assert len(fake.cluster.effects("nodes")) == 1


def test_a_node_that_is_cordoned_and_not_empty_may_be_drained_further(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes
) -> None:
    fake.cluster.store.touch("nodes", "", "node-a", spec={"unschedulable": True})
    platform.write(at("k1"), Drain("node-a"))

    assert all(pod["spec"]["nodeName"] == "node-b" for pod in fake.cluster.store.all("pods"))


def test_a_pod_that_nobody_would_start_elsewhere_stays(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes
) -> None:
    meta = {"name": "by-hand", "namespace": "shop"}
    fake.cluster.store.add("pods", {"metadata": meta, "spec": {"nodeName": "node-a"}, "status": {"conditions": []}})

    assert "by-hand" in str(refused(lambda: platform.write(at("k1"), Drain("node-a"))))
    assert fake.cluster.effects() == []


def test_a_write_is_verified_when_its_gate_is_due(platform: KubernetesPlatform, at: At, fake: FakeKubernetes) -> None:
    result = platform.write(at("k1"), Stop("search"))
    with pytest.raises(NotYet):
        platform.verified(at(), "service:search")
    fake.cluster.settle("search")
    after = later(result["verify_after_s"] + 1)
    assert platform.verified(at(now=after), "service:search").sound

    fake.cluster.deploy("search", "9.9.9", settle=False)
    assert platform.verified(at(now=after), "service:search").problems == ("A rollout of search is still under way.",)
    assert refused(lambda: platform.verified(at(), "service:checkout")).kind is FailureKind.NOT_FOUND


def _meddle(fake: FakeKubernetes, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> None:
    """Do something in the cluster once, just before the first patch arrives."""
    answer, todo = fake.cluster.api.answer, [act]

    def meddled(method: str, path: str, query: dict[str, str], told: dict[str, str], body: object) -> object:
        if method == "PATCH" and "dryRun" not in query and todo:
            todo.pop()()
        return answer(method, path, query, told, body)

    monkeypatch.setattr(fake.cluster.api, "answer", meddled)
