"""A Slack of our own on loopback: it checks tokens, remembers messages, and can be unkind.

Behaves as https://docs.slack.dev/reference/methods/chat.postMessage and chat.update describe: HTTP 200 with ``ok``
false for what is wrong, 429 with Retry-After when there is too much.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "xoxb-for-tests-0123456789"


@dataclass
class Message:
    """One message, with every text that it has had."""

    channel: str
    stamp: str
    key: str
    texts: list[str] = field(default_factory=list)


@dataclass
class FakeSlack:
    """``limit`` next calls are told to wait, ``drop`` next calls are done and not answered, ``fail`` names an error."""

    channels: set[str]
    messages: list[Message] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    raw: list[dict[str, Any]] = field(default_factory=list)
    limit: int = 0
    retry_after: str = "7"
    drop: int = 0
    fail: str = ""
    url: str = ""
    guard: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, method: str, token: str, said: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked and return Slack's answer."""
        if token != f"Bearer {TOKEN}":
            return {"ok": False, "error": "invalid_auth"}
        if self.fail:
            return {"ok": False, "error": self.fail}
        if said.get("channel") not in self.channels:
            return {"ok": False, "error": "channel_not_found"}
        text = said["blocks"][0]["text"]["text"]
        if method == "chat.postMessage":
            key = said["metadata"]["event_payload"]["notice"]
            # A message to a member lands in a conversation of its own.
            channel = said["channel"].replace("U", "D", 1)
            self.channels.add(channel)
            message = Message(channel, f"1764500000.{len(self.messages):06}", key, [text])
            self.messages.append(message)
            return {"ok": True, "channel": channel, "ts": message.stamp}
        for message in self.messages:
            if (message.channel, message.stamp) == (said["channel"], said.get("ts")):
                message.texts.append(text)
                return {"ok": True, "channel": message.channel, "ts": message.stamp}
        return {"ok": False, "error": "message_not_found"}

    def texts(self, channel: str) -> list[str]:
        """Return what the channel shows now."""
        return [message.texts[-1] for message in self.messages if message.channel == channel]


@contextmanager
def fake_slack(*channels: str) -> Iterator[FakeSlack]:
    """Run a Slack that knows these channels and members."""
    slack = FakeSlack(set(channels))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            method = self.path.removeprefix("/api/")
            with slack.guard:
                slack.calls.append(method)
                if slack.limit:
                    slack.limit -= 1
                    self._reply(429, {"ok": False, "error": "ratelimited"}, {"Retry-After": slack.retry_after})
                    return
                slack.raw.append(said)
                answer = slack.answer(method, self.headers.get("Authorization", ""), said)
                if slack.drop:
                    slack.drop -= 1
                    self.close_connection = True
                    return
            self._reply(200, answer, {})

        def _reply(self, status: int, answer: dict[str, Any], headers: dict[str, str]) -> None:
            body = json.dumps(answer).encode()
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    slack.url = f"http://127.0.0.1:{server.server_address[1]}/api"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield slack
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
