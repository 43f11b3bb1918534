"""What goes wrong on the way to a cluster: each has a typed outcome, and none a second effect."""

import logging
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import CallContext, OutcomeUnknown, ToolFailure
from sre_agent.connectors.kubernetes import KubernetesPlatform, carrying, door
from sre_agent.connectors.port import DeleteReplica, Drain, PlatformWrite, Restart, RollBack, RunBook, Scale, Stop
from sre_agent.models import ClusterWrite, Operation
from tests.factories.fake_kubernetes import AFTER, CUT, GARBAGE, HUGE, STATUS, TOKEN, FakeKubernetes
from tests.sre_agent.kubernetes.test_kubernetes_writes import PATCHES, first_pod, refused

At = Callable[..., CallContext]
SENT = r"^(PATCH|POST|DELETE) [^ ]*$"
WRITES = [*PATCHES, Drain("node-a")]


def lost(act: Callable[[], object]) -> None:
    with pytest.raises(OutcomeUnknown):
        act()


@pytest.mark.parametrize("kind", [CUT, GARBAGE, STATUS])
@pytest.mark.parametrize("write", WRITES)
def test_a_lost_answer_is_found_again_without_a_second_effect(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, write: PlatformWrite, kind: str
) -> None:
    fake.fault(SENT, kind, when=AFTER)
    lost(lambda: platform.write(at("k1"), write))
    done = len(fake.cluster.effects("nodes" if isinstance(write, Drain) else "deployments"))

    found = platform.outcome(at("k1"))
    assert found is not None
    assert platform.write(at("k1"), write) == found
    assert done == len(fake.cluster.effects("nodes" if isinstance(write, Drain) else "deployments")) == 1
    assert Operation.objects.get().key == "k1"
    assert not ClusterWrite.objects.exists()


@pytest.mark.parametrize("kind", [CUT, STATUS])
@pytest.mark.parametrize("write", WRITES)
def test_a_lost_request_had_no_effect_and_may_be_made_again(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, write: PlatformWrite, kind: str
) -> None:
    fake.fault(SENT, kind)
    lost(lambda: platform.write(at("k1"), write))
    assert platform.outcome(at("k1")) is None
    assert fake.cluster.effects() == []

    platform.write(at("k1"), write)
    assert len(fake.cluster.effects("nodes" if isinstance(write, Drain) else "deployments")) == 1


def test_a_request_that_arrives_after_somebody_has_looked_is_refused(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes
) -> None:
    late: list[tuple[str, str, dict[str, str], dict[str, str], object]] = []
    answer = fake.cluster.api.answer

    def held(method: str, path: str, query: dict[str, str], told: dict[str, str], body: object) -> object:
        if method == "PATCH" and not late:
            late.append((method, path, query, told, body))
            raise ConnectionError
        return answer(method, path, query, told, body)

    fake.cluster.api.answer = held  # type: ignore[method-assign, assignment] # of this one fake
    lost(lambda: platform.write(at("k1"), Scale("checkout", 6)))
    assert platform.outcome(at("k1")) is None

    assert answer(*late[0]).status == 409
    assert fake.cluster.deployment("checkout")["spec"]["replicas"] == 4


def test_the_same_call_made_again_before_anybody_looked_has_one_effect(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes
) -> None:
    fake.fault(SENT, CUT, when=AFTER)
    lost(lambda: platform.write(at("k1"), Restart("checkout")))
    platform.write(at("k1"), Restart("checkout"))

    assert len(fake.cluster.effects()) == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_deletion_is_told_by_the_pod_and_only_when_nothing_is_on_its_way_any_more(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    write = DeleteReplica("checkout", first_pod(fake))
    fake.fault(SENT, CUT, when=when)
    lost(lambda: platform.write(at("k1"), write))
    if when == "before":
        lost(lambda: platform.outcome(at("k1")))
        monkeypatch.setattr(carrying, "HOLD", timedelta(0))
        assert platform.outcome(at("k1")) is None
        platform.write(at("k1"), write)
    else:
        assert platform.outcome(at("k1")) is not None
    assert len(fake.cluster.effects("pods")) == 1


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_job_has_the_name_of_its_call(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    fake.cluster.runbook("archive_logs")
    monkeypatch.setattr(carrying, "HOLD", timedelta(0))
    fake.fault(SENT, CUT, when=when)
    write = RunBook("checkout", "archive_logs")
    lost(lambda: platform.write(at("k1"), write))

    assert (platform.outcome(at("k1")) is None) is (when == "before")
    platform.write(at("k1"), write)
    assert len(fake.cluster.effects("jobs")) == 1


def test_what_was_changed_since_and_does_not_say_by_whom_stays_unknown(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes
) -> None:
    fake.fault(SENT, CUT, when=AFTER)
    lost(lambda: platform.write(at("k1"), Scale("checkout", 6)))
    made = fake.cluster.deployment("checkout")
    made["metadata"]["annotations"].pop("agentops.dev/operations")
    fake.cluster.store.put("deployments", made)
    lost(lambda: platform.outcome(at("k1")))

    fake.cluster.store.drop("deployments", "shop", "checkout")
    lost(lambda: platform.outcome(at("k1")))


def test_a_note_of_something_else_under_the_key_stays_unknown(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes
) -> None:
    fake.fault(SENT, CUT, when=AFTER)
    lost(lambda: platform.write(at("k1"), Scale("checkout", 6)))
    said = fake.cluster.deployment("checkout")["metadata"]["annotations"]["agentops.dev/operations"]
    digest = said.partition('"digest":"')[2][:64]
    fake.cluster.change("checkout", **{"agentops.dev/operations": said.replace(digest, "0" * 64)})

    lost(lambda: platform.outcome(at("k1")))


def test_the_latest_keys_are_kept_and_the_oldest_are_not(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes
) -> None:
    fake.fault(SENT, CUT)
    lost(lambda: platform.write(at("lost"), Scale("checkout", 9)))
    for number in range(22):
        platform.write(at(f"k{number}"), Scale("checkout", 6 + number % 2))
        fake.cluster.settle("checkout")
    said = fake.cluster.deployment("checkout")["metadata"]["annotations"]["agentops.dev/operations"]

    assert said.count('"key"') == 20
    # So much was done since that nothing tells whether it was among it.
    lost(lambda: platform.outcome(at("lost")))


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, FailureKind.VALIDATION),
        (401, FailureKind.AUTH),
        (403, FailureKind.AUTH),
        (404, FailureKind.NOT_FOUND),
        (409, FailureKind.CONFLICT),
        (422, FailureKind.VALIDATION),
        (429, FailureKind.RATE_LIMIT),
    ],
)
def test_a_refusal_has_its_kind_and_no_effect(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, status: int, kind: FailureKind
) -> None:
    fake.fault(SENT, STATUS, status=status, retry_after="7", times=10)
    failure = refused(lambda: platform.write(at("k1"), Stop("checkout")))
    fake.script.clear()

    assert (failure.kind, failure.retry_after) == (kind, None if status == 409 else 7)
    assert fake.cluster.effects() == []
    assert platform.outcome(at("k1")) is None


