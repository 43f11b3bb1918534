"""The list of incidents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from agentops.registry.pages import Status, Tab, key_in, list_url, text_in
from sre_agent import queries
from sre_agent.models import Incident
from sre_agent.pages.parts import lasted, status_of
from sre_agent.queries import Bucket

_BUCKETS = {
    Bucket.GOING_ON: "Going on",
    Bucket.PERSON: "With a person",
    Bucket.RESOLVED: "Resolved",
    Bucket.ALL: "All",
}


@dataclass(frozen=True)
class Row:
    """An incident in the list. Title and service are text from outside."""

    ref: str
    title: str
    service: str
    priority: int
    status: Status
    firing: int
    opened: datetime
    lasted: str


@dataclass(frozen=True)
class IncidentsPage:
    """The list. Addresses are relative and keep search and bucket. ``filtered``: an empty list then says so."""

    query: str
    bucket: str
    tabs: Sequence[Tab]
    rows: Sequence[Row]
    filtered: bool
    next_url: str
    first_url: str
    clear_url: str = "?"
    filters: tuple[()] = ()


def incidents_page(tenant_id: UUID, params: Mapping[str, str], *, now: datetime) -> IncidentsPage:
    """Return one page of the list. Values that the page does not offer restrict nothing."""
    text = text_in(params)
    asked = params.get("bucket", "")
    bucket = next((each for each in Bucket if each.value == asked), Bucket.GOING_ON)
    before = key_in(params)
    rows, more = queries.incidents(tenant_id, text=text, bucket=bucket, before=before)
    counts = queries.firing([row.pk for row in rows])
    return IncidentsPage(
        query=text,
        bucket=bucket.value,
        tabs=[Tab(label, list_url(text, each), each is bucket) for each, label in _BUCKETS.items()],
        rows=[_row(row, counts.get(row.pk, 0), now) for row in rows],
        filtered=bool(text) or bucket is not Bucket.GOING_ON,
        next_url=list_url(text, bucket, rows[-1].pk) if more else "",
        first_url=list_url(text, bucket) if before is not None else "",
    )


def _row(row: Incident, count: int, now: datetime) -> Row:
    return Row(
        ref=row.ref,
        title=row.title,
        service=row.service,
        priority=row.priority,
        status=status_of(row),
        firing=count,
        opened=row.opened_at,
        lasted=lasted((row.resolved_at or now) - row.opened_at),
    )
