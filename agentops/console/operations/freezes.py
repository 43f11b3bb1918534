"""The pages of freezes, from queries to what the templates receive."""

from collections.abc import Iterator
from datetime import datetime

from agentops.console.codes import as_uuid
from agentops.console.operations import in_flight, queries
from agentops.console.operations.in_flight import Scope
from agentops.console.operations.live import live_part
from agentops.console.operations.presenters import FreezeEffect, FreezeListPage, FreezePage, Standing
from agentops.console.operations.rights import may_ask_to_lift, why_not_lift
from agentops.console.operations.standing import REASON, freeze_lines, tabs_of
from agentops.console.operations.words import counted, scope_words
from agentops.console.reveal import reveal_cut
from agentops.runtime.freezing import covered_requests
from agentops.tenancy.access import Reader
from agentops.tenancy.models import Freeze


def freeze_list_page(reader: Reader, standing: Standing, after_text: str) -> FreezeListPage:
    """Return the active freezes and a page of the lifted ones; ``after_text`` is the id of the last one before it."""
    after = as_uuid(after_text)
    active, total = queries.active_freezes(reader.tenant.pk)
    lifted, more = queries.lifted_freezes(reader.tenant.pk, after=after)
    lines = freeze_lines([*active, *lifted], reader.tenant)
    return FreezeListPage(
        tabs=tabs_of(standing, "freeze_list"),
        active=lines[: len(active)],
        active_total=total,
        lifted=lines[len(active) :],
        first_url="?" if after else "",
        next_url=f"?after={lifted[-1].pk}" if more else "",
    )


def freeze_page(reader: Reader, standing: Standing, freeze: Freeze, *, now: datetime, error: str = "") -> FreezePage:
    """Return the page of one freeze, with what this reader may do about it."""
    cannot = why_not_lift(reader, freeze)
    active = freeze.lifted_at is None
    return FreezePage(
        tabs=tabs_of(standing, "freeze_list"),
        line=freeze_lines([freeze], reader.tenant)[0],
        stops_sessions=not freeze.tool,
        asked_at=freeze.lift_asked_at,
        asked_why=reveal_cut(freeze.lift_reason, REASON),
        can_ask=active and not freeze.lift_asked_by and may_ask_to_lift(reader, freeze),
        can_lift=not cannot,
        cannot=cannot,
        live=live_part(reader, freeze, now=now) if active else None,
        error=error,
    )


def freeze_effect(reader: Reader, scope: Scope) -> FreezeEffect:
    """Return what a freeze of ``scope``, which is the reader's to freeze, would do now."""
    active, _ = queries.active_freezes(reader.tenant.pk)
    agent = queries.agent_names(reader.tenant.pk, [scope.agent_id]).get(scope.agent_id, "") if scope.agent_id else ""
    return FreezeEffect(
        what=scope_words(tenant=reader.tenant.name if scope.tenant_id else "", agent=agent, tool=scope.tool),
        lines=list(_effects(scope)),
        already=freeze_lines([one for one in active if _covers(one, scope)], reader.tenant),
    )


def _covers(freeze: Freeze, scope: Scope) -> bool:
    """Whether the freeze stops all that ``scope`` would."""
    return (
        freeze.tenant_id in (None, scope.tenant_id)
        and freeze.agent_id in (None, scope.agent_id)
        and freeze.tool in ("", scope.tool)
    )


def _effects(scope: Scope) -> Iterator[str]:
    left = in_flight.left_of(scope, in_flight.busy(scope.tenant_id))
    asked = covered_requests(tenant_id=scope.tenant_id, agent_id=scope.agent_id, tool=scope.tool).count()
    if scope.tool:
        yield f"Sessions go on, but no new call of {scope.tool} is made."
        yield f"{counted(left, 'call')} under way {'ends' if left == 1 else 'end'} as usual."
    else:
        yield f"{counted(left, 'session')} at work {'stops' if left == 1 else 'stop'} after the present step."
        waiting = in_flight.queued(scope)
        yield f"{counted(waiting, 'session')} in the queue {'stays' if waiting == 1 else 'stay'} there."
    yield f"{counted(asked, 'request')} that {'waits' if asked == 1 else 'wait'} for a decision will be withdrawn."
