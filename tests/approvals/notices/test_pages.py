"""The page on which people say how they are told, and the admin's screens."""

from datetime import time, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from agentops.kernel.ids import new_id
from agentops.ledger.models import LedgerEvent
from agentops.tenancy.models import Membership
from approvals.models import ApprovalQueue, ApprovalRequest, Notice, NoticePreference, SlackChannel
from approvals.notices.outbox import tell
from tests.approvals.conftest import Stage, client_of
from tests.approvals.notices.conftest import Clock
from tests.factories.people import make_admin, make_queue

pytestmark = pytest.mark.django_db
URL = "/approvals/notices/"
GOOD = {
    "mail": "on",
    "slack_user": "",
    "timezone": "Europe/Vienna",
    "quiet_from": "",
    "quiet_to": "",
    "digest_minutes": "0",
}


def test_preferences_are_saved_and_on_record_without_their_values(stage: Stage, alice: Client) -> None:
    given = GOOD | {"slack_user": "U012AB3CD", "quiet_from": "22:00", "quiet_to": "07:00", "digest_minutes": "30"}
    assert alice.post(URL, given).status_code == 302
    own = NoticePreference.objects.get()
    assert (own.person, own.mail, own.slack_user) == (stage.cast.alice, True, "U012AB3CD")
    assert (own.timezone, own.quiet_from, own.quiet_to, own.digest_minutes) == ("Europe/Vienna", time(22), time(7), 30)
    event = LedgerEvent.objects.get(type="notices.preferences")
    assert event.actor == "user:alice"
    assert event.facts == {"changed": ["digest_minutes", "quiet_from", "quiet_to", "slack_user", "timezone"]}
    alice.post(URL, given)
    assert LedgerEvent.objects.filter(type="notices.preferences").count() == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"timezone": "Mars/Olympus"}, "There is no such time zone."),
        ({"timezone": "../../etc/passwd"}, "There is no such time zone."),
        ({"timezone": ""}, "This field is required."),
        ({"slack_user": "C012AB3CD"}, "A member id begins with U or W"),
        ({"slack_user": "U012<!channel>"}, "A member id begins with U or W"),
        ({"slack_user": "U" + "A" * 50}, "at most 40 characters"),
        ({"quiet_from": "22:00"}, "Give both times, or neither."),
        ({"quiet_to": "07:00"}, "Give both times, or neither."),
        ({"quiet_from": "07:00", "quiet_to": "07:00"}, "end at another time"),
        ({"quiet_from": "25:00", "quiet_to": "07:00"}, "Enter a valid time."),
        ({"digest_minutes": "7"}, "Select a valid choice."),
        ({"digest_minutes": "-1"}, "Select a valid choice."),
    ],
)
def test_what_cannot_be_is_refused_and_said(alice: Client, given: dict[str, str], words: str) -> None:
    answer = alice.post(URL, GOOD | given)
    assert answer.status_code == 422
    assert words in answer.content.decode()
    assert not NoticePreference.objects.exists()


def test_page_is_shown_without_writing(stage: Stage, alice: Client) -> None:
    page = alice.get(URL).content.decode()
    assert "Escalations come at any time." in page
    assert "This installation sends no mail yet" in page
    assert "Slack is not set up here yet" in page
    assert "Nothing yet." in page
    assert not NoticePreference.objects.exists()


def test_page_says_what_is_missing(mail: None, stage: Stage, alice: Client) -> None:
    SlackChannel.objects.create(tenant=stage.cast.tenant, queue=stage.cast.queue, channel="C1")
    page = alice.get(URL).content.decode()
    assert "To alice@example.com." in page
    assert "not set up" not in page
    stage.cast.alice.email = ""
    stage.cast.alice.save()
    assert "Your account has no e-mail address" in alice.get(URL).content.decode()


@pytest.mark.parametrize("rows", [1, 30])
def test_last_twenty_notices_at_one_query_count(
    mail: None, stage: Stage, alice: Client, request_: ApprovalRequest, rows: int
) -> None:
    for number in range(rows):
        Notice.objects.create(
            id=new_id(),
            tenant=stage.cast.tenant,
            request=request_,
            person=stage.cast.alice,
            channel="mail",
            kind="asked",
            state="failed" if number == rows - 1 else "sent",
            due_at=timezone.now(),
            created_at=timezone.now() + timedelta(seconds=number),
            last_error="The mail server could not be used.",
        )
    alice.get(URL)
    with CaptureQueriesContext(connection) as caught:
        page = alice.get(URL).content.decode()
    assert page.count(f">{request_.code}</a>") == min(rows, 20)
    assert page.count("The mail server could not be used.") == 1
    assert len(caught) <= 12


def test_notices_of_others_are_not_shown(mail: None, stage: Stage, request_: ApprovalRequest, clock: Clock) -> None:
    tell(request_, Notice.Kind.ASKED, now=clock())
    pages = {name: client_of(getattr(stage.cast, name)).get(URL) for name in ("alice", "bob", "charlie")}
    shown = {name: request_.code in page.content.decode() for name, page in pages.items()}
    assert shown == {"alice": True, "bob": False, "charlie": False}


