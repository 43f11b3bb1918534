"""A tenant that works with vendors: its document of them, and the contexts of its calls."""

import json
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from agentops.registry.secret import Secret
from agentops.registry.tool import CallContext
from agentops.tenancy.models import Tenant
from sre_agent.models import Incident, Source

NOW = datetime(2026, 11, 3, 9, 30, tzinfo=UTC)
CLOUDWATCH: dict[str, Any] = {
    "region": "eu-central-1",
    "services": {"checkout": {"balancer": "app/shop/50dc6c49"}, "search": {"balancer": "app/shop/50dc6c49"}},
    "log_group": "/shop/{service}",
    "figures": {
        "requests": {
            "namespace": "AWS/ApplicationELB",
            "name": "RequestCount",
            "statistic": "Sum",
            "dimensions": {"LoadBalancer": "{balancer}", "TargetGroup": "targetgroup/{service}"},
            "unit": "count",
        },
        "errors_pm": {
            "namespace": "AWS/ApplicationELB",
            "name": "HTTPCode_Target_5XX_Count",
            "statistic": "Sum",
            "dimensions": {"LoadBalancer": "{balancer}", "TargetGroup": "targetgroup/{service}"},
            "unit": "count",
            "missing": "zero",
            "per": {
                "namespace": "AWS/ApplicationELB",
                "name": "RequestCount",
                "statistic": "Sum",
                "dimensions": {"LoadBalancer": "{balancer}", "TargetGroup": "targetgroup/{service}"},
            },
        },
        "latency_ms": {
            "namespace": "AWS/ApplicationELB",
            "name": "TargetResponseTime",
            "statistic": "Average",
            "dimensions": {"LoadBalancer": "{balancer}"},
            "unit": "seconds",
        },
        "processor_pm": {
            "namespace": "AWS/ECS",
            "name": "CPUUtilization",
            "statistic": "Average",
            "dimensions": {"ServiceName": "{service}"},
            "unit": "percent",
        },
        "ready": {
            "namespace": "AWS/ApplicationELB",
            "name": "HealthyHostCount",
            "statistic": "Minimum",
            "dimensions": {"TargetGroup": "targetgroup/{service}"},
            "unit": "count",
        },
    },
}
PAGERDUTY = {"service": "PSVC1", "policy": "PPOL1", "from": "agent@shop.example"}
SLACK = {"channel": "C0STATUS"}


@dataclass
class Cast:
    """A tenant with an incident of the priority 1, as vendors see it."""

    tenant: Tenant
    incident: Incident
    capability: str
    secret: str

    def call(self, key: str = "", **more: Any) -> CallContext:
        """Return a call's context with the credential."""
        told = {"now": NOW, "secret": Secret(self.capability, self.secret), **more}
        return CallContext(self.tenant.pk, uuid.uuid4(), self.incident.ref, None, idempotency_key=key, **told)


def cast(capability: str = "", secret: str = "", ref: str = "INC-7") -> Cast:
    """Make the tenant."""
    tenant = Tenant.objects.create(slug="shop", name="Shop")
    return Cast(tenant, incident(tenant, ref), capability, secret)


def incident(tenant: Tenant, ref: str) -> Incident:
    """Make an incident of the tenant."""
    return Incident.objects.create(
        tenant=tenant,
        ref=ref,
        title="Checkout answers slowly",
        text="Three of four requests take ten seconds.",
        service="checkout",
        priority=1,
        source=Source.FORM,
        source_key=f"form:{ref}",
        opened_at=NOW,
    )


def document(folder: Path, tenant: Tenant, **vendors: Any) -> str:
    """Write the document of vendors and return where it is."""
    path = folder / "vendors.json"
    path.write_text(json.dumps({"tenants": {str(tenant.pk): vendors}}), encoding="utf-8")
    return str(path)
