"""A person's delegations, as their page shows them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User

from agentops.tenancy.access import Reader
from approvals.duties.delegating import delegable_queues, delegations_of
from approvals.models import Delegation

MOST_SHOWN = 50


@dataclass(frozen=True)
class Row:
    """One delegation. ``other`` is the person at its other end; ``state`` is one of: counts, to come, over, ended."""

    pk: int
    given: bool
    other: str
    queue: str
    begins: datetime
    ends: datetime
    state: str

    @property
    def may_end(self) -> bool:
        """Whether there is something left to end."""
        return self.state in ("counts", "to come")


@dataclass(frozen=True)
class DutiesPage:
    """What the person gave and received, the newest first, and whether there is anything to give."""

    given: Sequence[Row]
    received: Sequence[Row]
    may_give: bool


def duties_page(reader: Reader, now: datetime) -> DutiesPage:
    """Return the page of a person's delegations."""
    found = delegations_of(reader.person, reader.tenant.pk).order_by("-begins", "-pk")[:MOST_SHOWN]
    rows = [_row(delegation, reader.person, now) for delegation in found]
    return DutiesPage(
        given=[row for row in rows if row.given],
        received=[row for row in rows if not row.given],
        may_give=delegable_queues(reader.person, reader.tenant.pk).exists(),
    )


def _row(delegation: Delegation, person: User, now: datetime) -> Row:
    given = delegation.giver_id == person.pk
    other = delegation.taker if given else delegation.giver
    return Row(
        pk=delegation.pk,
        given=given,
        other=other.get_full_name() or other.get_username(),
        queue=delegation.queue.name if delegation.queue else "All queues",
        begins=delegation.begins,
        ends=delegation.ends,
        state=_state(delegation, now),
    )


def _state(delegation: Delegation, now: datetime) -> str:
    if delegation.revoked_at is not None:
        return "ended"
    if delegation.ends <= now:
        return "over"
    return "counts" if delegation.begins <= now else "to come"
