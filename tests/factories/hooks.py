"""Endpoints, and messages that a sender signs as Stripe does."""

import hashlib
import hmac
import json
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pytest
from django.test import Client

from agentops.api.models import WebhookEndpoint
from agentops.gateway import credentials
from agentops.gateway.sources import EnvironmentSource, Wanted, variable_of
from agentops.kernel.clock import utcnow
from agentops.tenancy.models import Tenant

SECRET = "whsec_the_secret_of_the_endpoint"
FORMER = "whsec_the_secret_before_that_one"


def put_secrets(patch: pytest.MonkeyPatch, tenant: Tenant, **values: str) -> None:
    """Let the installation find these credentials of the tenant."""
    found = {variable_of(Wanted(tenant.pk, "sandbox", name)): value for name, value in values.items()}
    patch.setattr(credentials, "source_of", lambda _: EnvironmentSource(found))
    credentials.shelf.clear()


def make_endpoint(tenant: Tenant, **fields: Any) -> WebhookEndpoint:
    """Make an endpoint for Stripe's test events, whose secret is called stripe_webhook."""
    given = {"role": "billing", "source": "stripe", "name": "Stripe, test", "secret": "stripe_webhook"}
    return WebhookEndpoint.objects.create(tenant=tenant, **(given | fields))


def event(kind: str, thing: dict[str, Any], *, at: datetime | None = None, **fields: Any) -> dict[str, Any]:
    """Return an event of Stripe about ``thing``."""
    created = int((at or utcnow()).timestamp())
    key = hashlib.sha256(json.dumps([kind, thing, created], default=str).encode()).hexdigest()[:16]
    data = {"object": thing, **fields.pop("data", {})}
    told = {"id": f"evt_{key}", "object": "event", "type": kind, "created": created, "livemode": False}
    return {**told, "data": data, **fields}


def signature(body: bytes, secret: str = SECRET, at: float | None = None) -> str:
    """Return the header with which Stripe signs a body."""
    stamp = int(utcnow().timestamp() if at is None else at)
    mac = hmac.new(secret.encode(), b"%d." % stamp + body, hashlib.sha256).hexdigest()
    return f"t={stamp},v1={mac}"


@dataclass(frozen=True)
class Sender:
    """Whoever calls an endpoint."""

    endpoint: WebhookEndpoint

    def post(self, told: Any, *, secret: str = SECRET, at: float | None = None, **headers: Any) -> Any:
        """Send an event, or a body as it is, signed now with ``secret``, and return the answer."""
        body = told if isinstance(told, bytes) else json.dumps(told).encode()
        headers = {"stripe-signature": signature(body, secret, at), **headers}
        kind = headers.pop("content_type", "application/json")
        url = f"/hooks/{self.endpoint.public_id}/"
        client = Client(enforce_csrf_checks=True, raise_request_exception=False)
        return client.post(url, data=body, content_type=kind, headers=headers)

    def tell(self, kind: str, thing: dict[str, Any], **fields: Any) -> Any:
        """Send an event that has to be taken, and return its delivery."""
        told = event(kind, thing, **fields)
        answer = self.post(told)
        assert (answer.status_code, answer.json()) == (200, {"received": True})
        return self.endpoint.deliveries.get(event_id=told["id"])
