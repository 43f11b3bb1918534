"""One tenant's workspace at Slack, as a piece of work sees it: with the token that was lent for it."""

from collections.abc import Iterator, Mapping
from typing import Any, NoReturn
from urllib.request import Request

from django.conf import settings
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from agentops.kernel.errors import FailureKind
from agentops.net.http import NotReached
from agentops.registry.secret import Secret
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from sre_agent.connectors.slack.errors import failure_of
from sre_agent.connectors.vendor_door import SLACK_HOSTS, UnsafeAddress, sent

SECONDS = 10.0
PAGE = 200
Obj = Mapping[str, Any]


class Workspace:
    """Reads channels and posts into them."""

    def __init__(self, client: WebClient) -> None:
        self._client = client

    def bot(self) -> str:
        """Return which bot the token is of. Raises ToolFailure."""
        found = self._asked("auth.test").get("bot_id")
        if not isinstance(found, str) or not found:
            raise ToolFailure(FailureKind.AUTH, "The token has to be that of an app's bot (xoxb-…).")
        return found

    def history(self, channel: str, oldest: str, most: int) -> Iterator[Obj]:
        """Yield the messages of a channel since a moment, the latest first. Raises ToolFailure, also for too many."""
        return self._listed("conversations.history", most, channel=channel, oldest=oldest)

    def replies(self, channel: str, thread: str, most: int) -> Iterator[Obj]:
        """Yield a thread's messages. Raises ToolFailure, also for too many."""
        return self._listed("conversations.replies", most, channel=channel, ts=thread)

    def post(self, channel: str, thread: str, content: Obj) -> str:
        """Post a message, into a thread if there is one, and return its time, which is its id.

        Raises ToolFailure when it certainly is not there, OutcomeUnknown when it may be.
        """
        said = {"channel": channel, **content, **({"thread_ts": thread} if thread else {})}
        stamp = self._asked("chat.postMessage", said, writes=True).get("ts")
        if not isinstance(stamp, str):
            raise OutcomeUnknown("Slack's answer does not say where the message is.")
        return stamp

    def _listed(self, method: str, most: int, **asked: str) -> Iterator[Obj]:
        cursor, count = "", 0
        # A page may be empty though more of them follow, so that messages alone are no bound.
        for _ in range(1 + 2 * most // PAGE):
            further = {"cursor": cursor} if cursor else {}
            told = {**asked, **further, "limit": str(PAGE), "include_all_metadata": "true"}
            answer = self._asked(method, params=told)
            messages = answer.get("messages")
            for message in messages if isinstance(messages, list) else ():
                count += 1
                if isinstance(message, dict):
                    yield message
            following = (answer.get("response_metadata") or {}).get("next_cursor")
            if not following or following == cursor:
                return
            if count >= most:
                break
            cursor = str(following)
        words = "There are too many messages in the channel to make sure that this one is not there yet."
        raise ToolFailure(FailureKind.CONFLICT, words)

    def _asked(
        self, method: str, json: Obj | None = None, *, params: Obj | None = None, writes: bool = False
    ) -> Mapping[str, Any]:
        try:
            answer = self._client.api_call(method, json=json, params=params)  # type: ignore[arg-type] # it takes None
        except SlackApiError as error:
            told = error.response.data if isinstance(error.response.data, dict) else {}
            raise failure_of(error.response.status_code, told, error.response.headers, writes=writes) from None
        except UnsafeAddress as error:
            raise ToolFailure(FailureKind.VALIDATION, error.in_full) from None
        except NotReached as cause:
            _lost(cause, writes)
        return answer.data if isinstance(answer.data, dict) else {}


def _lost(cause: NotReached, writes: bool) -> NoReturn:
    if writes and not cause.unsent:
        raise OutcomeUnknown("Slack did not say whether the message was posted.") from None
    kind = FailureKind.TIMEOUT if cause.late else FailureKind.UNAVAILABLE
    raise ToolFailure(kind, f"Slack {cause.message}.") from None


class _Client(WebClient):
    """The SDK's client on the house's one door: it knows no proxies of the environment and tries nothing again."""

    def _perform_urllib_http_request_internal(self, url: str, req: Request) -> dict[str, Any]:
        body = req.data if isinstance(req.data, bytes) else None
        reply = sent(req.get_method(), url, body, dict(req.header_items()), SLACK_HOSTS, SECONDS)
        return {"status": reply.status, "headers": dict(reply.headers), "body": reply.body.decode("utf-8", "replace")}


def opened(secret: Secret) -> Workspace:
    """Return the workspace whose token was lent."""
    token = secret.reveal().strip()
    return Workspace(_Client(token=token, base_url=settings.SLACK_URL, timeout=int(SECONDS), retry_handlers=[]))
