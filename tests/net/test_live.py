"""Hints from other threads and processes to open sockets."""

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from channels.layers import get_channel_layer

from agentops.net import live

HINT = {"type": "queue.changed"}
OTHER_PROCESS = """
import sys, django
django.setup()
from agentops.net import live
live.notify(sys.argv[1], {"type": "queue.changed"})
while live._sender.waiting:
    pass
"""


def heard(tell: Callable[[], object], group: str) -> Any:
    """What a socket of ``group`` hears within five seconds, after ``tell`` ran in another thread."""

    async def listen() -> Any:
        layer = get_channel_layer()
        channel = await layer.new_channel()
        await layer.group_add(group, channel)
        live.serve_on(asyncio.get_running_loop())
        try:
            threading.Thread(target=tell).start()
            return await asyncio.wait_for(layer.receive(channel), 5)
        finally:
            live.serve_on(None)
            await layer.group_discard(group, channel)

    return asyncio.run(listen())


def test_hint_from_another_thread_wakes_the_socket() -> None:
    def tell() -> None:
        time.sleep(0.1)  # the loop sleeps by now, and nothing but the hint wakes it
        live.notify("live.thread", HINT)

    assert heard(tell, "live.thread") == HINT


def test_hint_to_nobody_is_not_an_error() -> None:
    live.notify("live.nobody", HINT)


def test_impossible_group_does_not_raise_into_the_caller(caplog: pytest.LogCaptureFixture) -> None:
    async def tell() -> None:
        live.serve_on(asyncio.get_running_loop())
        try:
            live.notify("no blanks allowed", HINT)
            while live._sender.waiting:
                await asyncio.sleep(0.01)
        finally:
            live.serve_on(None)

    asyncio.run(tell())
    assert [record.getMessage() for record in caplog.records] == ["hint not sent"]


def test_loop_that_has_ended_does_not_raise_into_the_caller() -> None:
    loop = asyncio.new_event_loop()
    live.serve_on(loop)
    loop.close()
    live.notify("live.ended", HINT)
    live.serve_on(None)
    deadline = time.monotonic() + 10
    while live._sender.waiting:
        assert time.monotonic() < deadline, "the hint is still waiting"
        time.sleep(0.01)


def test_hints_are_dropped_when_too_many_wait(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tell() -> None:
        live.serve_on(asyncio.get_running_loop())
        monkeypatch.setattr(live, "MOST_WAITING", 2)
        for _ in range(3):
            live.notify("live.many", HINT)
        while live._sender.waiting:
            await asyncio.sleep(0.01)
        live.serve_on(None)

    asyncio.run(tell())
    assert [record.getMessage() for record in caplog.records] == ["hint dropped, too many are waiting"]


@pytest.mark.skipif(not os.environ.get("REDIS_URL"), reason="needs a Redis: set REDIS_URL")
def test_hint_from_another_process() -> None:
    def tell() -> None:
        subprocess.run([sys.executable, "-c", OTHER_PROCESS, "live.process"], check=True, timeout=60)

    async def patient() -> Any:
        layer = get_channel_layer()
        channel = await layer.new_channel()
        await layer.group_add("live.process", channel)
        threading.Thread(target=tell).start()
        return await asyncio.wait_for(layer.receive(channel), 30)

    assert asyncio.run(patient()) == HINT