@pytest.mark.parametrize(("status", "kind"), [(503, FailureKind.UNAVAILABLE), (429, FailureKind.RATE_LIMIT)])
def test_a_read_that_is_refused_is_tried_again_later(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, status: int, kind: FailureKind
) -> None:
    fake.fault("GET .*deployments$", STATUS, status=status, retry_after="3")
    failure = refused(lambda: platform.services(at()))

    assert (failure.kind, failure.retry_after) == (kind, 3)


@pytest.mark.parametrize("kind", [CUT, GARBAGE, HUGE])
def test_a_read_without_a_usable_answer_is_unavailable(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(door, "MOST_BYTES", 100_000)
    fake.fault("GET .*deployments$", kind, size=1_000_000)

    assert refused(lambda: platform.services(at())).kind is FailureKind.UNAVAILABLE


def test_a_missing_permission_is_named_and_nothing_is_done(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes
) -> None:
    reads = [(verb, kind) for verb in ("get", "list") for kind in (
        "namespaces", "deployments", "replicasets", "pods", "nodes", "cronjobs",
    )]  # fmt: skip
    token = fake.cluster.restricted("tok-reader", [*reads, ("patch", "nodes")])
    writes = {
        "patch deployments": Scale("checkout", 6),
        "delete pods": DeleteReplica("checkout", first_pod(fake)),
        # A node is not cordoned when nothing may be moved off it.
        "create pods/eviction": Drain("node-a"),
    }
    for words, write in writes.items():
        for act in (platform.preview, platform.write):
            context = at("k1", token=token)
            failure = refused(partial(act, context, write))
            assert (failure.kind, str(failure)) == (
                FailureKind.AUTH,
                f"Kubernetes refuses: the token may not {words}.",
            )
    assert fake.cluster.effects() == []


def test_no_token_and_a_revoked_one_are_refused(platform: KubernetesPlatform, at: At, fake: FakeKubernetes) -> None:
    assert refused(lambda: platform.services(at(token=""))).kind is FailureKind.AUTH
    assert fake.asked == []
    platform.services(at())
    fake.cluster.revoke(TOKEN)
    assert refused(lambda: platform.services(at())).kind is FailureKind.AUTH


def test_a_cluster_that_became_another_one_is_sent_nothing(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, settings: Any
) -> None:
    platform.preview(at(), RollBack("checkout", "1.0.0"))
    before = len(fake.asked)
    fake.cluster.store.objects["namespaces", "", "kube-system"]["metadata"]["uid"] = "another"
    door.forget()

    failure = refused(lambda: platform.write(at("k1"), RollBack("checkout", "1.0.0")))
    assert failure.kind is FailureKind.AUTH
    assert fake.asked[before:] == ["GET /api/v1/namespaces/kube-system"]
    assert fake.cluster.effects() == []


def test_nothing_that_is_logged_or_said_has_the_token(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    fake.fault(SENT, STATUS, status=401)
    failure = refused(lambda: platform.write(at("k1"), Stop("checkout")))

    assert TOKEN not in caplog.text
    assert TOKEN not in str(failure)


def test_a_server_that_is_not_there_had_no_request(
    platform: KubernetesPlatform, at: At, fake: FakeKubernetes, settings: Any
) -> None:
    platform.services(at())
    settings.KUBERNETES_URL = "http://127.0.0.1:9"

    failure = refused(lambda: platform.write(at("k1"), Stop("checkout")))
    assert failure.kind is FailureKind.UNAVAILABLE
    assert isinstance(failure, ToolFailure)
    assert platform.outcome(at("k1")) is None
