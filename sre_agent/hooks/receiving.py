"""What follows from what monitoring tells: rows of alerts, incidents about them, and sessions that look again."""

import logging
from collections.abc import Sequence
from uuid import UUID

from django.conf import settings

from agentops.kernel.clock import utcnow
from agentops.registry.webhook import Received, WebhookEvent
from sre_agent import grouping
from sre_agent.connectors.clock import present
from sre_agent.dependencies import known_services
from sre_agent.hooks import alertmanager, pagerduty
from sre_agent.hooks.recording import Recorded, record
from sre_agent.hooks.told import Told
from sre_agent.hooks.words import Vocabulary
from sre_agent.models import Source

log = logging.getLogger(__name__)


def from_alertmanager(tenant_id: UUID, event: WebhookEvent) -> Received:
    """Record the alerts of a message and group them, in the caller's transaction."""
    vocabulary = _vocabulary(tenant_id)
    told = [alertmanager.alert_of(alert, vocabulary) for alert in event.data["alerts"]]
    return _received(tenant_id, Source.ALERTMANAGER, told, cut=event.data["cut"])


def from_pagerduty(tenant_id: UUID, event: WebhookEvent) -> Received:
    """Record how an incident there stands as an alert, and group it, in the caller's transaction. Raises BadEvent."""
    if event.type not in pagerduty.STATES:
        return Received(ignored=True, words="Events of this type are of no use here.")
    if pagerduty.is_ours(event.data):
        return Received(ignored=True, words="It was opened from here, to call somebody.")
    if event.at < utcnow() - pagerduty.LONGEST_WAY:
        return Received(ignored=True, words="It is too old to be news.")
    told = pagerduty.alert_of(event, _vocabulary(tenant_id))
    return _received(tenant_id, Source.PAGERDUTY, [told], cut=0)


def _vocabulary(tenant_id: UUID) -> Vocabulary:
    names, areas = tuple(settings.SRE_SERVICE_LABELS), tuple(settings.SRE_AREA_LABELS)
    return Vocabulary(names, areas, known_services(tenant_id).keys())


def _received(tenant_id: UUID, source: Source, told: Sequence[Told], *, cut: int) -> Received:
    grouping.alone(tenant_id)
    actor, now = f"webhook:{source.value}", utcnow()
    recorded = record(tenant_id, source, told, now)
    if cut:
        log.warning("a message had more alerts than its sender sends", extra={"tenant": str(tenant_id), "cut": cut})
    if recorded.is_nothing:
        return Received(ignored=True, words=_words(recorded, cut))
    by_the_clock = present(tenant_id, now)
    grouped = grouping.group(tenant_id, by_the_clock, actor=actor)
    urged = grouping.urge(recorded.raised, by_the_clock, actor=actor)
    wakes = {*grouped.joined, *urged, *grouping.quiet(recorded.ended)}
    opened = f" Opened: {', '.join(grouped.opened)}." if grouped.opened else ""
    return Received(tuple(grouped.opened), tuple(sorted(wakes)), _words(recorded, cut) + opened)


def _words(recorded: Recorded, cut: int) -> str:
    counts = (
        (len(recorded.began), "new"),
        (len(recorded.ended), "ended"),
        (len(recorded.again), "told again"),
        (recorded.old, "not news any more"),
        (recorded.ahead, "begin in the future and were left out"),
        (cut, "were cut off by the sender"),
    )
    return f"Alerts: {', '.join(f'{count} {what}' for count, what in counts if count)}."
