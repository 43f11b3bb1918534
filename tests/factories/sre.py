"""Rows of the SRE role: checkout is a service that fails, and Dana and Erik are on call."""

import threading
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any, TypeVar

from django.db import connection

from agentops.registry.tool import CallContext
from agentops.tenancy.models import Tenant
from sre_agent import models
from sre_agent.connectors.records import Release, Service
from sre_agent.tiers import Tier

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
T = TypeVar("T")
_NUMBERS = count(1)


def make_tenant(slug: str = "shop", timezone: str = "UTC") -> Tenant:
    """Make a tenant."""
    return Tenant.objects.create(slug=slug, name=slug.title(), timezone=timezone)


def make_incident(tenant: Tenant, ref: str = "INC-1", **fields: Any) -> models.Incident:
    """Make an open incident about checkout that somebody works on."""
    given = {
        "title": "Checkout fails",
        "text": "ErrorsHigh fires for checkout.",
        "service": "checkout",
        "priority": 1,
        "source": models.Source.ESTATE,
        "source_key": f"estate:{ref}",
        "opened_at": NOW,
        "taken_at": NOW,
        **fields,
    }
    return models.Incident.objects.create(tenant=tenant, ref=ref, **given)


def make_alert(tenant: Tenant, incident: models.Incident | None = None, **fields: Any) -> models.Alert:
    """Make an alert about checkout that fires."""
    number = next(_NUMBERS)
    given = {
        "ref": f"AL-{number}",
        "fingerprint": f"ErrorsHigh/{number}",
        "rule": "ErrorsHigh",
        "service": "checkout",
        "words": "More than 5 % of requests fail.",
        "priority": 1,
        "began_at": NOW,
        **fields,
    }
    return models.Alert.objects.create(tenant=tenant, incident=incident, **given)


def make_shift(tenant: Tenant, person: str = "dana", level: int = 1, **fields: Any) -> models.Shift:
    """Make a shift from an hour before NOW until seven hours after it."""
    given = {"contact": f"{person}@example.com", "starts_at": NOW - HOUR, "ends_at": NOW + 7 * HOUR, **fields}
    return models.Shift.objects.create(tenant=tenant, person=person, level=level, **given)


def make_freeze(tenant: Tenant, name: str = "Sale", **fields: Any) -> models.ChangeFreeze:
    """Make a freeze of every service, from an hour before NOW until an hour after it."""
    given = {"starts_at": NOW - HOUR, "ends_at": NOW + HOUR, **fields}
    return models.ChangeFreeze.objects.create(tenant=tenant, name=name, **given)


def make_service(ref: str, tier: Tier = Tier.P2, *needs: str, **fields: Any) -> Service:
    """Make a service as a platform tells of it: two replicas run, and nothing is known of how it does."""
    given = {
        "place": "east/shop",
        "dependants": (),
        "releases": (Release("1.0.0", NOW, "dana", "First"),),
        "desired": 2,
        "ready": 2,
        "rolling": False,
        "version": 1,
        **fields,
    }
    return Service(ref=ref, tier=tier, depends_on=needs, **given)


def context_of(incident: models.Incident, key: str = "", *, now: datetime = NOW, **more: Any) -> CallContext:
    """Return what a tool of the incident's session is called with."""
    return CallContext(incident.tenant_id, uuid.uuid4(), incident.ref, None, now, idempotency_key=key, **more)


def at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """Do all calls from the same moment on, each on its own connection, and return what each returned."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        try:
            start.wait(30)
            return call()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))
