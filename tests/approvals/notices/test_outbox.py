"""Who is told, once, and what becomes of it when the request is closed."""

from datetime import time, timedelta
from uuid import UUID

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from guardian.shortcuts import assign_perm, remove_perm

from agentops.kernel.ids import first_id
from agentops.tenancy.models import Membership, Role
from approvals.models import (
    Absence,
    ApprovalRequest,
    Decision,
    Exclusion,
    Notice,
    NoticePreference,
    SlackChannel,
)
from approvals.notices.outbox import KEPT_FOR, closed, forget_old, tell
from tests.approvals.conftest import Stage
from tests.approvals.notices.conftest import MEMBER, Clock, states
from tests.factories.people import make_approver, make_person

pytestmark = pytest.mark.django_db
ASKED = Notice.Kind.ASKED


def readers(kind: str = "asked") -> list[str]:
    return sorted(reader for of, _, reader, _ in states() if of == kind)


def test_whoever_may_decide_is_told(stage: Stage, mail: None, request_: ApprovalRequest, clock: Clock) -> None:
    make_approver("dave", stage.cast.queue)
    group = Group.objects.create(name="payers")
    assign_perm("approvals.decide_queue", group, stage.cast.queue)
    erin = make_person("erin", stage.cast.tenant, Role.APPROVER)
    erin.groups.add(group)
    assert tell(request_, ASKED, now=clock()) == 3
    assert readers() == ["alice", "dave", "erin"]


def test_nobody_else_is(stage: Stage, mail: None, request_: ApprovalRequest, clock: Clock) -> None:
    cast = stage.cast
    people = {
        name: make_approver(name, cast.queue) for name in ("off", "left", "owns", "voted", "unmailed", "silent", "lost")
    }
    remove_perm("approvals.decide_queue", people["lost"], cast.queue)
    people["off"].is_active = False
    people["off"].save()
    Membership.objects.filter(user=people["left"]).delete()
    Exclusion.objects.create(request=request_, person=people["owns"], why="owner")
    Decision.objects.create(
        request=request_, person=people["voted"], verdict="approve", digest=request_.digest, at=clock()
    )
    people["unmailed"].email = ""
    people["unmailed"].save()
    NoticePreference.objects.create(person=people["silent"], mail=False)
    request_.requester = "user:bob"
    assign_perm("approvals.decide_queue", cast.bob, cast.queue)
    assign_perm("approvals.decide_queue", cast.charlie, cast.queue)
    tell(request_, ASKED, now=clock())
    assert readers() == ["alice"]


def test_stand_in_is_told_for_whoever_is_away(
    stage: Stage, mail: None, request_: ApprovalRequest, clock: Clock
) -> None:
    cast, now = stage.cast, clock()
    stand_in = make_person("frank", cast.tenant, Role.APPROVER)
    away = {"tenant": cast.tenant, "begins": now - timedelta(days=1), "ends": now + timedelta(days=1)}
    Absence.objects.create(person=cast.alice, stand_in=stand_in, **away)
    tell(request_, ASKED, now=now)
    assert readers() == ["frank"]
    Exclusion.objects.create(request=request_, person=stand_in, why="editor")
    assert tell(request_, Notice.Kind.REMINDED, now=now) == 0
    Absence.objects.update(ends=now - timedelta(hours=1))
    tell(request_, Notice.Kind.ANSWERED, now=now)
    assert readers("answered") == ["alice"]


def test_chosen_people_are_told_and_the_channel_is_not(
    stage: Stage, slack: object, request_: ApprovalRequest, clock: Clock
) -> None:
    dave = make_approver("dave", stage.cast.queue)
    tell(request_, Notice.Kind.ASSIGNED, now=clock(), people=[dave])
    assert states() == [("assigned", "mail", "dave", "waiting")]
    tell(request_, Notice.Kind.ESCALATED, now=clock(), people=[dave], urgent=True)
    assert readers("escalated") == ["", "dave"]


def test_telling_twice_is_telling_once(stage: Stage, slack: object, request_: ApprovalRequest, clock: Clock) -> None:
    for _ in range(3):
        tell(request_, ASKED, now=clock())
    assert states() == [("asked", "slack", "alice", "waiting"), ("asked", "slack", "", "waiting")]


