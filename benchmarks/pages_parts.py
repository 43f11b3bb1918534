"""Opening pages as a signed-in person and counting what each costs.

Server time is measured around the whole request cycle, middleware included, in this process; weight is that of the
page and of every style sheet, script and icon file that it names, each compressed by itself.
"""

import gzip
import re
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.staticfiles import finders
from django.db import connection
from django.test import Client
from django.urls import reverse

from agentops.runtime.models import Session
from approvals.models import ApprovalRequest
from benchmarks.pages_past import real_requests, store_events, store_requests
from benchmarks.runtime_base import BenchmarkFailed, scratch_database

WARM_UP = 10
_ASSET = re.compile(r'(?:href|src)="/static/([^"?#]+)')


def run(*, requests: int, events: int, looks: int) -> dict[str, Any]:
    """Return the figures of each page."""
    with scratch_database():
        real = real_requests()
        began = time.monotonic()
        store_requests(real, requests)
        store_events(events, real)
        stored_s = round(time.monotonic() - began, 1)
        approver, support = _client("approver"), _client("support")
        asked = list(ApprovalRequest.objects.filter(state="pending", pk__in=[each.pk for each in real]))
        worked = list(Session.objects.filter(pk__in=[each.session_id for each in real]))
        pages: dict[str, tuple[Client, Sequence[str]]] = {
            "queue": (approver, [reverse("approval_queue")]),
            "decided": (approver, [f"{reverse('approval_queue')}?bucket=decided"]),
            "news": (approver, [reverse("approval_news")]),
            "request": (approver, [reverse("approval_request", args=[each.pk]) for each in asked]),
            "session": (support, [reverse("session_detail", args=[each.pk]) for each in worked]),
        }
        figures = {name: _looked_at(client, addresses, looks) for name, (client, addresses) in pages.items()}
        return {"requests": requests, "events": events, "stored_s": stored_s, **figures}


def _client(role: str) -> Client:
    name = next(account["name"] for account in settings.DEMO_ACCOUNTS if account["role"] == role)
    client = Client()
    client.force_login(User.objects.get(username=name))
    return client


def _looked_at(client: Client, addresses: Sequence[str], looks: int) -> dict[str, Any]:
    times, queries, html = [], 0, b""
    for n in range(WARM_UP + looks):
        address = addresses[n % len(addresses)]
        counted = _Counted()
        began = time.perf_counter()
        with connection.execute_wrapper(counted):
            answer = client.get(address)
        took = (time.perf_counter() - began) * 1_000
        if answer.status_code != 200:
            raise BenchmarkFailed(f"{address} answers {answer.status_code}")
        if n >= WARM_UP:
            times.append(took)
        queries, html = max(queries, counted.queries), max(html, answer.content, key=len)
    weight = _weight(html.decode())
    return {
        "p95_ms": round(statistics.quantiles(times, n=20)[-1], 1),
        "median_ms": round(statistics.median(times), 1),
        "queries": queries,
        "gzip_kb": round((_packed(html) + sum(weight.values())) / 1024, 1),
        "script_kb": round(sum(size for name, size in weight.items() if name.endswith(".js")) / 1024, 1),
    }


class _Counted:
    """Counts the statements that pass it."""

    def __init__(self) -> None:
        self.queries = 0

    def __call__(self, execute: Callable[..., Any], *args: Any) -> Any:
        self.queries += 1
        return execute(*args)


def _packed(content: bytes) -> int:
    return len(gzip.compress(content, 6))


def _weight(html: str) -> dict[str, int]:
    """Return the compressed size of every file of ours that the page names."""
    found = {}
    for name in set(_ASSET.findall(html)):
        path = finders.find(name)
        if path is None:
            raise BenchmarkFailed(f"the page names {name}, which is no file")
        with open(path, "rb") as file:
            found[name] = _packed(file.read())
    return found
