"""Whatever comes between: a write on the platform ends in a typed outcome, and never has a second effect."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from functools import partial
from threading import Barrier

import pytest
from django.db import InterfaceError, OperationalError, connection

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from sre_agent.connectors.observing import EmbeddedObservatory
from sre_agent.connectors.port import Drain, PlatformWrite, Restart, RollBack, RunBook, Scale, Stop
from sre_agent.estate.company import trouble
from sre_agent.estate.values import Trouble
from sre_agent.models import Claim, Landscape, Operation
from tests.factories.estates import BEGAN, PLATFORM, Site, make_site, refused


def _lose(*_: object, **__: object) -> None:
    raise OperationalError("server closed the connection unexpectedly")


def _forget(site: Site, ref: str) -> None:
    """Take a service out of the estate: somebody has deleted it."""
    row = Landscape.objects.get(tenant=site.tenant)
    row.state["services"].pop(ref)
    row.save()


@pytest.mark.django_db
@pytest.mark.parametrize("write", [Restart("search"), Stop("search"), RunBook("search", "archive_logs")])
def test_a_service_that_is_gone_is_not_found(write: PlatformWrite) -> None:
    site = make_site()
    seen = PLATFORM.preview(site.at(20), write).versions
    _forget(site, "search")

    context = site.at(30, "k", expected_versions=seen)
    assert refused(lambda: PLATFORM.write(context, write)).kind is FailureKind.NOT_FOUND
    assert PLATFORM.outcome(context) is None


@pytest.mark.django_db
@pytest.mark.parametrize("write", [Scale("search", 6), Drain("node-a")])
def test_a_stale_version_is_a_conflict(write: PlatformWrite) -> None:
    site = make_site()
    target, version = next(iter(PLATFORM.preview(site.at(20), write).versions.items()))
    for stale in (version - 1, version + 1):
        context = site.at(20, "k", expected_versions={target: stale})
        assert refused(partial(PLATFORM.write, context, write)).kind is FailureKind.CONFLICT
    assert not Operation.objects.exists()


@pytest.mark.django_db
def test_a_rollout_under_way_stops_a_restart_and_no_rollback() -> None:
    site = make_site(trouble(Trouble.BAD_DEPLOY, "checkout", 5, 4))
    assert site.service("checkout", 60).rolling

    for call in (PLATFORM.preview, PLATFORM.write):
        failure = refused(partial(call, site.at(60, "k"), Restart("checkout")))
        assert (failure.kind, failure.field) == (FailureKind.CONFLICT, "service")
    site.act(RollBack("checkout", "1.9.0"), 60)
    assert PLATFORM.verified(site.at(300), "service:checkout").sound


@pytest.mark.django_db
def test_the_same_key_has_one_effect_and_with_other_arguments_none() -> None:
    site = make_site()
    first = site.act(Scale("search", 6), 20, "k")

    assert site.act(Scale("search", 6), 90, "k") == first == PLATFORM.outcome(site.at(90, "k"))
    for call in (
        lambda: site.act(Scale("search", 7), 90, "k"),
        lambda: site.act(Stop("search"), 90, "k"),
        lambda: site.act(Scale("search", 6), 90, "k", incident="INC-2"),
    ):
        assert refused(call).kind is FailureKind.CONFLICT
    assert refused(lambda: PLATFORM.write(site.at(90), Scale("search", 7))).kind is FailureKind.VALIDATION
    assert (Operation.objects.count(), site.service("search", 90).version) == (1, 2)


@pytest.mark.django_db
@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_database_that_does_not_answer_is_tried_again_later(
    error: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    site = make_site()
    since = BEGAN - timedelta(hours=1)
    observatory = EmbeddedObservatory()

    def lose(*_: object, **__: object) -> None:
        raise error("server closed the connection unexpectedly")

    with monkeypatch.context() as patched:
        patched.setattr("sre_agent.connectors.operations.record", lose)
        assert refused(lambda: site.act(Scale("search", 6), 20, "k")).kind is FailureKind.UNAVAILABLE
    assert not Operation.objects.exists()
    assert not Claim.objects.exists()
    assert site.service("search", 20).desired == 3
    with monkeypatch.context() as patched:
        patched.setattr("sre_agent.connectors.embedded.look", lose)
        for call in (
            lambda: PLATFORM.services(site.at(20)),
            lambda: PLATFORM.nodes(site.at(20)),
            lambda: PLATFORM.deploys(site.at(20), "search", since),
            lambda: PLATFORM.preview(site.at(20), Restart("search")),
            lambda: PLATFORM.verified(site.at(20), "service:search"),
            lambda: observatory.logs(site.at(20), "search", since, containing="", limit=9),
            lambda: observatory.metrics(site.at(20), "search", since, points=9),
        ):
            assert refused(call).kind is FailureKind.UNAVAILABLE


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("took_effect", "replicas"), [(False, 3), (True, 6)])
def test_a_commit_that_nobody_confirmed_is_unknown_until_its_key_is_asked_about(
    monkeypatch: pytest.MonkeyPatch, took_effect: bool, replicas: int
) -> None:
    site = make_site()
    commit = connection.commit

    def cut() -> None:
        if took_effect:
            commit()
        _lose()

    with monkeypatch.context() as patched:
        patched.setattr(connection, "commit", cut)
        with pytest.raises(OutcomeUnknown):
            site.act(Scale("search", 6), 20, "k")
    told = PLATFORM.outcome(site.at(20, "k"))

    assert (told is not None, site.service("search", 20).desired) == (took_effect, replicas)
    # Whoever makes the call again with the same key comes to one effect in either case.
    again = site.act(Scale("search", 6), 40, "k")
    assert (site.service("search", 60).version, again["version"]) == (2, 2)
    assert told in (None, again)


@pytest.mark.django_db
def test_nodes_and_deploys_are_told_and_only_of_ones_own_estate() -> None:
    site = make_site(trouble(Trouble.BAD_DEPLOY, "checkout", 5, 4), trouble(Trouble.NOISY_NEIGHBOUR, "node-b", 5, 4))
    other = make_site(slug="other")
    nodes = PLATFORM.nodes(site.at(100))
    site.act(RollBack("checkout", "1.9.0"), 100)
    deploys = PLATFORM.deploys(site.at(130), "checkout", BEGAN)

    assert [(node.ref, node.stolen_pm > 0, node.cordoned) for node in nodes] == [
        ("node-a", False, False), ("node-b", True, False), ("node-c", False, False), ("node-d", False, False),
    ]  # fmt: skip
    assert sum(count for node in nodes for _, count in node.runs) == 27
    assert [(each.version, each.by, each.at) for each in deploys] == [
        ("1.9.0", "rollback", BEGAN + timedelta(seconds=100)), ("1.10.0", "ci", BEGAN + timedelta(seconds=50)),
    ]  # fmt: skip
    assert PLATFORM.deploys(other.at(130), "checkout", BEGAN) == ()
    assert {node.stolen_pm for node in PLATFORM.nodes(other.at(130))} == {0}
    assert refused(lambda: PLATFORM.deploys(site.at(130), "nothing", BEGAN)).kind is FailureKind.NOT_FOUND
    nowhere = replace(site.at(0), tenant_id=make_site(slug="third").tenant.pk)
    Landscape.objects.filter(tenant_id=nowhere.tenant_id).delete()
    assert refused(lambda: PLATFORM.nodes(nowhere)).kind is FailureKind.NOT_FOUND


@pytest.mark.django_db
def test_a_service_tells_its_replicas() -> None:
    replicas = make_site().service("search", 30).replicas

    assert [(each.ref, each.ready, each.memory_pm) for each in replicas] == [
        (f"search-0-{n}", True, 410) for n in range(3)
    ]
    assert len({each.node for each in replicas}) == 3


@pytest.mark.django_db(transaction=True)
def test_of_two_incidents_at_once_one_changes_a_service() -> None:
    site = make_site()
    barrier = Barrier(2)

    def act(incident: str) -> str:
        try:
            barrier.wait(60)
            site.act(Scale("search", 6), 20, incident, incident=incident)
        except ToolFailure as failure:
            return failure.kind.value
        finally:
            connection.close()
        return incident

    with ThreadPoolExecutor(2) as pool:
        answers = set(pool.map(act, ("INC-1", "INC-2")))

    claim = Claim.objects.get()
    assert answers == {claim.incident_ref, "CONFLICT"}
    assert (site.service("search", 20).version, Operation.objects.get().incident_ref) == (2, claim.incident_ref)