@pytest.fixture
def root(stage: Stage) -> Client:
    """An admin of the tenant."""
    return client_of(make_admin("root", stage.cast.tenant))


def test_admin_adds_a_channel_and_it_is_on_record(mail: None, stage: Stage, root: Client) -> None:
    url = reverse("admin:approvals_slackchannel_add")
    given = {"queue": stage.cast.queue.pk, "channel": "C012AB3CD", "is_active": "on"}
    assert root.post(url, given).status_code == 302
    channel = SlackChannel.objects.get()
    assert (channel.tenant, channel.channel) == (stage.cast.tenant, "C012AB3CD")
    event = LedgerEvent.objects.get(type="config.added")
    assert event.facts["model"] == "SlackChannel"
    assert event.actor == "user:root"


@pytest.mark.parametrize("channel", ["#approvals", "U012AB3CD", "C012<!here>", ""])
def test_channel_that_is_none_is_refused(mail: None, stage: Stage, root: Client, channel: str) -> None:
    given = {"queue": stage.cast.queue.pk, "channel": channel, "is_active": "on"}
    assert root.post(reverse("admin:approvals_slackchannel_add"), given).status_code == 200
    assert not SlackChannel.objects.exists()


def test_channel_needs_the_site_s_address(stage: Stage, root: Client) -> None:
    given = {"queue": stage.cast.queue.pk, "channel": "C012AB3CD", "is_active": "on"}
    page = root.post(reverse("admin:approvals_slackchannel_add"), given).content.decode()
    assert "Set SITE_URL first" in page


def test_queue_of_another_tenant_is_neither_offered_nor_taken(mail: None, stage: Stage, root: Client) -> None:
    theirs = make_queue(stage.cast.other, "theirs")
    url = reverse("admin:approvals_slackchannel_add")
    assert "Theirs" not in root.get(url).content.decode()
    root.post(url, {"queue": theirs.pk, "channel": "C012AB3CD", "is_active": "on"})
    assert not SlackChannel.objects.exists()


def given_up(request: ApprovalRequest, stage: Stage, clock: Clock) -> Notice:
    tell(request, Notice.Kind.ASKED, now=clock())
    notice = Notice.objects.get()
    notice.state, notice.attempts, notice.last_error = "failed", 8, "Slack answered is_archived."
    notice.save()
    return notice


def again(client: Client, *notices: Notice) -> Any:
    data = {"action": "send_again", "_selected_action": [str(notice.pk) for notice in notices]}
    return client.post(reverse("admin:approvals_notice_changelist"), data, follow=True)


def test_what_was_given_up_is_tried_again(
    mail: None, stage: Stage, root: Client, request_: ApprovalRequest, clock: Clock
) -> None:
    notice = given_up(request_, stage, clock)
    page = root.get(reverse("admin:approvals_notice_changelist"), {"state__exact": "failed"}).content.decode()
    assert "Slack answered is_archived." in page
    assert "1 will be tried again." in again(root, notice).content.decode()
    notice.refresh_from_db()
    assert (notice.state, notice.attempts) == ("waiting", 0)
    assert LedgerEvent.objects.get(type="notice.tried_again").actor == "user:root"
    assert "1 left alone" in again(root, notice).content.decode()


def test_trying_again_what_is_of_no_more_use_does_nothing(
    mail: None, stage: Stage, root: Client, request_: ApprovalRequest, clock: Clock
) -> None:
    notice = given_up(request_, stage, clock)
    tell(request_, Notice.Kind.ASKED, now=clock())
    assert "1 left alone" in again(root, notice).content.decode()
    Notice.objects.exclude(pk=notice.pk).delete()
    ApprovalRequest.objects.update(state="expired", closed_at=clock())
    assert "1 left alone" in again(root, notice).content.decode()
    assert not LedgerEvent.objects.filter(type="notice.tried_again").exists()


def test_notices_are_neither_added_nor_changed_nor_deleted_by_hand(
    mail: None, stage: Stage, root: Client, request_: ApprovalRequest, clock: Clock
) -> None:
    notice = given_up(request_, stage, clock)
    for name, args in (("add", []), ("change", [notice.pk]), ("delete", [notice.pk])):
        assert root.post(reverse(f"admin:approvals_notice_{name}", args=args), {"state": "sent"}).status_code == 403


def test_admin_of_another_tenant_sees_no_notice(
    mail: None, stage: Stage, request_: ApprovalRequest, clock: Clock
) -> None:
    notice = given_up(request_, stage, clock)
    other = make_admin("other", stage.cast.other)
    again(client_of(other), notice)
    notice.refresh_from_db()
    assert notice.state == "failed"
    assert Membership.objects.filter(user=other).count() == ApprovalQueue.objects.count() == 1
