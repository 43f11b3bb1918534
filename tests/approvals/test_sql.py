"""The hand-written statements of deciding say what the ORM says."""

from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group
from django.db import transaction
from django.utils import timezone
from guardian.shortcuts import assign_perm, remove_perm

from agentops.kernel.ids import new_id
from agentops.runtime.models import Session
from agentops.tenancy.models import Membership
from approvals import sql
from approvals.access import rights_of
from approvals.models import ApprovalQueue, ApprovalRequest
from approvals.routes.people import deciders
from tests.approvals.conftest import Stage

pytestmark = pytest.mark.django_db


def _leave_as_it_is(stage: Stage) -> None:
    pass


def _take_permission(stage: Stage) -> None:
    remove_perm("approvals.decide_queue", stage.cast.alice, stage.cast.queue)


def _give_to_group(stage: Stage) -> None:
    _take_permission(stage)
    group = Group.objects.create(name="deciders")
    assign_perm("approvals.decide_queue", group, stage.cast.queue)
    stage.cast.alice.groups.add(group)


def _give_for_another_queue(stage: Stage) -> None:
    _take_permission(stage)
    other = ApprovalQueue.objects.exclude(pk=stage.cast.queue.pk).first() or ApprovalQueue.objects.create(
        tenant=stage.cast.tenant, slug="other", name="Other", decide_within=stage.cast.queue.decide_within
    )
    assign_perm("approvals.decide_queue", stage.cast.alice, other)


def _give_for_all_queues(stage: Stage) -> None:
    _take_permission(stage)
    assign_perm("approvals.decide_queue", stage.cast.alice)


def _give_another_permission(stage: Stage) -> None:
    _take_permission(stage)
    assign_perm("approvals.view_approvalqueue", stage.cast.alice, stage.cast.queue)


def _make_superuser(stage: Stage) -> None:
    _take_permission(stage)
    stage.cast.alice.is_superuser = True
    stage.cast.alice.save()


def _leave_tenant(stage: Stage) -> None:
    Membership.objects.filter(user=stage.cast.alice).delete()


def _deactivate(stage: Stage) -> None:
    stage.cast.alice.is_active = False
    stage.cast.alice.save()


@pytest.mark.parametrize(
    ("change", "may"),
    [
        (_leave_as_it_is, True),
        (_take_permission, False),
        (_give_to_group, True),
        (_give_for_another_queue, False),
        (_give_for_all_queues, False),
        (_give_another_permission, False),
        (_make_superuser, False),
        (_leave_tenant, False),
        (_deactivate, False),
    ],
)
def test_permission_is_that_of_the_pages(stage: Stage, change: Callable[[Stage], None], may: bool) -> None:
    request = stage.ask()
    change(stage)
    with transaction.atomic():
        facts = sql.facts_of(sql.lock_request(request.pk), stage.cast.alice.pk)
    listed = stage.cast.alice in deciders(request, stage.cast.queue, timezone.now())
    held = stage.cast.queue.pk in rights_of(stage.cast.alice).decide
    assert (facts.may_decide, held, listed) == (may, may, may)


def test_facts_are_those_of_the_rows(stage: Stage) -> None:
    request = stage.ask()
    with transaction.atomic():
        locked = sql.lock_request(request.pk)
        facts = sql.facts_of(locked, stage.cast.alice.pk)
    names = ("id", "tenant_id", "queue_id", "session_id", "invocation_id", "requester", "digest", "people")
    assert [getattr(locked, name) for name in names] == [getattr(request, name) for name in names]
    assert (locked.state, locked.expires_at, locked.code) == (request.state, request.expires_at, request.code)
    session, row = facts.waiting.session, Session.objects.get()
    assert {name: getattr(session, name) for name in vars(row) if name != "_state"} == {
        name: value for name, value in vars(row).items() if name != "_state"
    }
    assert (facts.queue, facts.earlier, facts.approvals) == (stage.cast.queue.slug, ("", "", None), 0)
    assert (facts.waiting.tool, facts.waiting.frozen) == ("pay", "")


def test_resolution_is_that_of_the_newest_request(stage: Stage) -> None:
    request = stage.ask()
    found = sql.resolution_of(request.invocation_id)
    assert (found.request_id, found.state, found.person, found.reason) == (request.pk, "pending", "", "")
    assert (found.preview, found.policy_version, found.facts) == (
        request.preview,
        request.policy_version,
        request.facts,
    )
    older, request.pk = request.pk, new_id()
    ApprovalRequest.objects.filter(pk=older).update(state="voided", closed_at=timezone.now())
    request.supersedes_id = older
    request.save(force_insert=True)
    assert sql.resolution_of(request.invocation_id).request_id == request.pk
    with pytest.raises(ApprovalRequest.DoesNotExist):
        sql.resolution_of(new_id())
