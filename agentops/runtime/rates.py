"""How often a proposed write comes, and what follows: facts for the rules, limits that are reached, a pause.

``rate_of`` is asked once a decision, in its transaction. Where a limit counts the call, the count is exact: deciders
take turns under a lock that is held until the decision is on record, so that several workers together cannot exceed
it. Everything else comes from ``rate_counts`` and costs no statement in the usual case.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import Any
from uuid import UUID

from django.conf import settings

from agentops.gateway.prepare import Refusal
from agentops.kernel.canonical import fingerprint_bytes
from agentops.kernel.errors import FailureKind
from agentops.ledger.sql import fetch_one
from agentops.policy.facts import UNRATED
from agentops.registry.flow import Sends
from agentops.registry.tool import Preview, ToolSpec
from agentops.runtime import rate_counts as counts
from agentops.runtime import rate_rule as rule
from agentops.runtime.rate_models import RateLimit
from agentops.runtime.rate_rule import Anomaly, Excess, Limit, Per, Reached
from agentops.runtime.work import Work


@dataclass(frozen=True)
class Rate:
    """What was found about one proposed write. ``facts`` are those under ``rate``.

    ``usual_minor`` is what such calls usually move, None when that is not known or the call moves nothing.
    ``anomalies`` pause the session, unless somebody has said that they are all right, if the call would otherwise run.
    """

    facts: Mapping[str, Any] = field(default_factory=lambda: UNRATED)
    usual_minor: int | None = None
    reached: tuple[Reached, ...] = ()
    anomalies: tuple[Anomaly, ...] = ()

    def refusal(self, tool: str, now: datetime) -> Refusal | None:
        """Return what a planner is told of a limit that forbids the call, None when none does."""
        full = rule.strongest(self.reached, Excess.FORBID)
        if full is None:
            return None
        words = f"{full.words(tool)} {rule.wait_words(full.free_at, now)}"
        return Refusal(FailureKind.RATE_LIMIT, words, "Try again then, do something else, or hand over.")


NOT_RATED = Rate()
"""A read: it is not counted."""


def rate_of(work: Work, tool: ToolSpec, preview: Preview, at: datetime, *, trusted: bool) -> Rate:
    """Return how often such a write comes. In the transaction of the decision where ``is_limited``.

    What a person or the runtime itself proposes (``trusted``) is counted, but held up by no limit and no pause: a
    session must always be able to hand over.
    """
    tenant_id = work.held.tenant_id
    hour = counts.last_hour(tenant_id, at)
    new = counts.new_targets(tenant_id, tool.name, preview.target, at)
    money = preview.money
    usual = counts.usual_minor(tenant_id, tool.name, money.currency) if money is not None else None
    anomalies = () if trusted else tuple(_anomalies(work, tool, preview, at, hour, new))
    reached = () if trusted else tuple(_reached(work, tool.name, preview.target, at))
    pausing = tuple(rule.beyond(one, tool.name) for one in reached if one.limit.excess is Excess.PAUSE)
    facts = {
        "tool_hour": hour.tools[tool.name],
        "target_hour": hour.targets[tool.name, preview.target],
        "tenant_hour": hour.total,
        "first_target": new is not None,
        "unusual": bool(anomalies),
        "ask": any(one.limit.excess is Excess.ASK for one in reached),
        "forbid": any(one.limit.excess is Excess.FORBID for one in reached),
    }
    return Rate(facts, usual, reached, anomalies + pausing)


def _anomalies(
    work: Work, tool: ToolSpec, preview: Preview, at: datetime, hour: counts.LastHour, new: int | None
) -> Iterator[Anomaly]:
    tenant_id, floor = work.held.tenant_id, settings.AGENT_ANOMALY_FLOOR
    often = hour.tools[tool.name] + 1
    # Under the floor nothing is unusual, so that nobody has to be asked what is usual.
    if 0 < floor < often:
        usual = rule.usual_most(counts.earlier_calls(tenant_id, tool.name, at), floor=floor)
        if usual is not None and often > usual:
            yield rule.too_often(tool.name, often, usual)
    if new is None:
        return
    if 0 < floor < new + 1:
        usual = rule.usual_most(counts.earlier_targets(tenant_id, tool.name, at), floor=floor)
        if usual is not None and new + 1 > usual:
            yield rule.many_targets(tool.name, new + 1, usual)
    if tool.flow.sends is Sends.OUTSIDE and work.tracing.evidence.third_read:
        yield rule.new_way_out(tool.name, counts.target_id(tenant_id, tool.name, preview.target))


def is_limited(work: Work, tool: str) -> bool:
    """Return whether a limit counts calls of the tool."""
    return any(limit.covers(tool) for limit in _limits_of(work))


def _limits_of(work: Work) -> tuple[Limit, ...]:
    """Read after the epoch was, so they are never older than it; see ``brief.brief_of``."""
    return _limits(work.held.tenant_id, work.held.epoch)


@lru_cache(maxsize=1024)
def _limits(tenant_id: UUID, epoch: int) -> tuple[Limit, ...]:
    return tuple(
        Limit(str(row.pk), row.tool, Per(row.per), row.most, row.window_seconds, Excess(row.excess))
        for row in RateLimit.objects.filter(tenant_id=tenant_id).order_by("pk")
    )


_TURN = """
SELECT pg_advisory_xact_lock(%(lock)s)"""

# The call that has to leave the window before there is room for another one, if there are so many. For one tool the
# index gives them in this order.
_FULL = """
SELECT intended_at FROM invocation
WHERE tenant_id = %(tenant)s AND {tools} AND intended_at > %(since)s
  AND (%(target)s::text IS NULL OR preview ->> 'target' = %(target)s::text)
ORDER BY intended_at DESC OFFSET %(others)s LIMIT 1"""
_FULL_OF_ONE = _FULL.format(tools="tool = %(tools)s")
_FULL_OF_ALL = _FULL.format(tools="tool = ANY(%(tools)s)")


def _reached(work: Work, tool: str, target: str, at: datetime) -> Iterator[Reached]:
    """Lock and count for each limit in the order of their ids, so that no two deciders wait for each other."""
    for limit in _limits_of(work):
        if not limit.covers(tool):
            continue
        counted, towards = limit.counted(tool, target)
        fetch_one(_TURN, {"lock": _lock(limit, counted, towards)})
        full = fetch_one(
            _FULL_OF_ONE if counted else _FULL_OF_ALL,
            {
                "tenant": work.held.tenant_id,
                "tools": counted or counts.writing_tools(),
                "since": at - limit.window,
                "target": towards,
                "others": limit.most - 1,
            },
        )
        if full is not None:
            yield Reached(limit, full[0] + limit.window)


def _lock(limit: Limit, *counted: str | None) -> int:
    name = fingerprint_bytes([limit.id, *counted])
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "big", signed=True)
