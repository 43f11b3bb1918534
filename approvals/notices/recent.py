"""What a person was told last, as the page of their preferences shows it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from agentops.console.marks import Kind, State
from agentops.tenancy.access import Reader
from approvals.models import Notice, SlackChannel

MOST = 20
_KINDS: dict[str, Kind] = {"waiting": "plain", "sent": "ok", "failed": "stop", "dropped": "gone"}


@dataclass(frozen=True)
class Row:
    """One notice: about which request, how, and what became of it."""

    request_pk: str
    code: str
    what: str
    how: str
    at: datetime
    state: State
    note: str


def recent_notices(reader: Reader) -> Sequence[Row]:
    """Return the reader's last notices in this tenant, the newest first."""
    notices = Notice.objects.filter(tenant=reader.tenant, person=reader.person).exclude(kind=Notice.Kind.CLOSED)
    return [_row(notice) for notice in notices.select_related("request").order_by("-created_at", "-id")[:MOST]]


def _row(notice: Notice) -> Row:
    return Row(
        request_pk=str(notice.request_id),
        code=notice.request.code,
        what=notice.get_kind_display(),
        how=notice.get_channel_display(),
        at=notice.sent_at or (notice.due_at if notice.state == Notice.State.WAITING else notice.created_at),
        state=State(_KINDS[notice.state], notice.get_state_display()),
        note=notice.last_error if notice.state in (Notice.State.WAITING, Notice.State.FAILED) else "",
    )


def slack_is_set_up(tenant_id: UUID) -> bool:
    """Return whether the tenant has a channel in Slack, which is how an admin turns Slack on."""
    return SlackChannel.objects.filter(tenant_id=tenant_id, is_active=True).exists()
