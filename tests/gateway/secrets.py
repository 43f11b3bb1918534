"""A tool with a secret, a tenant's consent, and a vault that answers as each test tells it."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from django.utils import timezone

from agentops.gateway.models import SecretConsent
from agentops.gateway.sources import Found, Wanted
from agentops.registry.tool import CallContext
from agentops.tenancy.models import Tenant
from tests.gateway.tools import CONTEXT

CAPABILITY = "shop_api"
VALUE = "sk-4eC39HqLyjWDarjtT1zdp7dc"


def context_of(tenant: Tenant) -> CallContext:
    return replace(CONTEXT, tenant_id=tenant.pk)


def consent_of(tenant: Tenant, environment: str = "sandbox", capability: str = CAPABILITY) -> SecretConsent:
    return SecretConsent.objects.create(
        tenant=tenant, capability=capability, environment=environment, given_by="user:root", given_at=timezone.now()
    )


@dataclass
class FakeSource:
    """Hands out the answers in turn, the last one for ever, and remembers what it was asked for."""

    answers: list[Found | Exception | None]
    asked: list[Wanted] = field(default_factory=list)

    def find(self, wanted: Wanted) -> Found | None:
        self.asked.append(wanted)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


Answering = Callable[[str], tuple[int, dict[str, str], bytes]]


@dataclass
class FakeVault:
    """A vault on this machine. ``asked`` holds path and token of each request."""

    address: str
    answer: Answering
    asked: list[tuple[str, str | None]] = field(default_factory=list)


def held(value: Any, **more: Any) -> Answering:
    """Answer as the KV engine does for a secret."""
    body = {"data": {"data": {"value": value, **more}, "metadata": {"version": 3}}}
    return lambda path: (200, {"Content-Type": "application/json"}, json.dumps(body).encode())


@contextmanager
def vault(answer: Answering) -> Iterator[FakeVault]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.asked.append((self.path, self.headers["X-Vault-Token"]))
            status, headers, body = made.answer(self.path)
            # A client that has waited long enough is gone.
            with suppress(BrokenPipeError, ConnectionResetError):
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made = FakeVault(f"http://127.0.0.1:{server.server_port}", answer)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
