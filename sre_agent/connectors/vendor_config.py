"""The document that ``SRE_VENDORS_FILE`` names, read anew when the file has changed."""

from functools import lru_cache
from pathlib import Path
from typing import TypeVar
from uuid import UUID

from django.conf import settings

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import ToolFailure
from sre_agent.connectors.vendor_schema import (
    MOST_BYTES,
    BadVendors,
    CloudWatch,
    PagerDuty,
    Slack,
    Vendors,
    vendors_from,
)

T = TypeVar("T")


def read() -> dict[str, Vendors]:
    """Return what the document says, by tenant. Raises BadVendors."""
    name = settings.SRE_VENDORS_FILE
    if not name:
        raise BadVendors("SRE_VENDORS_FILE names no file.")
    try:
        stat = Path(name).stat()
        return _read(name, stat.st_mtime_ns, stat.st_size)
    except OSError as error:
        raise BadVendors(f"The file that SRE_VENDORS_FILE names cannot be read: {error.strerror}.") from error


@lru_cache(maxsize=2)
def _read(name: str, changed: int, size: int) -> dict[str, Vendors]:
    with Path(name).open("rb") as file:
        return dict(vendors_from(file.read(MOST_BYTES + 1)))


def cloudwatch_of(tenant_id: UUID) -> CloudWatch:
    """Return what the tenant has at CloudWatch. Raises ToolFailure NOT_FOUND."""
    return _known(_of(tenant_id).cloudwatch, "CloudWatch")


def pagerduty_of(tenant_id: UUID) -> PagerDuty:
    """Return what the tenant has at PagerDuty. Raises ToolFailure NOT_FOUND."""
    return _known(_of(tenant_id).pagerduty, "PagerDuty")


def slack_of(tenant_id: UUID) -> Slack:
    """Return what the tenant has at Slack. Raises ToolFailure NOT_FOUND."""
    return _known(_of(tenant_id).slack, "Slack")


def _of(tenant_id: UUID) -> Vendors:
    try:
        return read().get(str(tenant_id), Vendors())
    except BadVendors as error:
        raise ToolFailure(FailureKind.NOT_FOUND, error.in_full) from error


def _known(found: T | None, vendor: str) -> T:
    if found is None:
        words = f"The file that SRE_VENDORS_FILE names says nothing about {vendor} for this tenant."
        raise ToolFailure(FailureKind.NOT_FOUND, words)
    return found
