"""The real planner over HTTP when the provider fails: each fault becomes one kind, at once and without retries."""

import json
import socket
import time
import traceback

import pytest

from agentops.kernel.errors import FailureKind
from agentops.registry.planner import FinalAnswer, PlannerUnavailable
from tests.llm.conftest import KEY
from tests.llm.contexts import make_context
from tests.llm.stub_provider import Reply, Says, anthropic_body, openai_body

JSON_TYPE = ("content-type", "application/json")
GOOD = {"anthropic": anthropic_body(Says(text="ok")), "openai": openai_body(Says(text="ok"))}


def error(status, message="it went wrong", **headers):
    body = json.dumps({"type": "error", "error": {"type": "some_error", "message": message}}).encode()
    return Reply(
        body, status=status, headers=(JSON_TYPE, *((name.replace("_", "-"), headers[name]) for name in headers))
    )


def fail(planner):
    with pytest.raises(PlannerUnavailable) as caught:
        planner.propose(make_context())
    return caught.value


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, FailureKind.VALIDATION),
        (401, FailureKind.AUTH),
        (402, FailureKind.AUTH),
        (403, FailureKind.AUTH),
        (404, FailureKind.NOT_FOUND),
        (408, FailureKind.TIMEOUT),
        (409, FailureKind.VALIDATION),
        (413, FailureKind.VALIDATION),
        (422, FailureKind.VALIDATION),
        (429, FailureKind.RATE_LIMIT),
        (500, FailureKind.UNAVAILABLE),
        (502, FailureKind.UNAVAILABLE),
        (503, FailureKind.UNAVAILABLE),
        (504, FailureKind.TIMEOUT),
        (529, FailureKind.UNAVAILABLE),
    ],
)
def test_status_becomes_a_kind_and_nothing_is_retried(planner, stub, status, kind):
    stub.script = [error(status), Says(text="ok")]
    failure = fail(planner)
    assert failure.kind == kind
    assert failure.message == f"{planner.name} answered with status {status}: it went wrong"
    assert len(stub.received) == 1


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry_after": "7"}, 7.0),
        ({"retry_after": "0"}, 0.0),
        ({"retry_after_ms": "1500"}, 1.5),
        ({"retry_after": "86400000"}, 3_600.0),
        ({"retry_after": "-5"}, None),
        ({"retry_after": "soon"}, None),
        ({"retry_after": "nan"}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_passed_on_within_reason(planner, stub, status, headers, seconds):
    stub.script = [error(status, **headers)]
    assert fail(planner).retry_after == seconds


def test_retry_after_means_nothing_where_waiting_does_not_help(planner, stub):
    stub.script = [error(401, retry_after="7")]
    assert fail(planner).retry_after is None


def test_spent_credit_is_not_a_rate_limit(planner, stub, provider):
    types = {"anthropic": "billing_error", "openai": "insufficient_quota"}
    body = {"error": {"type": types[provider], "code": types[provider], "message": "no credit"}}
    stub.script = [Reply(json.dumps(body).encode(), status=429)]
    assert fail(planner).kind == FailureKind.AUTH


def test_slow_answer_is_a_timeout(make_planner, stub):
    stub.script = [Reply(wait=1.5)]
    started = time.monotonic()
    failure = fail(make_planner(total_seconds=0.3))
    assert (failure.kind, time.monotonic() - started < 1.2) == (FailureKind.TIMEOUT, True)


def test_answer_that_drips_is_a_timeout_all_the_same(make_planner, stub):
    stub.script = [Says(text="ok", drip=0.05)]
    started = time.monotonic()
    failure = fail(make_planner(total_seconds=0.4))
    assert (failure.kind, time.monotonic() - started < 1.5) == (FailureKind.TIMEOUT, True)


def test_cut_body_is_unavailable(planner, stub):
    stub.script = [Says(text="ok", cut=True), Says(text="ok")]
    assert fail(planner).kind == FailureKind.UNAVAILABLE
    assert len(stub.received) == 1


def test_reset_connection_is_unavailable(planner, stub):
    stub.script = [Reply(reset=True), Says(text="ok")]
    failure = fail(planner)
    assert (failure.kind, failure.message) == (FailureKind.UNAVAILABLE, f"{planner.name} broke off the connection.")
    assert len(stub.received) == 1


def test_refused_connection_is_unavailable(make_planner, connected):
    planner = make_planner()
    connected.stub.close_door()
    failure = fail(planner)
    assert (failure.kind, failure.message) == (FailureKind.UNAVAILABLE, f"{planner.name} could not be reached.")


def test_connection_that_is_not_accepted_is_a_timeout(make_planner, connected, provider):
    with socket.socket() as full, socket.socket() as first, socket.socket() as second:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for waiting in (first, second):
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        connected.addresses[provider] = f"http://127.0.0.1:{full.getsockname()[1]}/v1"
        started = time.monotonic()
        failure = fail(make_planner(connect_seconds=0.3))
    assert (failure.kind, time.monotonic() - started < 5) == (FailureKind.TIMEOUT, True)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"not JSON",
        b"null",
        b"[]",
        b'"text"',
        b"{}",
        b'{"content": 5, "choices": 5}',
        b'{"content": [5], "choices": [5]}',
        b'{"content": [{"type": "text"}], "choices": [{}]}',
        b'{"content": [{"type": "strange"}], "choices": [{"message": null}]}',
        b'{"content": [{"type": "tool_use", "name": 5, "input": {}}], "choices": []}',
        b'{"choices": [], "content": [], "usage": null}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"content": ' + b'{"a":' * 50_000,
        b'{"content": [], "choices": ' + b"9" * 10_000 + b"}",
    ],
)
def test_body_that_cannot_be_read_is_unavailable(planner, stub, body):
    stub.script = [Reply(body)]
    failure = fail(planner)
    assert failure.kind == FailureKind.UNAVAILABLE
    assert failure.message == f"{planner.name} answered with something that cannot be read."


