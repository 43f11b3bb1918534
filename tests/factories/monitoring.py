"""Monitoring that tells of alerts: Alertmanager's and PagerDuty's messages, and endpoints that take them."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.cache import cache
from django.test import Client

from agentops.api import deliveries, receiving
from agentops.api.models import WebhookDelivery, WebhookEndpoint
from agentops.kernel.clock import utcnow
from agentops.registry.roles import get_role
from agentops.tenancy.models import Tenant
from sre_agent.hooks import WEBHOOKS
from tests.factories.hooks import put_secrets

TOKEN = "a-token-that-monitoring-has"
SIGNING = "the-secret-that-pagerduty-signs-with"
NEVER = "0001-01-01T00:00:00Z"
"""How Go writes a time that was never set."""


def install(monkeypatch: pytest.MonkeyPatch, tenant: Tenant) -> None:
    """Let the tenant have the secrets of its senders, and the role that is told of alerts."""
    cache.clear()
    put_secrets(monkeypatch, tenant, alertmanager_token=TOKEN, pagerduty_webhook=SIGNING)
    role = replace(get_role("support"), name="sre", subject_kind="incident", webhooks=WEBHOOKS)
    for module in (receiving, deliveries):
        monkeypatch.setattr(module, "get_role", lambda _: role)


def ago(**length: float) -> datetime:
    """Return a moment so long ago."""
    return utcnow() - timedelta(**length)


def stamp(moment: datetime) -> str:
    """Return a moment as Alertmanager writes it, to the nanosecond."""
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}789Z"


def alert(
    name: str = "ErrorsHigh", service: str = "checkout", *, began: datetime, ended: datetime | None = None, **more: Any
) -> dict[str, Any]:
    """Return one alert of a message. ``more`` are labels, and what else the alert has in capitals."""
    fields = {key.lower(): more.pop(key) for key in list(more) if key.isupper()}
    labels = {"alertname": name, "service": service, "severity": "critical", **more}
    labels = {key: value for key, value in labels.items() if value is not None}
    key = hashlib.sha256(json.dumps(labels, sort_keys=True).encode()).hexdigest()[:16]
    return {
        "status": "firing" if ended is None else "resolved",
        "labels": labels,
        "annotations": {"summary": f"{name} of {service}"},
        "startsAt": stamp(began),
        "endsAt": NEVER if ended is None else stamp(ended),
        "generatorURL": "",
        "fingerprint": key,
        **fields,
    }


def message(alerts: Iterable[dict[str, Any]], **fields: Any) -> dict[str, Any]:
    """Return a message of Alertmanager."""
    told = list(alerts)
    return {
        "receiver": "hook",
        "status": "firing",
        "alerts": told,
        "groupLabels": {},
        "commonLabels": {},
        "commonAnnotations": {},
        "externalURL": "http://alertmanager.example:9093",
        "version": "4",
        "groupKey": "{}:{}",
        "truncatedAlerts": 0,
        **fields,
    }


def incident_event(kind: str = "incident.triggered", *, at: datetime, key: str = "", **data: Any) -> dict[str, Any]:
    """Return a message of PagerDuty about incident PT4KHLK; ``data`` are fields of the incident."""
    about = {
        "id": "PT4KHLK",
        "type": "incident",
        "status": "resolved" if kind == "incident.resolved" else "triggered",
        "incident_key": "baf7cf21b1da41b4b0221008339ff357",
        "created_at": stamp(at),
        "title": "The checkout is down",
        "service": {"id": "PIJ90N7", "summary": "checkout", "type": "service_reference"},
        "urgency": "high",
        "priority": None,
        **data,
    }
    ident = key or hashlib.sha256(json.dumps([kind, about, stamp(at)]).encode()).hexdigest()[:26]
    event = {"id": ident, "event_type": kind, "resource_type": "incident", "occurred_at": stamp(at), "data": about}
    return {"event": event}


@dataclass(frozen=True)
class Watcher:
    """Whoever calls an endpoint."""

    endpoint: WebhookEndpoint

    def post(self, told: Any, **headers: str) -> Any:
        """Send a message, or a body as it is, and return the answer; without headers as the sender proves itself."""
        body = told if isinstance(told, bytes) else json.dumps(told).encode()
        proof = proof_of(self.endpoint.source, body)
        client = Client(enforce_csrf_checks=True, raise_request_exception=False)
        url = f"/hooks/{self.endpoint.public_id}/"
        return client.post(url, data=body, content_type="application/json", headers=headers or proof)

    def tell(self, told: Any) -> WebhookDelivery:
        """Send a message that has to be taken, and return its delivery."""
        answer = self.post(told)
        assert (answer.status_code, answer.json()) == (200, {"received": True})
        digest = hashlib.sha256(told if isinstance(told, bytes) else json.dumps(told).encode()).hexdigest()
        return self.endpoint.deliveries.get(digest=digest)

    def alerts(self, *alerts: dict[str, Any], **fields: Any) -> WebhookDelivery:
        """Send a message of Alertmanager that has to be taken."""
        return self.tell(message(alerts, **fields))


def proof_of(source: str, body: bytes) -> dict[str, str]:
    """Return the headers with which a sender proves that it knows its secret."""
    if source == "alertmanager":
        return {"authorization": f"Bearer {TOKEN}"}
    return {"x-pagerduty-signature": f"v1={signed(body)}"}


def signed(body: bytes, secret: str = SIGNING) -> str:
    """Return PagerDuty's signature of a body."""
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def password(text: str) -> str:
    """Return the header that has a password."""
    return f"Basic {base64.b64encode(text.encode()).decode()}"


def make_watcher(tenant: Tenant, source: str = "alertmanager", **fields: Any) -> Watcher:
    """Make an endpoint of the SRE role and whoever calls it."""
    secret = "alertmanager_token" if source == "alertmanager" else "pagerduty_webhook"
    given = {"role": "sre", "source": source, "name": source.title(), "secret": secret, "per_minute": 100_000}
    return Watcher(WebhookEndpoint.objects.create(tenant=tenant, **(given | fields)))
