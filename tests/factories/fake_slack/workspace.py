"""A workspace with channels: messages with metadata, threads, pages of history, and a log of what was posted."""

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl

from tests.factories.loopback import Answer, Asked, Loopback

TOKEN, BOT = "xoxb-of-tests-0123456789-abcdef", "B0AGENT"
LONGEST = 40_000


@dataclass
class Channel:
    """A channel, whether the app is in it, and its messages in order."""

    is_member: bool = True
    is_archived: bool = False
    messages: list[dict[str, Any]] = field(default_factory=list)


class Workspace(Loopback):
    """A running workspace. ``posted`` are the effects, in order; ``page`` is how many messages a page has at most."""

    def __init__(self, *channels: str) -> None:
        super().__init__()
        self.channels = {name: Channel() for name in channels}
        self.scopes = {"chat:write", "channels:history"}
        self.posted: list[dict[str, Any]] = []
        self.page = 200
        self.now = 1_793_698_200
        self.authorised: list[str] = []

    def answer(self, asked: Asked) -> Answer:
        """Do what is asked and answer as Slack does: 200 with ``ok`` false for what is wrong."""
        self.authorised.append(asked.headers.get("authorization", ""))
        if self.authorised[-1] != f"Bearer {TOKEN}":
            return _wrong("invalid_auth")
        if asked.headers.get("content-type", "").startswith("application/json"):
            told = json.loads(asked.body)
        else:
            told = dict(parse_qsl(asked.body.decode()))
        return getattr(self, "_" + asked.path.removeprefix("/api/").replace(".", "_"))(told)

    def said(self, channel: str, text: str, *, bot: str = "", **more: Any) -> None:
        """Let somebody else say something."""
        self._keep(channel, {"text": text, **({"bot_id": bot} if bot else {"user": "U1"}), **more})

    def _keep(self, channel: str, message: dict[str, Any]) -> dict[str, Any]:
        self.now += 1
        kept = {"type": "message", "ts": f"{self.now}.000100", **message}
        self.channels[channel].messages.append(kept)
        return kept

    def _auth_test(self, told: dict[str, Any]) -> Answer:
        return Answer(200, {"ok": True, "bot_id": BOT, "user_id": "U0AGENT"})

    def _chat_postMessage(self, told: dict[str, Any]) -> Answer:  # noqa: N802 - Slack's name
        channel = self.channels.get(told["channel"])
        if "chat:write" not in self.scopes:
            return _wrong("missing_scope", needed="chat:write", provided="channels:history")
        if channel is None:
            return _wrong("channel_not_found")
        if channel.is_archived or not channel.is_member:
            return _wrong("is_archived" if channel.is_archived else "not_in_channel")
        if len(told["text"]) > LONGEST:
            return _wrong("msg_too_long")
        thread = told.get("thread_ts")
        if thread is not None and all(message["ts"] != thread for message in channel.messages):
            return _wrong("thread_not_found")
        kept = self._keep(told["channel"], {"bot_id": BOT, **{k: v for k, v in told.items() if k != "channel"}})
        if thread is None and any(message.get("thread_ts") == kept["ts"] for message in channel.messages):
            raise AssertionError("a thread is older than its first message")
        self.posted.append({"channel": told["channel"], **kept})
        return Answer(200, {"ok": True, "channel": told["channel"], "ts": kept["ts"]})

    def _conversations_history(self, told: dict[str, Any]) -> Answer:
        return self._listed(told, lambda message: message.get("thread_ts", message["ts"]) == message["ts"], latest=True)

    def _conversations_replies(self, told: dict[str, Any]) -> Answer:
        thread = told["ts"]
        return self._listed(told, lambda message: thread in (message["ts"], message.get("thread_ts")), latest=False)

    def _listed(self, told: dict[str, Any], belongs: Any, *, latest: bool) -> Answer:
        channel = self.channels.get(told["channel"])
        if channel is None or not channel.is_member:
            return _wrong("channel_not_found" if channel is None else "not_in_channel")
        if "channels:history" not in self.scopes:
            return _wrong("missing_scope", needed="channels:history,groups:history", provided="chat:write")
        found = [each for each in channel.messages if belongs(each) and each["ts"] >= told.get("oldest", "")]
        if latest:
            found.reverse()
        elif not found:
            return _wrong("thread_not_found")
        first = int(told.get("cursor", "0"))
        last = first + min(self.page, int(told["limit"]))
        shown = [self._shown(each, told) for each in found[first:last]]
        more = {"next_cursor": str(last) if last < len(found) else ""}
        return Answer(200, {"ok": True, "messages": shown, "has_more": last < len(found), "response_metadata": more})

    def _shown(self, message: dict[str, Any], told: dict[str, Any]) -> dict[str, Any]:
        if told.get("include_all_metadata") in ("true", "1"):
            return message
        return {name: value for name, value in message.items() if name != "metadata"}


def _wrong(code: str, **more: str) -> Answer:
    return Answer(200, {"ok": False, "error": code, **more})
