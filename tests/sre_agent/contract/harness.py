"""What the contract's tests do with a system, whichever it is."""

import uuid
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from agentops.registry.secret import Secret
from agentops.registry.tool import CallContext
from agentops.tenancy.models import Tenant
from sre_agent.connectors.port import Platform
from sre_agent.connectors.records import Node, Service
from tests.factories.sre import NOW


@dataclass
class System(ABC):
    """A platform with services that are well. ``service`` is one with ``earlier`` before its current release."""

    platform: Platform
    tenant: Tenant
    service: str
    earlier: str
    node: str
    passed: int = field(default=20)

    def context(self, key: str = "", *, incident: str = "INC-1", **more: Any) -> CallContext:
        """Return a call's context at the system's present."""
        now = NOW + timedelta(seconds=self.passed)
        secret = self.secret()
        return CallContext(
            self.tenant.pk, uuid.uuid4(), incident, None, now, idempotency_key=key, secret=secret, **more
        )

    def seen(self, ref: str = "") -> Service:
        """Return a service as it is now."""
        return next(each for each in self.platform.services(self.context()) if each.ref == (ref or self.service))

    def machine(self) -> Node:
        """Return the node as it is now."""
        return next(each for each in self.platform.nodes(self.context()) if each.ref == self.node)

    def secret(self) -> Secret | None:
        """Return the credential that its calls are lent."""
        return None

    @abstractmethod
    def settle(self) -> None:
        """Let every rollout come to its end, in the time that it takes."""
