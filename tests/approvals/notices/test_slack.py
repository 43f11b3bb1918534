"""Slack: told once, changed when decided, patient when asked to wait."""

import pytest

from agentops.gateway import credentials
from approvals.models import ApprovalQueue, ApprovalRequest, Notice, NoticePreference, SlackChannel
from approvals.notices.outbox import closed, tell
from approvals.notices.slack import escaped
from tests.approvals.conftest import Stage
from tests.approvals.notices.conftest import CHANNEL, MEMBER, Clock, ask, deliver, states
from tests.factories.fake_slack.notices import FakeSlack

pytestmark = pytest.mark.django_db
ASKED = Notice.Kind.ASKED


def close(request: ApprovalRequest, state: str, clock: Clock) -> None:
    request.state, request.closed_at = state, clock()
    request.save(update_fields=["state", "closed_at"])
    closed(request, clock())


def test_channel_and_member_are_told(slack: FakeSlack, request_: ApprovalRequest, clock: Clock) -> None:
    tell(request_, ASKED, now=clock())
    assert deliver(clock) == 2
    (own,), (shared,) = slack.texts("D0ALICE01"), slack.texts(CHANNEL)
    for text in (own, shared):
        assert f"*A request waits for a decision: {request_.code}*" in text
        assert "pay, consequential · Payments" in text
    assert "1 waits for you." in own
    assert "/approvals/notices/link/?t=" in own
    # A channel has many readers: its link is the page's own address.
    assert f"<https://control.example.com/approvals/{request_.pk}/|Open {request_.code}>" in shared
    assert [message.key for message in slack.messages] == [
        str(pk) for pk in Notice.objects.order_by("id").values_list("pk", flat=True)
    ]


def test_nothing_personal_and_no_link_of_slack_s_own(slack: FakeSlack, stage: Stage, clock: Clock) -> None:
    request = ask(stage, 123_45, text="Zoltan http://evil.example", rationale="boss")
    ApprovalRequest.objects.filter(pk=request.pk).update(
        effect="Refund to Dana", target="Dana", sender="dana@example.org"
    )
    tell(request, ASKED, now=clock())
    deliver(clock)
    close(request, "approved", clock)
    deliver(clock)
    said = str(slack.raw)
    assert len(slack.raw) == 4
    for word in ("Zoltan", "evil", "boss", "Dana", "dana@", "123.45", "12345", "alice"):
        assert word not in said
    for raw in slack.raw:
        assert raw["blocks"][0]["text"]["verbatim"] is True
        assert raw.get("unfurl_links", False) is False


def test_queue_with_a_hostile_name_is_only_text(slack: FakeSlack, request_: ApprovalRequest, clock: Clock) -> None:
    ApprovalQueue.objects.update(name="<!channel> <https://evil.example|ok> & more")
    tell(request_, ASKED, now=clock())
    assert deliver(clock) == len(slack.messages) == 2
    for message in slack.messages:
        assert "&lt;!channel&gt; &lt;https://evil.example|ok&gt; &amp; more" in message.texts[0]
    assert escaped("<@U1>&amp;") == "&lt;@U1&gt;&amp;amp;"


@pytest.mark.parametrize(
    ("state", "words"),
    [
        ("approved", "Approved"),
        ("rejected", "Rejected"),
        ("expired", "Expired, nothing was carried out"),
        ("voided", "Withdrawn, nothing was carried out"),
    ],
)
def test_messages_are_changed_when_the_request_is_closed(
    slack: FakeSlack, request_: ApprovalRequest, clock: Clock, state: str, words: str
) -> None:
    tell(request_, ASKED, now=clock())
    tell(request_, Notice.Kind.REMINDED, now=clock())
    assert deliver(clock) == 4
    close(request_, state, clock)
    assert deliver(clock) == 2
    texts = [*slack.texts(CHANNEL), *slack.texts("D0ALICE01")]
    assert len(texts) == 4
    for text in texts:
        assert text.startswith(f"*{request_.code}: {words}* <!date^{int(clock().timestamp())}^")
        assert "Open" not in text
    assert slack.calls.count("chat.update") == 4


def test_decision_that_was_taken_back_meanwhile_shows_as_waiting(
    slack: FakeSlack, request_: ApprovalRequest, clock: Clock
) -> None:
    tell(request_, ASKED, now=clock())
    deliver(clock)
    closed(request_, clock())
    deliver(clock)
    texts = [*slack.texts(CHANNEL), *slack.texts("D0ALICE01")]
    assert len(texts) == 2
    for text in texts:
        assert text.startswith(f"*A request waits for a decision: {request_.code}*")
        assert f"|Open {request_.code}>" in text


