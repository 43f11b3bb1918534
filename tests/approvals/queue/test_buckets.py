"""Which bucket a request is in for whom: claims, assignments, the ladder, delegation and votes move it."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from guardian.shortcuts import assign_perm, remove_perm

from agentops.tenancy.models import Role
from approvals.models import ApprovalRequest, Delegation, Exclusion, OnCallShift, Rung
from approvals.queries import turn_count
from tests.approvals.conftest import Stage, client_of, decide, page_url, queue_url
from tests.factories.people import make_person

pytestmark = pytest.mark.django_db

BUCKETS = ("turn", "others", "escalated")


def where(client: Client, request: ApprovalRequest) -> list[str]:
    """The buckets in which somebody finds a pending request."""
    found = []
    for bucket in BUCKETS:
        page = client.get(queue_url(bucket=bucket)).context["page"]
        codes = [row.id for group in page.groups for row in group.rows]
        sizes = {tab.key: tab.count for tab in page.buckets}
        assert sizes[bucket] == len(codes)
        if request.code in codes:
            found.append(bucket)
    return found


def change(request: ApprovalRequest, **values: object) -> None:
    ApprovalRequest.objects.filter(pk=request.pk).update(**values)


@pytest.fixture
def dave(stage: Stage) -> User:
    """A second approver of the same queue."""
    dave = make_person("dave", stage.cast.tenant, Role.APPROVER)
    assign_perm("approvals.decide_queue", dave, stage.cast.queue)
    return dave


def test_claim_of_somebody_else_makes_it_wait_on_others_until_it_is_over(
    stage: Stage, alice: Client, dave: User
) -> None:
    request, now = stage.ask(), timezone.now()
    change(request, claimed_by=dave, claimed_until=now + timedelta(minutes=5))
    assert where(alice, request) == ["others"]
    assert where(client_of(dave), request) == ["turn"]
    assert "dave has it" in alice.get(queue_url(bucket="others")).content.decode()
    assert alice.get(page_url(request)).status_code == 200, "others may still look"
    change(request, claimed_until=now - timedelta(seconds=1))
    assert where(alice, request) == ["turn"]


def test_claim_is_over_when_its_person_votes(stage: Stage, alice: Client, dave: User) -> None:
    request = stage.ask()
    change(request, people=2, claimed_by=dave, claimed_until=timezone.now() + timedelta(minutes=5))
    request.decisions.create(person=dave, verdict="approve", digest=request.digest, checked="It.", at=timezone.now())
    assert where(alice, request) == ["turn"]
    assert where(client_of(dave), request) == ["others"]


def test_request_assigned_to_somebody_else_waits_on_others(stage: Stage, alice: Client, dave: User) -> None:
    request = stage.ask()
    change(request, assigned_to=dave)
    assert (where(alice, request), where(client_of(dave), request)) == (["others"], ["turn"])
    change(request, assigned_to=stage.cast.alice)
    assert (where(alice, request), where(client_of(dave), request)) == (["turn"], ["others"])


def test_whoever_is_excluded_only_reads(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    Exclusion.objects.create(request=request, person=stage.cast.alice, why=Exclusion.Why.OWNER)
    assert where(alice, request) == ["others"]
    assert turn_count(stage.cast.alice, stage.cast.tenant.pk) == 0


@pytest.mark.parametrize("kind", ["group", "person", "on_call"])
def test_ladder_brings_a_request_to_whom_it_calls(stage: Stage, kind: str) -> None:
    request, erin = stage.ask(), make_person("erin", stage.cast.tenant, Role.SUPPORT)
    client, now = client_of(erin), timezone.now()
    leads = Group.objects.create(name="leads")
    erin.groups.add(leads)
    on_rung = {"group": {"group": leads}, "person": {"person": erin}, "on_call": {}}[kind]
    Rung.objects.create(queue=stage.cast.queue, place=2, kind=kind, after_percent=50, **on_rung)
    if kind == "on_call":
        OnCallShift.objects.create(tenant=stage.cast.tenant, person=erin, begins=now, ends=now + timedelta(hours=1))
    change(request, rung=1)
    assert where(client, request) == []
    assert client.get(page_url(request)).status_code == 404
    change(request, rung=2)
    assert where(client, request) == ["escalated"]
    assert client.get(page_url(request)).status_code == 200
    assign_perm("approvals.decide_queue", erin, stage.cast.queue)
    assert where(client, request) == ["turn", "escalated"], "what they can decide is their turn too"


def test_escalated_and_assigned_is_escalated_to_its_person(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    change(request, rung=1, assigned_to=stage.cast.alice)
    assert where(alice, request) == ["turn", "escalated"]


def test_ladder_of_another_tenant_calls_nobody_here(stage: Stage, charlie: Client) -> None:
    request = stage.ask()
    Rung.objects.create(queue=stage.cast.queue, place=1, kind="person", after_percent=50, person=stage.cast.charlie)
    change(request, rung=1)
    assert where(charlie, request) == []
    assert charlie.get(page_url(request)).status_code == 404


def delegate(stage: Stage, taker: User, **values: object) -> Delegation:
    now = timezone.now()
    given = {"begins": now - timedelta(hours=1), "ends": now + timedelta(hours=1), **values}
    return Delegation.objects.create(tenant=stage.cast.tenant, giver=stage.cast.alice, taker=taker, **given)


def test_delegation_makes_a_queue_ones_own_with_the_giver_s_name(stage: Stage) -> None:
    request, erin = stage.ask(), make_person("erin", stage.cast.tenant, Role.APPROVER)
    client = client_of(erin)
    delegation = delegate(stage, erin)
    assert where(client, request) == ["turn"]
    assert "for alice" in client.get(queue_url()).content.decode()
    Delegation.objects.filter(pk=delegation.pk).update(revoked_at=timezone.now())
    assert where(client, request) == []


def test_delegation_gives_nothing_that_the_giver_does_not_have(stage: Stage) -> None:
    request, erin = stage.ask(), make_person("erin", stage.cast.tenant, Role.APPROVER)
    delegate(stage, erin)
    remove_perm("approvals.decide_queue", stage.cast.alice, stage.cast.queue)
    assert where(client_of(erin), request) == []


def test_delegation_of_the_past_and_the_future_gives_nothing(stage: Stage) -> None:
    request, erin, now = stage.ask(), make_person("erin", stage.cast.tenant, Role.APPROVER), timezone.now()
    delegate(stage, erin, begins=now + timedelta(minutes=1), ends=now + timedelta(minutes=2))
    delegate(stage, erin, begins=now - timedelta(minutes=2), ends=now - timedelta(minutes=1))
    assert where(client_of(erin), request) == []


def test_delegation_keeps_to_the_query_budget(stage: Stage) -> None:
    stage.ask()
    erin = make_person("erin", stage.cast.tenant, Role.APPROVER)
    delegate(stage, erin)
    client = client_of(erin)
    client.get(queue_url())
    with CaptureQueriesContext(connection) as captured:
        client.get(queue_url())
    assert len(captured) <= 12


@pytest.mark.parametrize("right", ["see_queue", "manage_queue"])
def test_who_may_see_or_manage_reads_and_does_not_decide(stage: Stage, right: str) -> None:
    request, erin = stage.ask(), make_person("erin", stage.cast.tenant, Role.SUPPORT)
    client = client_of(erin)
    assert where(client, request) == []
    assert client.get(page_url(request)).status_code == decide(client, request).status_code == 404
    assign_perm(f"approvals.{right}", erin, stage.cast.queue)
    assert where(client, request) == ["others"]
    assert client.get(page_url(request)).status_code == 200
    assert decide(client, request).status_code == 403


def test_nobody_without_a_right_hears_of_a_request(stage: Stage) -> None:
    request, erin = stage.ask(), make_person("erin", stage.cast.tenant, Role.ADMIN)
    client = client_of(erin)
    page = client.get(queue_url()).context["page"]
    news = client.get(page.news_url + f"&shown={request.pk}").context["news"]
    assert (news.new, [tab.count for tab in news.buckets], news.gone) == (0, [0, 0, 0, 0], [str(request.pk)])
    decided = client.get(queue_url(bucket="decided")).context["page"]
    assert list(decided.groups) == []


def test_request_that_comes_free_again_is_news(stage: Stage, alice: Client, dave: User) -> None:
    request, now = stage.ask(), timezone.now()
    change(request, created_at=now - timedelta(hours=1), claimed_by=dave, claimed_until=now + timedelta(minutes=5))
    page = alice.get(queue_url()).context["page"]
    assert alice.get(page.news_url).context["news"].new == 0
    change(request, claimed_until=timezone.now())
    assert alice.get(page.news_url).context["news"].new == 1
