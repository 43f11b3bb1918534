"""The queue: who sees which requests where, in which order, at which cost."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from guardian.shortcuts import assign_perm, remove_perm

from agentops.kernel.ids import new_id
from agentops.tenancy.models import Membership, Role
from approvals.models import ApprovalRequest
from approvals.queries import turn_count
from tests.approvals.conftest import Stage, client_of, decide, overdue, page_url, queue_url
from tests.factories.people import make_person

pytestmark = pytest.mark.django_db


def rows(client: Client, **parameters: str) -> list[str]:
    """The codes of the rows that a page of the queue shows, in their order."""
    page = client.get(queue_url(**parameters)).context["page"]
    return [row.id for group in page.groups for row in group.rows]


def counts(client: Client) -> dict[str, int]:
    return {bucket.key: bucket.count for bucket in client.get(queue_url()).context["page"].buckets}


def due_in(request: ApprovalRequest, **span: int) -> None:
    ApprovalRequest.objects.filter(pk=request.pk).update(expires_at=timezone.now() + timedelta(**span))


def test_request_is_where_each_person_expects_it(stage: Stage, alice: Client, bob: Client, charlie: Client) -> None:
    request = stage.ask()
    assert rows(alice) == [request.code]
    assert rows(alice, bucket="others") == []
    assert (rows(bob), rows(bob, bucket="others")) == ([], [request.code])
    assert (rows(charlie), rows(charlie, bucket="others"), rows(charlie, bucket="decided")) == ([], [], [])
    assert counts(alice) == {"turn": 1, "others": 0, "escalated": 0, "decided": 0}
    assert counts(bob) == {"turn": 0, "others": 1, "escalated": 0, "decided": 0}
    assert counts(charlie) == {"turn": 0, "others": 0, "escalated": 0, "decided": 0}


def test_row_says_what_it_is_about(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    body = alice.get(queue_url()).content.decode()
    for words in ("Pay $50.00 from a-1", "customer:ann", "Payer v1", "$50.00", "T2 consequential", request.code):
        assert escape(words) in body


def test_decided_request_moves_to_decided_with_its_outcome(stage: Stage, alice: Client, bob: Client) -> None:
    first, second, third = stage.ask(), stage.ask(5100), stage.ask(5200)
    decide(alice, first)
    decide(alice, second, "reject", reason="policy")
    overdue(third)
    assert rows(alice) == []
    shown = {
        row.id: (row.outcome.word, row.closed_by)
        for group in alice.get(queue_url(bucket="decided")).context["page"].groups
        for row in group.rows
    }
    assert shown == {first.code: ("approved", "you"), second.code: ("rejected", "you")}
    assert rows(bob, bucket="decided") == [second.code, first.code]
    assert counts(alice) == {"turn": 0, "others": 0, "escalated": 0, "decided": 2}


def test_sorted_by_deadline_then_tier(stage: Stage, alice: Client) -> None:
    late, soon, grave, light = (stage.ask(5000 + n) for n in range(4))
    same = timezone.now() + timedelta(minutes=30)
    ApprovalRequest.objects.filter(pk__in=[soon.pk, grave.pk, light.pk]).update(expires_at=same)
    ApprovalRequest.objects.filter(pk=grave.pk).update(irreversible=True)
    ApprovalRequest.objects.filter(pk=light.pk).update(tier="write-soft")
    due_in(late, hours=3)
    assert rows(alice) == [grave.code, soon.code, light.code, late.code]


def test_headings_tell_the_deadline(stage: Stage, alice: Client) -> None:
    soon, later = stage.ask(), stage.ask(5100)
    due_in(soon, minutes=30)
    due_in(later, days=3)
    groups = alice.get(queue_url()).context["page"].groups
    day = timezone.now() + timedelta(days=3)
    assert [group.label for group in groups] == ["Due within the hour", f"Due {day:%A} {day.day} {day:%B} {day.year}"]


@pytest.mark.parametrize("bucket", ["turn", "decided"])
def test_every_row_is_on_exactly_one_page(stage: Stage, alice: Client, bucket: str) -> None:
    many(stage.ask(), 70, closed=bucket == "decided")
    seen: list[str] = []
    url, pages = queue_url(bucket=bucket), 0
    while url:
        page = alice.get(url).context["page"]
        seen += [row.pk for group in page.groups for row in group.rows]
        url, pages = page.next_url and reverse("approval_queue") + page.next_url, pages + 1
        assert bool(page.first_url) is (pages > 1)
    in_bucket = ApprovalRequest.objects.filter(state="expired" if bucket == "decided" else "pending")
    assert pages == 3
    assert sorted(seen) == sorted(str(pk) for pk in in_bucket.values_list("pk", flat=True))


def test_page_after_the_first_uses_no_offset(stage: Stage, alice: Client) -> None:
    many(stage.ask(), 70)
    second = reverse("approval_queue") + alice.get(queue_url()).context["page"].next_url
    with CaptureQueriesContext(connection) as captured:
        alice.get(second)
    assert [query["sql"] for query in captured if " OFFSET " in query["sql"].upper()] == []


@pytest.mark.parametrize("after", ["x", "1.9.0", "99999999999999999.3." + "f" * 32, "\x00", "1.1." + "g" * 32])
def test_page_that_does_not_exist_is_no_error(stage: Stage, alice: Client, after: str) -> None:
    stage.ask()
    assert alice.get(queue_url(after=after)).status_code == 200


@pytest.mark.parametrize("bucket", ["turn", "others", "decided"])
def test_thirty_rows_cost_as_many_queries_as_one(stage: Stage, alice: Client, bob: Client, bucket: str) -> None:
    template = stage.ask()
    if bucket == "decided":
        decide(alice, template)
        template.refresh_from_db()
    reader = bob if bucket == "others" else alice
    assert len(rows(reader, bucket=bucket)) == 1
    with CaptureQueriesContext(connection) as one:
        reader.get(queue_url(bucket=bucket))
    many(template, 29, closed=bucket == "decided")
    with CaptureQueriesContext(connection) as thirty:
        assert len(rows(reader, bucket=bucket)) == 30
    assert len(thirty) == len(one)
    assert len(one) <= 12


def many(template: ApprovalRequest, count: int, *, closed: bool = False) -> None:
    """Copy a request, with the same deadline for each three copies."""
    now = timezone.now()
    copies = []
    for number in range(count):
        copy = ApprovalRequest.objects.get(pk=template.pk)
        copy.pk, copy.invocation_id = new_id(), new_id()
        copy.expires_at = now + timedelta(minutes=number // 3 + 5)
        copy.irreversible = number % 2 == 0
        if closed:
            copy.state, copy.closed_at = "expired", now - timedelta(minutes=number // 3)
        copies.append(copy)
    ApprovalRequest.objects.bulk_create(copies)


def test_queue_that_somebody_may_no_longer_decide_is_gone_for_them(stage: Stage, alice: Client) -> None:
    request = stage.ask()
    remove_perm("approvals.decide_queue", stage.cast.alice, stage.cast.queue)
    assert (rows(alice), rows(alice, bucket="others")) == ([], [])
    assign_perm("approvals.see_queue", stage.cast.alice, stage.cast.queue)
    assert (rows(alice), rows(alice, bucket="others")) == ([], [request.code])


def test_group_that_may_decide_makes_it_its_members_turn(stage: Stage, bob: Client) -> None:
    request = stage.ask()
    payers = Group.objects.create(name="payers")
    dave = make_person("dave", stage.cast.tenant, Role.APPROVER)
    for person in (dave, stage.cast.bob):
        person.groups.add(payers)
    assign_perm("approvals.decide_queue", payers, stage.cast.queue)
    assert rows(client_of(dave)) == [request.code]
    assert rows(bob) == [], "whoever began the work does not decide it"


def test_superuser_and_global_permission_are_not_enough(stage: Stage, bob: Client) -> None:
    request = stage.ask()
    User.objects.filter(pk=stage.cast.bob.pk).update(is_superuser=True, is_staff=True)
    assign_perm("approvals.decide_queue", stage.cast.bob)
    assert (rows(bob), rows(bob, bucket="others")) == ([], [request.code])


def test_permission_without_membership_is_not_enough(stage: Stage) -> None:
    stage.ask()
    assign_perm("approvals.decide_queue", stage.cast.charlie, stage.cast.queue)
    assert turn_count(stage.cast.charlie, stage.cast.tenant.pk) == 0
    assert rows(client_of(stage.cast.charlie)) == []


def test_person_of_two_tenants_reads_one_at_a_time(stage: Stage, charlie: Client) -> None:
    request = stage.ask()
    Membership.objects.create(user=stage.cast.charlie, tenant=stage.cast.tenant, role="support")
    assign_perm("approvals.see_queue", stage.cast.charlie, stage.cast.queue)
    assert rows(charlie, bucket="others") == [request.code]
    session = charlie.session
    session["tenant"] = str(stage.cast.other.pk)
    session.save()
    assert rows(charlie, bucket="others") == []
    assert charlie.get(page_url(request)).status_code == 404


def test_empty_queue_says_who_is_waited_for(stage: Stage, bob: Client) -> None:
    request = stage.ask()
    body = bob.get(queue_url()).content.decode()
    assert "Nothing needs you." in body
    assert "1 waits on others; next due" in body
    overdue(request)
    assert "Nobody else is waited for either." in bob.get(queue_url()).content.decode()