def test_message_that_was_deleted_stays_deleted(slack: FakeSlack, request_: ApprovalRequest, clock: Clock) -> None:
    tell(request_, ASKED, now=clock())
    deliver(clock)
    slack.messages.clear()
    close(request_, "rejected", clock)
    deliver(clock)
    assert {row[3] for row in states()} == {"sent"}


def test_rate_limit_is_honoured_and_is_no_failed_attempt(
    slack: FakeSlack, request_: ApprovalRequest, clock: Clock
) -> None:
    slack.limit = 1
    tell(request_, ASKED, now=clock())
    assert deliver(clock) == 1
    assert slack.calls == ["chat.postMessage"]
    assert list(Notice.objects.values_list("state", "attempts")) == [("waiting", 0)] * 2
    clock.on(seconds=6.9)
    assert deliver(clock) == 0
    clock.on(seconds=0.1)
    assert deliver(clock) == 2
    assert len(slack.messages) == 2


@pytest.mark.parametrize("said", ["", "soon", "-1", "99999999", "٣"])
def test_rate_limit_without_a_usable_time(slack: FakeSlack, request_: ApprovalRequest, clock: Clock, said: str) -> None:
    slack.limit, slack.retry_after = 1, said.encode("ascii", "replace").decode()
    tell(request_, ASKED, now=clock())
    deliver(clock)
    clock.on(seconds=30)
    assert deliver(clock) == 2


def test_answer_that_is_lost_sends_again_under_the_same_key(
    slack: FakeSlack, request_: ApprovalRequest, clock: Clock
) -> None:
    NoticePreference.objects.all().delete()
    slack.drop = 1
    tell(request_, ASKED, now=clock(), people=None)
    Notice.objects.filter(channel="mail").delete()
    deliver(clock)
    clock.on(seconds=20)
    deliver(clock)
    first, second = slack.messages
    assert first.key == second.key == str(Notice.objects.get().pk)
    assert Notice.objects.get().address == f"{CHANNEL}:{second.stamp}"


def test_closed_while_it_was_being_sent_is_changed_all_the_same(
    slack: FakeSlack, request_: ApprovalRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(request_, ASKED, now=clock())
    monkeypatch.setattr("approvals.notices.delivery.post_message", _closing(request_, clock))
    deliver(clock, 1)
    monkeypatch.undo()
    assert ("closed", "slack", "alice", "waiting") in states()


def _closing(request: ApprovalRequest, clock: Clock) -> object:
    def post(**_: object) -> str:
        close(request, "approved", clock)
        return "D0ALICE01:1.0"

    return post


@pytest.mark.parametrize(
    ("error", "state", "words"),
    [
        ("is_archived", "failed", "Slack answered is_archived."),
        ("internal_error", "waiting", "Slack answered internal_error."),
        ("<script>", "waiting", "Slack answered an error without a name."),
    ],
)
def test_errors_of_slack(
    slack: FakeSlack, request_: ApprovalRequest, clock: Clock, error: str, state: str, words: str
) -> None:
    slack.fail = error
    tell(request_, ASKED, now=clock())
    deliver(clock)
    assert set(Notice.objects.values_list("state", "last_error")) == {(state, words)}


def test_without_a_token_an_admin_reads_why(
    slack: FakeSlack, request_: ApprovalRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    credentials.shelf.clear()
    tell(request_, ASKED, now=clock())
    deliver(clock)
    assert set(Notice.objects.values_list("state", "last_error")) == {
        ("waiting", "There is no sandbox credential slack_bot.")
    }
    assert slack.calls == []


def test_token_is_of_the_tenant_and_is_never_recorded(
    slack: FakeSlack, request_: ApprovalRequest, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    slack.fail = "invalid_auth"
    tell(request_, ASKED, now=clock())
    deliver(clock)
    assert "xoxb" not in caplog.text + str(list(Notice.objects.values_list("last_error", flat=True)))


def test_channel_and_member_that_were_taken_away(
    slack: FakeSlack, stage: Stage, request_: ApprovalRequest, clock: Clock
) -> None:
    tell(request_, ASKED, now=clock())
    SlackChannel.objects.update(is_active=False)
    NoticePreference.objects.filter(slack_user=MEMBER).update(slack_user="")
    deliver(clock)
    assert {row[3] for row in states()} == {"failed"}
    assert slack.calls == []
