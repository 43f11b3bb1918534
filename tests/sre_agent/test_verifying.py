"""What must hold after a write is asked about when it can be told, and told in sentences when it does not."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.once import Call
from agentops.registry.tool import NotYet
from sre_agent.connectors import moving, operations
from sre_agent.connectors.effect import Gate, Sound
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
from sre_agent.connectors.records import Verified
from sre_agent.estate.company import trouble
from sre_agent.estate.values import Trouble
from sre_agent.models import Operation
from tests.factories.estates import BEGAN, PLATFORM, make_site, refused

pytestmark = pytest.mark.django_db


def test_nothing_is_told_before_it_can_be() -> None:
    site = make_site()
    result = site.act(Restart("search"), 20)

    with pytest.raises(NotYet) as early:
        PLATFORM.verified(site.at(60), "service:search")
    assert early.value.after == timedelta(seconds=result["verify_after_s"] - 40)
    with pytest.raises(NotYet):
        PLATFORM.verified(site.at(20 + result["verify_after_s"] - 1), "service:search")
    assert PLATFORM.verified(site.at(20 + result["verify_after_s"]), "service:search") == Verified(
        "service:search", "Restart", f"{Restart('search')} at 20", sound=True, problems=()
    )


def test_an_estate_that_stands_still_counts_in_its_own_time() -> None:
    site = make_site(seconds_a_tick=0)
    result = site.act(Restart("search"), 5_000)

    with pytest.raises(NotYet) as early:
        PLATFORM.verified(site.at(9_000), "service:search")
    assert early.value.after == timedelta(seconds=result["verify_after_s"])
    moving.move(site.tenant.pk, result["verify_after_s"] // 10, BEGAN + early.value.after)
    assert PLATFORM.verified(site.at(0), "service:search").sound


@pytest.mark.parametrize(
    ("write", "before"),
    [
        (Restart("checkout"), None),
        (HaltRestart("checkout"), Restart("checkout")),
        (Scale("checkout", 8), None),
        (Scale("mailer", 1), None),
        (Stop("mailer"), None),
        (DeleteReplica("search", "search-0-1"), None),
        (RollBack("search", "1.8.0"), None),
        (Drain("node-a"), None),
        (Uncordon("node-a"), Drain("node-a")),
        *((RunBook("search", book), None) for book in ("archive_logs", "renew_certificate")),
        (RunBook("search", "restore_logs"), RunBook("search", "archive_logs")),
        (RunBook("search", "reinstall_certificate"), RunBook("search", "renew_certificate")),
    ],
)
def test_in_a_sound_estate_every_write_is_sound_when_its_time_has_come(
    write: PlatformWrite, before: PlatformWrite | None
) -> None:
    site = make_site()
    if before is not None:
        site.act(before, 20)
    result = site.act(write, 40)
    target = f"node:{result['node']}" if "node" in result else f"service:{result['service']}"

    assert PLATFORM.verified(site.at(40 + result["verify_after_s"]), target).problems == ()


@pytest.mark.parametrize(
    ("kind", "on", "wrong", "problem"),
    [
        (Trouble.BAD_DEPLOY, "checkout", Restart("checkout"), "of requests of checkout fail, more than 5 %."),
        (Trouble.FULL_DISK, "mailer", Restart("mailer"), "of requests of mailer fail, more than 5 %."),
        (Trouble.EXPIRED_CERTIFICATE, "search", Scale("search", 9), "of requests of search fail, more than 5 %."),
        (Trouble.TRAFFIC_SPIKE, "storefront", RunBook("storefront", "archive_logs"), "fail, more than 5 %."),
    ],
)
def test_what_did_not_help_is_told(kind: Trouble, on: str, wrong: PlatformWrite, problem: str) -> None:
    site = make_site(trouble(kind, on, 5, 4))
    site.act(wrong, 700)
    told = PLATFORM.verified(site.at(1_000), f"service:{on}")

    assert not told.sound
    assert any(each.endswith(problem) for each in told.problems), told.problems


def test_the_latest_write_on_a_target_counts() -> None:
    site = make_site()
    site.act(Scale("search", 6), 20, "first")
    site.act(Scale("search", 5), 20, "second")

    assert PLATFORM.verified(site.at(400), "service:search").key == "second"
    site.act(Scale("search", 7), 400)
    with pytest.raises(NotYet):
        PLATFORM.verified(site.at(410), "service:search")


@pytest.mark.parametrize("target", ["service:mailer", "service:nothing", "node:node-a", "search", ""])
def test_where_nothing_was_done_there_is_nothing_to_tell(target: str) -> None:
    site = make_site()
    site.act(Scale("search", 6), 20)
    Operation.objects.create(tenant=site.tenant, key="page", action="PagePerson", arguments_digest=b"", at=BEGAN)

    assert refused(lambda: PLATFORM.verified(site.at(400), target)).kind is FailureKind.NOT_FOUND


def test_another_tenants_writes_are_not_told() -> None:
    make_site(slug="other").act(Scale("search", 6), 20)

    mine = make_site()
    assert refused(lambda: PLATFORM.verified(mine.at(400), "service:search")).kind is FailureKind.NOT_FOUND


def test_a_service_that_is_gone_is_no_sound_one() -> None:
    site = make_site()
    service, node = site.service("search", 30), PLATFORM.nodes(site.at(30))[0]
    gate = Gate(10, (Sound.of(service, 3),), node.ref, cordoned=False)

    assert gate.problems([service], [node]) == ()
    assert gate.problems([], []) == ("There is no service search.", "There is no node node-a.")
    assert Gate(10, (), node.ref, cordoned=True).problems([], [node]) == (
        "node-a is in use.",
        f"{sum(count for _, count in node.runs)} replicas still run on node-a.",
    )


def test_each_thing_that_does_not_hold_is_a_sentence() -> None:
    service = make_site().service("search", 30)
    assert service.figures is not None
    until = datetime(2027, 1, 1, tzinfo=UTC)
    sound = Sound.of(service, 3, disk_pm=900, certificate_until=until)
    bad = replace(
        service,
        rolling=True,
        ready=1,
        figures=replace(service.figures, errors_pm=51, latency_ms=1_501, disk_pm=901),
    )

    assert list(sound.problems(bad)) == [
        "A rollout of search is still under way.",
        "1 of 3 replicas of search take requests.",
        "The certificate of search ends before 2027-01-01 00:00 UTC.",
        "5.1 % of requests of search fail, more than 5 %.",
        "Requests of search take 1501 ms, more than 1500 ms.",
        "The disk of search is 90.1 % full, more than 90 %.",
    ]
    assert list(Sound.of(service, 3).problems(replace(service, figures=None))) == ["There are no figures of search."]
    assert list(Sound.of(service, 0).problems(replace(service, figures=None, ready=0))) == []


def test_a_gate_is_the_same_after_it_was_stored() -> None:
    service = make_site().service("search", 30)
    gate = Gate(70, (Sound.of(service, 0), Sound.of(service, 3, disk_pm=900, certificate_until=BEGAN)), "node-a", True)

    assert Gate.from_json(gate.as_json()) == gate


def test_only_an_operation_that_was_claimed_is_recorded() -> None:
    call = Call(make_site().tenant.pk, "nobody", BEGAN)

    with pytest.raises(LookupError, match="not claimed"):
        operations.record(call, "Restart", {}, target="service:search", disruptive=True, gate=None)


def test_a_write_of_which_nobody_said_what_had_to_hold_is_not_sound() -> None:
    site = make_site()
    Operation.objects.create(
        tenant=site.tenant, key="k", action="Restart", arguments_digest=b"", at=BEGAN, target="service:search"
    )
    told = PLATFORM.verified(site.at(10), "service:search")

    assert (told.sound, told.problems) == (False, ("Nobody said what had to hold.",))
