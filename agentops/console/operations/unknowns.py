"""The reconciliation queue, from queries to what the template receives."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from agentops.console.operations import queries
from agentops.console.operations.presenters import Argument, Standing, UnknownCall, UnknownPage
from agentops.console.operations.queries import Told
from agentops.console.operations.standing import tabs_of
from agentops.console.reveal import reveal, reveal_cut
from agentops.console.said import one_line
from agentops.runtime.models import Invocation, Session
from agentops.runtime.reconciling import can_be_asked, never_before
from agentops.tenancy.access import Reader

TITLE = 160
MOST_VALUE = 400


def unknown_list_page(
    reader: Reader, standing: Standing, start: UUID | None, *, about: UUID | None = None, error: str = ""
) -> UnknownPage:
    """Return a page of the queue from the call ``start`` on. ``error`` is about the call ``about``."""
    calls, following = queries.unknown_page(reader.tenant.pk, start=start)
    sessions = queries.sessions_by_id(reader.tenant.pk, {call.session_id for call in calls})
    told = queries.told_of(calls)
    return UnknownPage(
        tabs=tabs_of(standing, "unknown_list"),
        calls=[_call(call, sessions[call.session_id], told.get(call.pk, Told())) for call in calls],
        total=standing.unknown,
        first_url="?" if start else "",
        next_url=f"?from={following}" if following else "",
        can_settle=reader.may_operate,
        about=str(about or ""),
        error=error,
    )


def _call(call: Invocation, session: Session, told: Told) -> UnknownCall:
    intended = told.intended or call.created_at
    return UnknownCall(
        pk=str(call.pk),
        tool=call.tool,
        effect=reveal(str(call.preview.get("effect", ""))),
        arguments=_arguments(call.arguments),
        key=call.idempotency_key or "",
        intended=intended,
        noticed=call.unknown_since,
        words=reveal(told.words),
        session_pk=str(session.pk),
        position=call.position,
        title=reveal_cut(session.title, TITLE),
        can_be_asked=can_be_asked(call, session.role, intended),
        never_before=never_before(call),
    )


def _arguments(arguments: Mapping[str, Any]) -> list[Argument]:
    return [Argument(name=name, value=reveal_cut(one_line(value), MOST_VALUE)) for name, value in arguments.items()]
