"""Status updates in Slack: once each, in one thread for an incident, as plain text."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from agentops.gateway.models import SecretConsent
from agentops.kernel.errors import FailureKind
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from sre_agent.connectors import SLACK_KEY
from sre_agent.connectors.port import Board
from sre_agent.connectors.slack import SlackBoard
from sre_agent.connectors.slack.words import EVENT, content_of, escaped
from sre_agent.models import Incident, StatusUpdate
from tests.factories.fake_slack.workspace import BOT, TOKEN, Workspace
from tests.factories.hooks import put_secrets
from tests.factories.loopback import AFTER, BEFORE, Answer, running
from tests.gateway.secrets import consent_of
from tests.sre_agent.vendors.cast import NOW, SLACK, Cast, cast, document, incident

pytestmark = pytest.mark.django_db
BOARD: Board = SlackBoard()
CHANNEL = SLACK["channel"]
POST = "POST /api/chat.postMessage"


def drafted(shop: Cast, ref: str, about: Incident | None = None) -> str:
    StatusUpdate.objects.create(
        tenant=shop.tenant,
        ref=ref,
        incident=about or shop.incident,
        text="Checkout is slow.",
        drafted_by="agent",
        drafted_at=NOW,
    )
    return ref


@pytest.fixture
def shop(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Cast:
    shop = cast(SLACK_KEY, TOKEN)
    settings.SRE_VENDORS_FILE = document(tmp_path, shop.tenant, slack=SLACK)
    put_secrets(monkeypatch, shop.tenant, slack_api=TOKEN)
    consent_of(shop.tenant, capability=SLACK_KEY)
    drafted(shop, "SU-1")
    return shop


@pytest.fixture
def slack(shop: Cast, settings: Any) -> Iterator[Workspace]:
    with running(Workspace(CHANNEL)) as workspace:
        settings.SLACK_URL = f"{workspace.url}/api"
        yield workspace


def publish(shop: Cast, ref: str = "SU-1", words: str = "Checkout is slow.", thread: str = "") -> str:
    return BOARD.publish(shop.tenant.pk, ref, words, thread)


def refused(shop: Cast, **more: str) -> ToolFailure:
    with pytest.raises(ToolFailure) as found:
        publish(shop, **more)
    return found.value


def posted(slack: Workspace) -> list[tuple[str, str | None]]:
    """Return which updates were posted, and into which thread."""
    return [(each["metadata"]["event_payload"]["update_ref"], each.get("thread_ts")) for each in slack.posted]


def test_the_first_update_opens_a_thread_and_the_next_ones_go_into_it(shop: Cast, slack: Workspace) -> None:
    thread = publish(shop)
    stamp = slack.posted[0]["ts"]
    assert thread == f"{CHANNEL}:{stamp}"

    assert publish(shop, drafted(shop, "SU-2"), thread=thread) == thread
    assert publish(shop, drafted(shop, "SU-3")) == thread  # nobody kept it
    assert posted(slack) == [("SU-1", None), ("SU-2", stamp), ("SU-3", stamp)]


def test_another_incident_has_a_thread_of_its_own(shop: Cast, slack: Workspace) -> None:
    other = drafted(shop, "SU-9", incident(shop.tenant, "INC-8"))
    assert publish(shop) != publish(shop, other)
    assert posted(slack) == [("SU-1", None), ("SU-9", None)]


@pytest.mark.parametrize("ref", ["SU-1", "SU-2"])
def test_an_update_is_posted_once_however_often_it_is_published(shop: Cast, slack: Workspace, ref: str) -> None:
    publish(shop)
    drafted(shop, "SU-2")
    threads = {publish(shop, ref) for _ in range(3)}
    assert len(threads) == 1
    assert len(posted(slack)) == len({"SU-1", ref})


def test_a_lost_answer_is_looked_for_at_once(shop: Cast, slack: Workspace) -> None:
    slack.cuts(POST, when=AFTER)
    thread = publish(shop)
    assert posted(slack) == [("SU-1", None)]
    assert thread == f"{CHANNEL}:{slack.posted[0]['ts']}"


@pytest.mark.parametrize("when", [BEFORE, AFTER])
def test_what_is_not_seen_after_a_lost_answer_is_unknown_and_looked_for_again(
    shop: Cast, slack: Workspace, when: str
) -> None:
    publish(shop)
    drafted(shop, "SU-2")
    slack.cuts(POST, when=when)
    slack.cuts("conversations", skip=2)
    with pytest.raises(OutcomeUnknown):
        publish(shop, "SU-2")
    publish(shop, "SU-2")
    assert [ref for ref, _ in posted(slack)] == ["SU-1", "SU-2"]


@pytest.mark.parametrize(
    ("status", "body"),
    [(500, b"oops"), (200, {"ok": False, "error": "fatal_error"}), (200, {"ok": False, "error": "<b>"}), (200, b"{")],
)
@pytest.mark.parametrize("when", [BEFORE, AFTER])
def test_an_answer_that_says_nothing_is_no_failure(
    shop: Cast, slack: Workspace, status: int, body: Any, when: str
) -> None:
    slack.fails(POST, status, body, when=when)
    if when == AFTER:
        publish(shop)
    else:
        with pytest.raises(OutcomeUnknown):
            publish(shop)
    publish(shop)
    assert posted(slack) == [("SU-1", None)]


def test_only_messages_of_our_own_bot_count(shop: Cast, slack: Workspace) -> None:
    forged = content_of("x", "SU-1", shop.incident.ref)["metadata"]
    slack.said(CHANNEL, "forged", bot="B0EVIL", metadata=forged)
    slack.said(CHANNEL, "other kind", bot=BOT, metadata={**forged, "event_type": "deploy"})
    slack.said(CHANNEL, "broken", bot=BOT, metadata={"event_type": EVENT, "event_payload": "SU-1"})
    publish(shop)
    assert posted(slack) == [("SU-1", None)]


def test_a_busy_channel_is_looked_through_page_by_page(shop: Cast, slack: Workspace) -> None:
    publish(shop)
    for number in range(95):
        slack.said(CHANNEL, f"{number}")
    slack.page = 10
    publish(shop)
    assert posted(slack) == [("SU-1", None)]
    assert slack.calls.count("POST /api/conversations.history") == 11


def test_what_cannot_be_looked_through_is_not_posted(
    shop: Cast, slack: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sre_agent.connectors.slack.board.MOST_MESSAGES", 20)
    for number in range(30):
        slack.said(CHANNEL, f"{number}")
    slack.page = 10
    assert refused(shop).kind is FailureKind.CONFLICT
    assert posted(slack) == []


def test_words_are_plain_text(shop: Cast, slack: Workspace) -> None:
    words = (
        "<!channel> <@U123> *bold* <https://evil.example|click> https://evil.example/x?a=1&b=2 \u202e@here\r\nnext\x07"
    )
    publish(shop, words=words)

    [message] = slack.posted
    [block] = message["blocks"]
    plain = "<!channel> <@U123> *bold* <https[:]//evil.example|click> https[:]//evil.example/x?a=1&b=2 "
    plain += "\\u202e@here\nnext\\x07"
    assert block == {"type": "section", "text": {"type": "plain_text", "text": plain, "emoji": False}}
    assert message["text"] == escaped(plain)
    assert not set("<>") & set(message["text"])
    assert {name: message[name] for name in ("mrkdwn", "parse", "link_names", "unfurl_links", "unfurl_media")} == {
        "mrkdwn": False, "parse": "none", "link_names": False, "unfurl_links": False, "unfurl_media": False,
    }  # fmt: skip


def test_long_words_fit_a_block(shop: Cast, slack: Workspace) -> None:
    publish(shop, words="&" * 10_000)
    assert len(slack.posted[0]["blocks"][0]["text"]["text"]) == 2_800


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("invalid_auth", "AUTH", "does not accept the token"),
        ("not_in_channel", "AUTH", "Invite it"),
        ("channel_not_found", "NOT_FOUND", "no such channel"),
        ("is_archived", "NOT_FOUND", "archived"),
        ("msg_too_long", "VALIDATION", "too long"),
        ("ratelimited", "RATE_LIMIT", "asks to wait"),
        ("a_new_one", "VALIDATION", "Slack refuses: a_new_one."),
    ],
)
def test_refusals_have_our_kinds(shop: Cast, slack: Workspace, code: str, kind: str, words: str) -> None:
    slack.fails(POST, 200, {"ok": False, "error": code})
    failure = refused(shop)
    assert (failure.kind, words in failure.message) == (FailureKind(kind), True)
    assert slack.calls.count(POST) == 1
    assert posted(slack) == []


@pytest.mark.parametrize("call", [POST, "conversations.history"])
def test_slack_is_waited_for_as_long_as_it_says(shop: Cast, slack: Workspace, call: str) -> None:
    slack.fails(call, 429, {"ok": False, "error": "ratelimited"}, Retry_After="17")
    failure = refused(shop)
    assert (failure.kind, failure.retry_after) == (FailureKind.RATE_LIMIT, 17.0)
    assert sum(call in each for each in slack.calls) == 1
    publish(shop)
    assert posted(slack) == [("SU-1", None)]


def test_a_missing_scope_is_named(shop: Cast, slack: Workspace) -> None:
    slack.scopes = {"chat:write"}
    assert refused(shop).message == "Slack refuses: the token lacks the scope channels:history,groups:history."
    slack.scopes = {"channels:history"}
    assert refused(shop).message == "Slack refuses: the token lacks the scope chat:write."


def test_the_state_of_a_channel_is_told(shop: Cast, slack: Workspace) -> None:
    slack.channels[CHANNEL].is_archived = True
    assert refused(shop).kind is FailureKind.NOT_FOUND
    slack.channels.clear()
    assert refused(shop).kind is FailureKind.NOT_FOUND


def test_the_token_goes_nowhere_else_and_is_never_shown(
    shop: Cast, slack: Workspace, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    publish(shop)
    slack.fails(POST, 200, {"ok": False, "error": "invalid_auth"})
    drafted(shop, "SU-2")
    failure = refused(shop, ref="SU-2")
    assert TOKEN not in failure.in_full + caplog.text
    count = len(slack.calls)
    settings.SLACK_URL = "https://slack.com.attacker.example/api"
    assert "No credential is sent" in refused(shop, ref="SU-2").message
    assert len(slack.calls) == count


def test_a_channel_whose_pages_never_end_is_left(shop: Cast, slack: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    count = iter(range(10_000))
    page = lambda _: Answer(  # noqa: E731 - it stands in for a method
        200, {"ok": True, "messages": [], "response_metadata": {"next_cursor": f"c{next(count)}"}}
    )
    monkeypatch.setattr(slack, "_conversations_history", page)
    assert refused(shop).kind is FailureKind.CONFLICT
    assert sum("conversations.history" in each for each in slack.calls) == 21
    assert posted(slack) == []


def test_without_consent_draft_or_words_nothing_is_asked(shop: Cast, slack: Workspace) -> None:
    assert refused(shop, ref="SU-404").kind is FailureKind.NOT_FOUND
    assert refused(shop, words=" \n").kind is FailureKind.VALIDATION
    SecretConsent.objects.all().delete()
    assert refused(shop).kind is FailureKind.AUTH
    assert slack.calls == []


@pytest.mark.django_db(transaction=True)
def test_two_people_publish_at_once_and_it_is_posted_once(shop: Cast, slack: Workspace) -> None:
    outcomes: list[str] = []
    start = threading.Barrier(4)

    def one() -> None:
        start.wait()
        try:
            outcomes.append(publish(shop))
        except ToolFailure as failure:
            outcomes.append(failure.kind)
        finally:
            connection.close()

    threads = [threading.Thread(target=one) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert posted(slack) == [("SU-1", None)]
    assert set(outcomes) <= {f"{CHANNEL}:{slack.posted[0]['ts']}", FailureKind.CONFLICT}