def test_what_is_rolled_back_tells_nobody(mail: None, request_: ApprovalRequest, clock: Clock) -> None:
    with transaction.atomic():
        tell(request_, ASKED, now=clock())
        transaction.set_rollback(True)
    assert states() == []


def test_without_mail_and_slack_nothing_is_written(request_: ApprovalRequest, clock: Clock) -> None:
    assert tell(request_, ASKED, now=clock()) == 0
    assert states() == []


def test_member_id_counts_once_the_tenant_has_a_channel(
    stage: Stage, mail: None, request_: ApprovalRequest, clock: Clock
) -> None:
    NoticePreference.objects.create(person=stage.cast.alice, slack_user=MEMBER)
    tell(request_, ASKED, now=clock())
    assert states() == [("asked", "mail", "alice", "waiting")]
    SlackChannel.objects.create(tenant=stage.cast.tenant, queue=stage.cast.queue, channel="C1")
    tell(request_, Notice.Kind.REMINDED, now=clock())
    assert [row[1:3] for row in states()[1:]] == [("mail", "alice"), ("slack", "alice"), ("slack", "")]


def test_quiet_hours_hold_and_escalations_override_them(
    stage: Stage, mail: None, request_: ApprovalRequest, clock: Clock
) -> None:
    quiet = NoticePreference(person=stage.cast.alice, quiet_from=time(0, 0), quiet_to=time(23, 59))
    quiet.save()
    clock.now = clock.now.replace(hour=12)
    tell(request_, ASKED, now=clock())
    tell(request_, Notice.Kind.ESCALATED, now=clock())
    due = dict(Notice.objects.values_list("kind", "due_at"))
    assert due["escalated"] == clock()
    assert (due["asked"].hour, due["asked"].minute) == (23, 59)


def test_closing_drops_what_waits_and_changes_what_was_sent_in_slack(
    stage: Stage, slack: object, request_: ApprovalRequest, clock: Clock
) -> None:
    make_approver("dave", stage.cast.queue)
    tell(request_, ASKED, now=clock())
    Notice.objects.filter(person=stage.cast.alice).update(state="sent", address="D1:1.0")
    Notice.objects.filter(channel="mail").update(state="sent", address="<m>")
    for _ in range(2):
        closed(request_, clock())
    found = states()
    assert [row for row in found if row[0] == "closed"] == [("closed", "slack", "alice", "waiting")]
    assert ("asked", "slack", "", "dropped") in found
    assert ("asked", "mail", "dave", "sent") in found


def test_asked_again_after_a_decision_was_taken_back(slack: object, request_: ApprovalRequest, clock: Clock) -> None:
    tell(request_, ASKED, now=clock())
    Notice.objects.update(state="sent", address="D1:1.0")
    closed(request_, clock())
    tell(request_, ASKED, now=clock())
    assert {row[3] for row in states() if row[0] == "closed"} == {"dropped"}
    assert [row[3] for row in states() if row[0] == "asked"] == ["sent", "sent", "waiting", "waiting"]


@pytest.mark.parametrize("approvers", [1, 30])
def test_statements_do_not_grow_with_people(
    stage: Stage, mail: None, request_: ApprovalRequest, clock: Clock, approvers: int
) -> None:
    for number in range(approvers):
        make_approver(f"approver-{number}", stage.cast.queue)
    with CaptureQueriesContext(connection) as caught:
        assert tell(request_, ASKED, now=clock()) == approvers + 1
    assert len(caught) == 6


def test_notices_are_forgotten_after_a_while_unless_they_wait(
    stage: Stage, mail: None, request_: ApprovalRequest, clock: Clock
) -> None:
    tell(request_, ASKED, now=clock())
    old, waiting = (
        Notice.objects.create(
            id=UUID(int=first_id(clock() - KEPT_FOR - timedelta(days=1)).int + n),
            tenant=stage.cast.tenant,
            request=request_,
            channel="mail",
            kind="closed",
            state=state,
            due_at=clock(),
            created_at=clock(),
        )
        for n, state in enumerate(("sent", "waiting"))
    )
    assert (forget_old(clock(), 10), forget_old(clock(), 10)) == (1, 0)
    assert not Notice.objects.filter(pk=old.pk).exists()
    assert Notice.objects.filter(pk=waiting.pk).exists()
    assert readers() == ["alice"]
