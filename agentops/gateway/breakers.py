"""The breakers of all workers together: reading them, taking the one probe, reporting what became of a call.

A breaker's row is written only when something fails, and when what failed works again; a call of a tool that
works costs nothing here. Times are the database's, so that workers whose clocks differ agree.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from agentops.gateway.breaker import (
    COUNTED,
    PROBE_GIVEN_UP,
    BreakerState,
    BreakerView,
    Let,
    Off,
    after_failure,
    after_success,
    may_call,
)
from agentops.gateway.models import Breaker
from agentops.kernel.canonical import storable
from agentops.kernel.clock import isoformat, utcnow
from agentops.kernel.errors import AgentOpsError, FailureKind
from agentops.kernel.ids import derived_id
from agentops.ledger.append import Event, append_to
from agentops.ledger.sql import fetch_one
from agentops.registry.tool import ToolFailure
from agentops.tenancy.models import EVERYBODY

ACTOR = "gateway"
MOST_WORDS = 250


class ToolOff(ToolFailure):
    """The breaker is open: nothing was tried. ``retry_after`` is seconds until it lets a call through."""

    code = "TOOL_OFF"

    def __init__(self, view: BreakerView, retry_at: datetime, now: datetime) -> None:
        what = view.name.partition(":")[2]
        super().__init__(
            FailureKind.UNAVAILABLE,
            f"{what} kept failing and is off until {retry_at:%H:%M:%S} UTC.",
            retry_after=max((retry_at - now).total_seconds(), 1.0),
        )


class NothingToReset(AgentOpsError):
    """There is no such breaker, or it is closed and has counted nothing."""

    code = "NOTHING_TO_RESET"
    next_step = "Load the page again: somebody else has reset it, or it has closed by itself."


def tool_breaker(tool: str) -> str:
    """Return the name of a tool's breaker."""
    return f"tool:{tool}"


def provider_breaker(provider: str) -> str:
    """Return the name of a provider's breaker, which is everybody's."""
    return f"provider:{provider}"


def breakers_of(tenant_id: UUID) -> tuple[BreakerView, ...]:
    """Return the breakers that concern a tenant: those of its tools and those of the providers. One query."""
    rows = Breaker.objects.filter(Q(tenant_id=tenant_id) | Q(tenant_id=None)).order_by("name")
    return tuple(_view(row) for row in rows)


@dataclass(frozen=True)
class Admitted:
    """A call that may be made, and whose end is to be reported. ``probe`` is its token when it is the one probe."""

    view: BreakerView
    probe: datetime | None = None

    def worked(self) -> None:
        """Report that the call worked. Writes nothing when the breaker is known to have counted nothing."""
        if self.probe is not None or self.view.failures or self.view.state is not BreakerState.CLOSED:
            report_success(tenant_id=self.view.tenant_id, name=self.view.name, probe=self.probe)

    def failed(self, kind: FailureKind, words: str, retry_after: float | None = None) -> None:
        """Report that the call failed. Writes nothing for a kind that does not count, unless it was the probe."""
        if self.probe is not None or kind in COUNTED:
            report_failure(
                tenant_id=self.view.tenant_id,
                name=self.view.name,
                kind=kind,
                words=words,
                retry_after=retry_after,
                probe=self.probe,
            )


class Breakers:
    """The breakers as a worker knows them, as of the epoch it read them in. One without a row has counted nothing."""

    def __init__(self, tenant_id: UUID, views: Iterable[BreakerView]) -> None:
        self._tenant_id = tenant_id
        self._views = {view.name: view for view in views}

    def view(self, name: str) -> BreakerView:
        """Return what is known of the breaker called ``name``."""
        known = self._views.get(name)
        if known is None:
            tenant_id = None if name.startswith("provider:") else self._tenant_id
            known = self._views[name] = BreakerView(breaker_id(tenant_id, name), name, tenant_id)
        return known

    def off(self, name: str) -> ToolOff | None:
        """Return why a call would not be let through, None when one may be tried. Asks nobody."""
        view, now = self.view(name), utcnow()
        allowed = may_call(view, now)
        return ToolOff(view, allowed.retry_at, now) if isinstance(allowed, Off) else None

    def failed(self, name: str, kind: FailureKind, words: str, retry_after: float | None = None) -> None:
        """Report the failure of something that needed no admission."""
        Admitted(self.view(name)).failed(kind, words, retry_after)

    def admit(self, name: str) -> Admitted:
        """Let a call through, taking the probe where there is one to take. Raises ToolOff."""
        return admit(view=self.view(name))


def admit(*, view: BreakerView) -> Admitted:
    """Let a call through, as the one probe of all workers if its breaker was open. Raises ToolOff."""
    now = utcnow()
    allowed = may_call(view, now)
    if isinstance(allowed, Let):
        return Admitted(view)
    if isinstance(allowed, Off):
        raise ToolOff(view, allowed.retry_at, now)
    row = fetch_one(_TAKE_PROBE, {"breaker": view.id, "patience": PROBE_GIVEN_UP})
    if row is not None:
        return Admitted(view, row[0])
    # Somebody else was faster: what do they know by now?
    fresh = Breaker.objects.filter(pk=view.id).first()
    view = BreakerView(view.id, view.name, view.tenant_id) if fresh is None else _view(fresh)
    allowed = may_call(view, now)
    if isinstance(allowed, Let):
        return Admitted(view)
    raise ToolOff(view, allowed.retry_at if isinstance(allowed, Off) else now, now)


