"""A provider on 127.0.0.1 that speaks both wire formats and answers as it is told, faults included."""

import json
import re
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast

ANTHROPIC_PATH = "/v1/messages"
OPENAI_PATH = "/v1/chat/completions"


@dataclass(frozen=True)
class Reply:
    """An HTTP response. ``wait`` seconds pass before it, ``drip`` seconds between its bytes.

    ``cut`` closes the connection after half of the body, ``reset`` resets it before anything is sent.
    """

    body: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    wait: float = 0.0
    drip: float = 0.0
    cut: bool = False
    reset: bool = False


@dataclass(frozen=True)
class Says:
    """What the model says, in either format. ``calls`` are tool names with the raw JSON text of the arguments.

    ``stop`` is the provider's word for why it ended; by default the one that belongs to the answer.
    ``tokens`` are (input, cached input, output) as OpenAI counts them, None for no usage at all.
    """

    text: str = ""
    calls: tuple[tuple[str, str], ...] = ()
    stop: str | None = None
    refusal: str = ""
    tokens: tuple[int, int, int] | None = (1_000, 0, 100)
    drip: float = 0.0
    cut: bool = False
    model: str = "stub"


@dataclass(frozen=True)
class Request:
    """What the planner sent."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


def anthropic_body(says: Says) -> bytes:
    """Return a message; the arguments of calls stand in it exactly as given."""
    blocks = [json.dumps({"type": "text", "text": says.text})] if says.text else []
    blocks += [
        f'{{"type":"tool_use","id":"toolu_{index}","name":{json.dumps(name)},"input":{arguments}}}'
        for index, (name, arguments) in enumerate(says.calls)
    ]
    stop = says.stop or ("refusal" if says.refusal else "tool_use" if says.calls else "end_turn")
    rest: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": says.model}
    rest |= {"stop_reason": stop, "stop_sequence": None}
    if says.refusal:
        rest["stop_details"] = {"type": "refusal", "explanation": says.refusal, "category": None}
    if says.tokens is not None:
        total, cached, output = says.tokens
        rest["usage"] = {
            "input_tokens": total - cached,
            "cache_read_input_tokens": cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": output,
        }
    else:
        rest["usage"] = {"input_tokens": 0, "output_tokens": 0}
    return f'{json.dumps(rest)[:-1]},"content":[{",".join(blocks)}]}}'.encode("utf-8", "surrogatepass")


def openai_body(says: Says) -> bytes:
    """Return a chat completion; the arguments of calls are texts in it, as the format has them."""
    message: dict[str, Any] = {"role": "assistant", "content": says.text or None, "refusal": says.refusal or None}
    if says.calls:
        message["tool_calls"] = [
            {"id": f"call_{index}", "type": "function", "function": {"name": name, "arguments": arguments}}
            for index, (name, arguments) in enumerate(says.calls)
        ]
    stop = says.stop or ("tool_calls" if says.calls else "stop")
    completion: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": says.model,
        "choices": [{"index": 0, "message": message, "finish_reason": stop, "logprobs": None}],
    }
    if says.tokens is not None:
        total, cached, output = says.tokens
        completion["usage"] = {
            "prompt_tokens": total,
            "completion_tokens": output,
            "total_tokens": total + output,
            "prompt_tokens_details": {"cached_tokens": cached},
        }
    return json.dumps(completion).encode()


class StubProvider:
    """The server. Replies are given in the order of ``script``; when it is used up, requests fail with 418."""

    def __init__(self) -> None:
        self.script: list[Reply | Says] = []
        self.received: list[Request] = []
        self.complaints: list[str] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.stub = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self) -> None:
        self._thread.start()

    def close_door(self) -> None:
        """Stop listening, so that the next connection is refused."""
        self._server.shutdown()
        self._server.server_close()

    def stop(self) -> None:
        self.close_door()
        self._thread.join()

    def reply_to(self, request: Request) -> Reply:
        """Record ``request``, check it as the provider would, and return the next reply."""
        self.received.append(request)
        problems = list(anthropic_problems(request) if request.path == ANTHROPIC_PATH else openai_problems(request))
        self.complaints += problems
        if problems or not self.script:
            words = problems[0] if problems else "the script of the stub is used up"
            return Reply(json.dumps({"error": {"message": words}}).encode(), status=418)
        reply = self.script.pop(0)
        if isinstance(reply, Reply):
            return reply
        body = anthropic_body(reply) if request.path == ANTHROPIC_PATH else openai_body(reply)
        return Reply(body, drip=reply.drip, cut=reply.cut)


class _Server(ThreadingHTTPServer):
    stub: StubProvider
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away is part of what is tested."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length", "0")))
        path = self.path.partition("?")[0]
        request = Request(path, {name.lower(): value for name, value in self.headers.items()}, json.loads(raw))
        if path not in (ANTHROPIC_PATH, OPENAI_PATH):
            self.send_error(404)
            return
        reply = cast("_Server", self.server).stub.reply_to(request)
        time.sleep(reply.wait)
        if reply.reset:
            self._reset()
            return
        self.send_response(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        self._send_body(reply)

    def _reset(self) -> None:
        """Close the socket so that a reset is sent; it is closed only when nothing else holds it."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.rfile.close()
        self.wfile.close()
        self.connection.close()
        self.close_connection = True

    def _send_body(self, reply: Reply) -> None:
        if reply.cut:
            self.wfile.write(reply.body[: len(reply.body) // 2])
            self.close_connection = True
        elif reply.drip:
            for byte in reply.body:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(reply.drip)
        else:
            self.wfile.write(reply.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Tests print nothing."""


_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}\Z")


def anthropic_problems(request: Request) -> Iterator[str]:
    """Say what the real endpoint would refuse: a missing field, a bad name, a result without its call."""
    body = request.body
    if not {"x-api-key", "authorization"} & set(request.headers) or "anthropic-version" not in request.headers:
        yield "the key or the version is missing"
    if not isinstance(body.get("max_tokens"), int) or not body.get("messages"):
        yield "max_tokens or messages is missing"
    for tool in body.get("tools", []):
        if not _NAME.match(tool["name"]) or tool["input_schema"].get("type") != "object":
            yield f"bad tool {tool['name']!r}"
    open_calls: set[str] = set()
    for message in body.get("messages", []):
        blocks = message["content"] if isinstance(message["content"], list) else []
        results = {block["tool_use_id"] for block in blocks if block["type"] == "tool_result"}
        if message["role"] not in ("user", "assistant") or results != open_calls:
            yield f"results {sorted(results)} do not answer the calls {sorted(open_calls)}"
        open_calls = {block["id"] for block in blocks if block["type"] == "tool_use"}
        if any(not isinstance(block["input"], dict) for block in blocks if block["type"] == "tool_use"):
            yield "the input of a call is not an object"


def openai_problems(request: Request) -> Iterator[str]:
    """Say what the real endpoint would refuse."""
    body = request.body
    if not request.headers.get("authorization", "").startswith("Bearer "):
        yield "the key is missing"
    for tool in body.get("tools", []):
        if not _NAME.match(tool["function"]["name"]):
            yield f"bad tool {tool['function']['name']!r}"
    open_calls: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                yield f"the result {message['tool_call_id']} answers no call"
            open_calls.discard(message["tool_call_id"])
        elif open_calls:
            yield f"the calls {sorted(open_calls)} have no result"
        for call in message.get("tool_calls") or []:
            json.loads(call["function"]["arguments"])
            open_calls.add(call["id"])


@dataclass
class Connected:
    """A stub that runs, and the address of each protocol on it."""

    stub: StubProvider
    addresses: dict[str, str] = field(default_factory=dict)


@contextmanager
def running() -> Iterator[Connected]:
    """Run a stub for the length of a block."""
    stub = StubProvider()
    stub.start()
    base = f"http://127.0.0.1:{stub.port}"
    try:
        yield Connected(stub, {"anthropic": base, "openai": f"{base}/v1"})
    finally:
        stub.stop()