@pytest.mark.parametrize("provider", ["anthropic"], indirect=True)
def test_broken_arguments_break_the_body_of_a_message(planner, stub):
    stub.script = [Says(calls=(("look_up_order", '{"order_id":'),))]
    assert fail(planner).kind == FailureKind.UNAVAILABLE


@pytest.mark.parametrize("content_type", ["text/html", "text/event-stream", "application/jsonp", ""])
def test_wrong_content_type_is_unavailable(planner, stub, provider, content_type):
    stub.script = [Reply(GOOD[provider], headers=(("content-type", content_type),))]
    failure = fail(planner)
    assert failure.kind == FailureKind.UNAVAILABLE
    assert failure.message == f"{planner.name} sent a response that is not declared as JSON."


def test_content_type_with_a_character_set_is_read(planner, stub, provider):
    stub.script = [Reply(GOOD[provider], headers=(("content-type", "Application/JSON; charset=utf-8"),))]
    assert planner.propose(make_context()).proposal == FinalAnswer("ok")


@pytest.mark.parametrize("encoding", ["gzip", "br", "zstd"])
def test_compressed_body_is_not_unpacked(planner, stub, provider, encoding):
    stub.script = [Reply(GOOD[provider], headers=(JSON_TYPE, ("content-encoding", encoding)))]
    assert fail(planner).message == f"{planner.name} sent a compressed response, which was not asked for."


def test_huge_error_body_is_not_read_to_its_end(make_planner, stub):
    stub.script = [Reply(b"x" * 3_000_000, status=500)]
    failure = fail(make_planner(max_bytes=10_000))
    assert failure.kind == FailureKind.UNAVAILABLE


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_redirect_is_not_followed(planner, stub, connected, provider, status):
    elsewhere = f"{connected.addresses[provider]}/elsewhere"
    stub.script = [Reply(status=status, headers=(JSON_TYPE, ("location", elsewhere))), Says(text="ok")]
    failure = fail(planner)
    assert (failure.kind, len(stub.received)) == (FailureKind.VALIDATION, 1)
    assert "redirect" in failure.message


def test_wrong_address_is_not_found(make_planner, connected, provider):
    connected.addresses[provider] += "/nowhere"
    assert fail(make_planner()).kind == FailureKind.NOT_FOUND


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_words_of_the_provider_are_short_plain_and_without_the_key(planner, stub, status):
    stub.script = [error(status, f"Bad key {KEY}\n\u202e\x1b[31m" + "x" * 5_000)]
    failure = fail(planner)
    words = failure.message.removeprefix(f"{planner.name} answered with status {status}: ")
    assert words.startswith("Bad key [key] [31mxxx")
    assert len(words) == 300
    assert KEY not in "".join(traceback.format_exception(failure))
    assert (failure.__cause__, failure.__context__) == (None, None)


def test_planner_recovers_when_the_provider_does(planner, stub):
    stub.script = [error(529), Reply(reset=True), Says(text="ok")]
    assert [fail(planner).kind, fail(planner).kind] == [FailureKind.UNAVAILABLE, FailureKind.UNAVAILABLE]
    assert planner.propose(make_context()).proposal == FinalAnswer("ok")