_TAKE_PROBE = """
UPDATE agentops_breaker SET state = 'half_open', retry_at = NULL, changed_at = clock_timestamp(),
  probe_until = clock_timestamp() + %(patience)s
WHERE id = %(breaker)s AND ((state = 'open' AND retry_at <= clock_timestamp())
  OR (state = 'half_open' AND (probe_until IS NULL OR probe_until <= clock_timestamp())))
RETURNING probe_until"""


@transaction.atomic
def report_failure(
    *,
    tenant_id: UUID | None,
    name: str,
    kind: FailureKind,
    words: str,
    retry_after: float | None = None,
    probe: datetime | None = None,
) -> BreakerView:
    """Count a failed call, open the breaker when it was one too many, and return the breaker.

    ``retry_after`` is seconds, as the other side said. ``probe`` is the token of ``Admitted``.
    """
    row, now = _lock(tenant_id, name)
    before = _view(row)
    after = after_failure(before, kind, now, retry_after, probe=probe)
    if after == before:
        return before
    row.last_words = storable(words, most=MOST_WORDS)
    _write(row, after, now)
    if after.state is BreakerState.OPEN and after.opened > before.opened:
        facts = {"code": after.last_code, "failures": after.failures, "opened": after.opened}
        facts["retry_at"] = isoformat(after.retry_at or now)
        _tell(after, Event("breaker.opened", ACTOR, facts, {}, {"words": row.last_words}))
    elif after.state is BreakerState.CLOSED:
        _tell_closed(before, after)
    return after


@transaction.atomic
def report_success(*, tenant_id: UUID | None, name: str, probe: datetime | None = None) -> BreakerView:
    """Forget the failures in a row, close the breaker when this was its probe, and return the breaker."""
    row, now = _lock(tenant_id, name)
    before = _view(row)
    after = after_success(before, probe=probe)
    if after != before:
        _write(row, after, now)
        _tell_closed(before, after)
    return after


@transaction.atomic
def reset_breaker(*, breaker_id: UUID, actor: str) -> BreakerView:
    """Close a breaker because a person says so. Raises NothingToReset. ``actor`` is ``user:NAME``."""
    row = Breaker.objects.select_for_update().annotate(now=Now()).filter(pk=breaker_id).first()
    if row is None or (row.state == BreakerState.CLOSED and not row.failures):
        raise NothingToReset("There is nothing to reset.")
    before = _view(row)
    after = BreakerView(before.id, before.name, before.tenant_id, last_code=before.last_code)
    _write(row, after, row.now)
    facts = {"was": before.state.value, "failures": before.failures, "opened": before.opened}
    _tell(after, Event("breaker.reset", actor, facts))
    return after


def breaker_id(tenant_id: UUID | None, name: str) -> UUID:
    """Return the id of the breaker's row, which exists once something has failed."""
    return derived_id("breaker", str(tenant_id or EVERYBODY), name)


def _lock(tenant_id: UUID | None, name: str) -> tuple[Breaker, datetime]:
    """Return the locked row, made when new, and the database's time."""
    wanted = Breaker.objects.select_for_update().annotate(now=Now()).filter(pk=breaker_id(tenant_id, name))
    row = wanted.first()
    if row is None:
        fresh = Breaker(id=breaker_id(tenant_id, name), tenant_id=tenant_id, name=name[:120], changed_at=utcnow())
        Breaker.objects.bulk_create([fresh], ignore_conflicts=True)
        row = wanted.get()
    return row, row.now


def _view(row: Breaker) -> BreakerView:
    return BreakerView(
        id=row.pk,
        name=row.name,
        tenant_id=row.tenant_id,
        state=BreakerState(row.state),
        failures=row.failures,
        opened=row.opened,
        last_code=row.last_code,
        retry_at=row.retry_at,
        probe_until=row.probe_until,
    )


def _write(row: Breaker, view: BreakerView, now: datetime) -> None:
    if row.state != view.state:
        row.changed_at = now
    row.state, row.failures, row.opened = view.state.value, view.failures, view.opened
    row.last_code, row.retry_at, row.probe_until = view.last_code, view.retry_at, view.probe_until
    row.save(force_update=True)


def _tell_closed(before: BreakerView, after: BreakerView) -> None:
    if before.state is not BreakerState.CLOSED:
        _tell(after, Event("breaker.closed", ACTOR, {"opened": before.opened}))


def _tell(view: BreakerView, event: Event) -> None:
    append_to(tenant_id=view.tenant_id or EVERYBODY, name=f"breaker:{view.name}", events=[event])
