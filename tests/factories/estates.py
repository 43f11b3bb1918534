"""A tenant's embedded estate, and calls at moments of it."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import transaction

from agentops.registry.tool import CallContext, Result, ToolFailure
from agentops.tenancy.models import Tenant
from sre_agent.connectors.embedded import EmbeddedPlatform
from sre_agent.connectors.moving import found_estate, to_present
from sre_agent.connectors.port import PlatformWrite
from sre_agent.connectors.records import Service
from sre_agent.estate.company import company
from sre_agent.estate.values import Estate, Happening

BEGAN = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
PLATFORM = EmbeddedPlatform()


@dataclass(frozen=True)
class Site:
    """A tenant with an estate that began at BEGAN; times are seconds since then."""

    tenant: Tenant

    def at(self, seconds: int, key: str = "", incident: str = "INC-1", **more: Any) -> CallContext:
        """Return the context of a call."""
        now = BEGAN + timedelta(seconds=seconds)
        return CallContext(self.tenant.pk, uuid.uuid4(), incident, None, now, idempotency_key=key, **more)

    def estate(self, seconds: int) -> Estate:
        """Return the estate itself, which no tool sees."""
        with transaction.atomic():
            return to_present(self.tenant.pk, BEGAN + timedelta(seconds=seconds))

    def service(self, ref: str, seconds: int) -> Service:
        """Return a service as the platform tells."""
        return next(each for each in PLATFORM.services(self.at(seconds)) if each.ref == ref)

    def act(self, write: PlatformWrite, seconds: int, key: str = "", **more: Any) -> Result:
        """Carry a write out, under its own key unless one is given."""
        return PLATFORM.write(self.at(seconds, key or f"{write} at {seconds}", **more), write)


def make_site(*happenings: Happening, slug: str = "estate", seed: int = 4, seconds_a_tick: int = 10) -> Site:
    """Return a new tenant whose estate comes to these troubles."""
    tenant = Tenant.objects.create(slug=slug, name=slug.title())
    estate = company(seed, *happenings)
    found_estate(tenant_id=tenant.pk, estate=estate, now=BEGAN, seconds_a_tick=seconds_a_tick)
    return Site(tenant)


def refused(act: Callable[[], object]) -> ToolFailure:
    """Return the refusal that a call ends in."""
    with pytest.raises(ToolFailure) as failure:
        act()
    return failure.value
