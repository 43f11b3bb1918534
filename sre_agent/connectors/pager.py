"""The embedded pager: who is on call stands in the shifts, and a call to somebody is a row that people see."""

from datetime import datetime
from typing import assert_never
from uuid import UUID

from django.db import transaction
from django.db.models import F

from agentops.registry.once import Once, call_of, fingerprint_of, require_versions
from agentops.registry.tool import CallContext, Preview, Result
from sre_agent.connectors import desk_rows, pager_rules
from sre_agent.connectors.clock import present
from sre_agent.connectors.desk_effect import Desk, DeskEffect
from sre_agent.connectors.desk_people import NotPossible, no_such
from sre_agent.connectors.desk_rows import Wanted, apply, read
from sre_agent.connectors.port import PagePerson, PagerWrite, WithdrawPage
from sre_agent.connectors.records import OnCall
from sre_agent.models import Note, Operation, Page

ONCE = Once(Operation, "incident_ref", "embedded pager")


class EmbeddedPager:
    """Implements ``Pager``. Holds no state."""

    @ONCE.answering()
    def on_call(self, context: CallContext) -> tuple[OnCall, ...]:
        """Return who is on call now, by level."""
        return desk_rows.on_call(context.tenant_id, present(context.tenant_id, context.now))

    @ONCE.answering()
    def preview(self, context: CallContext, write: PagerWrite) -> Preview:
        """Return what ``write`` would do, doing nothing. Raises ToolFailure when it would be refused."""
        desk, _ = read(context, _wanted(write), lock=False)
        return _planned(desk, write).preview

    def write(self, context: CallContext, write: PagerWrite) -> Result:
        """Carry ``write`` out once for the context's key. Raises ToolFailure or OutcomeUnknown.

        The incident is locked, so that two calls at once do not call the same person twice.
        """

        def act() -> Result:
            desk, rows = read(context, _wanted(write), lock=True)
            require_versions(context, desk.versions())
            effect = _planned(desk, write)
            apply(call_of(context), desk.now, rows, effect)
            ONCE.record(call_of(context), effect.result)
            return effect.result

        return ONCE.write(context, fingerprint_of(context, write), type(write).__name__, act)

    def outcome(self, context: CallContext) -> Result | None:
        """Return the recorded result of the key, None when it took no effect. Waits for a write that is under way."""
        return ONCE.outcome(context)


@transaction.atomic
def acknowledge(*, tenant_id: UUID, page_ref: str, person: str, now: datetime) -> Page:
    """Record that somebody answers a call, and return it. What was answered before stays as it was.

    Raises NotPossible when there is no such call, or it was withdrawn.
    """
    page = Page.objects.select_for_update().filter(tenant_id=tenant_id, ref=page_ref).first()
    if page is None:
        raise no_such("call")
    if page.withdrawn_at is not None:
        raise NotPossible(f"{page.person} was told at {page.withdrawn_at:%H:%M} UTC that they are no longer needed.")
    if page.acknowledged_at is not None:
        return page
    at = present(tenant_id, now)
    Page.objects.filter(pk=page.pk).update(acknowledged_at=at, version=F("version") + 1)
    Note.objects.create(
        tenant_id=tenant_id,
        incident_id=page.incident_id,
        kind=Note.Kind.CHANGED,
        at=at,
        actor=person,
        text=f"Answered the call to {page.person}.",
    )
    page.refresh_from_db()
    return page


def _planned(desk: Desk, write: PagerWrite) -> DeskEffect:
    match write:
        case PagePerson():
            return pager_rules.plan_page(desk, write)
        case WithdrawPage():
            return pager_rules.plan_withdrawal(desk, write)
        case _:
            assert_never(write)


def _wanted(write: PagerWrite) -> Wanted:
    return Wanted(page=write.page_ref) if isinstance(write, WithdrawPage) else Wanted(people=True)
