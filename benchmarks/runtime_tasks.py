"""The worker's side of the decision benchmark: it says when it is ready and when work has reached it.

Moments are ``time.monotonic``, which all processes of one machine share.
"""

import json
import time
from functools import cache
from typing import Any
from uuid import UUID

import redis
from celery import shared_task
from celery.signals import worker_ready

from agentops.ledger.queries import events_of
from benchmarks.runtime_settings import PREFIX, REDIS_URL

FLOOR = "benchmarks.runtime_tasks.floor"
READY = f"{PREFIX}ready"
REACHED = f"{PREFIX}reached"


@cache
def server() -> "redis.Redis":
    """Return this process's connection pool."""
    return redis.Redis.from_url(REDIS_URL)


def say_reached(session_id: UUID, at: float) -> None:
    """Tell the benchmark that work of this session has begun."""
    server().rpush(REACHED, json.dumps([str(session_id), at]))


@shared_task(name=FLOOR, ignore_result=True)  # type: ignore[untyped-decorator] # celery has no types
def floor(stream: str) -> None:
    """Do the least that a worker must do after a decision: load the session's events."""
    events_of(UUID(stream))
    say_reached(UUID(stream), time.monotonic())


@worker_ready.connect  # type: ignore[untyped-decorator] # celery has no types
def say_ready(**_: Any) -> None:
    """Tell the benchmark that the worker listens."""
    server().rpush(READY, "1")
