"""How services are, what customers were told, who is on call, and when nothing is to be changed."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID, uuid4

from agentops.kernel.errors import AgentOpsError
from agentops.registry.lending import lent
from agentops.registry.pages import Status
from agentops.registry.tool import CallContext
from agentops.tenancy.models import Tenant
from agentops.tenancy.zones import zone_of
from sre_agent import queries
from sre_agent.connectors import KUBERNETES_KEY, is_embedded, platform
from sre_agent.connectors.clock import present
from sre_agent.connectors.effect import SOUND_ERRORS_PM, SOUND_LATENCY_MS, share
from sre_agent.connectors.freezing import covers
from sre_agent.connectors.records import Figures, Service
from sre_agent.models import ChangeFreeze, Incident, Shift, StatusUpdate

NOTHING = "–"


@dataclass(frozen=True)
class Row:
    """A service. Its name and release are text from outside; ``incident`` is what goes on there, if anything."""

    ref: str
    tier: int
    status: Status
    errors: str
    latency: str
    replicas: str
    release: str
    incident: Incident | None


@dataclass(frozen=True)
class Freeze:
    """A change freeze, and whether it holds now."""

    row: ChangeFreeze
    holds: bool


@dataclass(frozen=True)
class StatusPage:
    """``trouble`` says why there are no services; empty when there are, or none is run here."""

    rows: Sequence[Row]
    trouble: str
    at: datetime
    published: Sequence[StatusUpdate]
    on_call: Sequence[Shift]
    freezes: Sequence[Freeze]

    @property
    def word(self) -> Status:
        """How it is on the whole: the gravest of the services. That all is well, somebody has to know."""
        kinds = {row.status.kind for row in self.rows}
        if "stop" in kinds:
            return Status("stop", "something fails")
        if "notice" in kinds:
            return Status("notice", "something is not as it should be")
        return Status("ok", "all well") if "ok" in kinds else Status("gone", "nothing is known")


def status_page(tenant: Tenant, now: datetime) -> StatusPage:
    """Return the page. A platform that does not answer is said, and the rest is shown."""
    services, trouble = _services(tenant.pk, now)
    troubled = queries.going_on(tenant.pk)
    at = present(tenant.pk, now)
    zone = zone_of(tenant.timezone)
    return StatusPage(
        rows=[_row(service, troubled) for service in services],
        trouble=trouble,
        at=at,
        published=queries.published(tenant.pk),
        on_call=queries.on_call(tenant.pk, at),
        freezes=[Freeze(row, covers(row, row.service, at, zone)) for row in queries.freezes(tenant.pk, at)],
    )


def _services(tenant_id: UUID, now: datetime) -> tuple[Sequence[Service], str]:
    try:
        lending = nullcontext(None) if is_embedded("SRE_PLATFORM") else lent(tenant_id, KUBERNETES_KEY)
        with lending as secret:
            context = CallContext(tenant_id, uuid4(), "", None, now, secret=secret)
            return platform().services(context), ""
    except AgentOpsError as error:
        return (), error.in_full


def _row(service: Service, troubled: Mapping[str, Incident]) -> Row:
    figures = service.figures
    return Row(
        ref=service.ref,
        tier=int(service.tier),
        status=_status(service, figures),
        errors=share(figures.errors_pm) if figures and figures.errors_pm >= 0 else NOTHING,
        latency=f"{figures.latency_ms} ms" if figures and figures.latency_ms >= 0 else NOTHING,
        replicas=f"{service.ready} of {service.desired}",
        release=service.release.version if service.releases else NOTHING,
        incident=troubled.get(service.ref),
    )


def _status(service: Service, figures: Figures | None) -> Status:
    if service.desired and not service.ready:
        return Status("stop", "down")
    if not service.desired:
        return Status("gone", "stopped")
    if figures and figures.errors_pm > SOUND_ERRORS_PM:
        return Status("stop", "fails")
    if figures and figures.latency_ms > SOUND_LATENCY_MS:
        return Status("notice", "slow")
    if service.rolling or service.ready < service.desired:
        return Status("notice", "being rolled out")
    if figures is None or min(figures.errors_pm, figures.latency_ms) < 0:
        return Status("gone", "no figures")
    return Status("ok", "well")
