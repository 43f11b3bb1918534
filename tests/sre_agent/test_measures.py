"""What rules are told about a write: how urgent, how soon after the last one, in a freeze or not. And who may."""

from datetime import timedelta
from functools import partial

import pytest

from agentops.kernel.errors import FailureKind
from sre_agent.connectors import claiming
from sre_agent.connectors.measuring import NEVER
from sre_agent.connectors.port import Drain, PlatformWrite, Restart, RunBook, Scale, Uncordon
from sre_agent.models import ChangeFreeze, Claim, Incident, Operation, Source
from tests.factories.estates import BEGAN, PLATFORM, Site, make_site, refused

pytestmark = pytest.mark.django_db


@pytest.fixture
def site() -> Site:
    return make_site()


def _measure(site: Site, name: str, write: PlatformWrite, seconds: int) -> int:
    return PLATFORM.preview(site.at(seconds), write).measures[name]


def _incident(site: Site, ref: str, priority: int) -> None:
    Incident.objects.create(
        tenant=site.tenant, ref=ref, title="Search is slow", text="", priority=priority, source=Source.FORM,
        source_key=ref, opened_at=BEGAN,
    )  # fmt: skip


def test_minutes_since_the_last_disruption_are_counted_in_steps(site: Site) -> None:
    site.act(Restart("search"), 0)
    told = {
        minutes: _measure(site, "minutes_since_disruption", Scale("search", 6), 60 * minutes)
        for minutes in (5, 29, 30, 59, 60, 239, 240, 1_439, 1_440, 9_000)
    }

    assert told == {5: 0, 29: 0, 30: 30, 59: 30, 60: 60, 239: 60, 240: 240, 1_439: 240, 1_440: 1_440, 9_000: 1_440}
    assert _measure(site, "minutes_since_disruption", Scale("mailer", 3), 9_000) == NEVER


@pytest.mark.parametrize(
    ("write", "disruptive"),
    [
        (Restart("search"), True),
        (Scale("search", 6), False),
        (Scale("mailer", 1), True),
        (RunBook("search", "archive_logs"), False),
        (RunBook("search", "renew_certificate"), False),
        (Drain("node-a"), True),
    ],
)
def test_only_what_takes_capacity_away_is_disruptive(site: Site, write: PlatformWrite, disruptive: bool) -> None:
    site.act(write, 20)

    assert Operation.objects.get(tenant=site.tenant).disruptive is disruptive


def test_a_node_that_is_used_again_disrupts_nothing(site: Site) -> None:
    site.act(Drain("node-a"), 20)
    site.act(Uncordon("node-a"), 400, "back")

    assert not Operation.objects.get(tenant=site.tenant, key="back").disruptive


def test_a_freeze_covers_a_service_and_the_nodes_it_runs_on(site: Site) -> None:
    freeze = ChangeFreeze.objects.create(
        tenant=site.tenant, name="Sale", service="checkout", starts_at=BEGAN, ends_at=BEGAN + timedelta(hours=1)
    )
    nodes = {node.ref for node in PLATFORM.nodes(site.at(20)) if "checkout" in dict(node.runs)}
    frozen = {ref: _measure(site, "change_freeze", Scale(ref, 9), 20) for ref in ("checkout", "search")}

    assert frozen == {"checkout": 1, "search": 0}
    assert all(_measure(site, "change_freeze", Drain(ref), 20) == 1 for ref in nodes)
    assert _measure(site, "change_freeze", Scale("checkout", 9), 3_600) == 0
    ChangeFreeze.objects.filter(pk=freeze.pk).update(service="")
    assert _measure(site, "change_freeze", Scale("search", 9), 20) == 1


def test_the_most_urgent_of_incident_and_services_counts(site: Site) -> None:
    assert _measure(site, "incident_priority", Scale("mailer", 3), 20) == 3
    _incident(site, "INC-1", 1)

    assert _measure(site, "incident_priority", Scale("mailer", 3), 20) == 1
    assert _measure(site, "incident_priority", Scale("checkout", 9), 20) == 0


def test_a_write_claims_its_target_for_its_incident(site: Site) -> None:
    site.act(Scale("search", 6), 20)
    claim = claiming.standing(site.tenant.pk, "service:search", site.at(30).now)

    assert claim is not None
    assert (claim.incident_ref, claim.since) == ("INC-1", site.at(20).now)
    other = site.at(30, "other", "INC-2")
    for call in (PLATFORM.preview, PLATFORM.write):
        failure = refused(partial(call, other, Scale("search", 7)))
        assert (failure.kind, "INC-1" in failure.message) == (FailureKind.CONFLICT, True)
    assert PLATFORM.outcome(other) is None
    assert PLATFORM.write(other, Scale("mailer", 3))["version"] == 2
    # Nobody holds a target for longer than it takes.
    later = site.at(20 + 60 * claiming.MINUTES, "later", "INC-2")
    assert PLATFORM.write(later, Scale("search", 7))["version"] == 3


def test_a_write_that_is_refused_claims_nothing(site: Site) -> None:
    refused(lambda: site.act(Scale("search", 3), 20))
    PLATFORM.preview(site.at(20), Scale("search", 6))

    assert not Claim.objects.exists()


def test_people_without_an_incident_keep_to_the_claims_of_others(site: Site) -> None:
    PLATFORM.write(site.at(20, "by hand", ""), Scale("search", 6))
    assert not Claim.objects.exists()
    site.act(Scale("search", 5), 30)

    assert refused(lambda: PLATFORM.write(site.at(40, "again", ""), Scale("search", 6))).kind is FailureKind.CONFLICT
