"""PagerDuty's messages as events (pure). An incident there is one alert here: it fires until it is resolved.

Their form: https://developer.pagerduty.com/docs/webhooks-overview, version 3
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from agentops.kernel.canonical import BadJSON, parse_json
from agentops.registry.webhook import MOST_BYTES, BadEvent, WebhookEvent
from sre_agent.hooks.told import Told, line_of, moment_of, priority_of, service_of
from sre_agent.hooks.words import Vocabulary

STATES = frozenset({"incident.triggered", "incident.reopened", "incident.resolved", "incident.priority_updated"})
"""The types that say how an incident stands, of which an older one tells nothing any more."""
OURS = "agentops/"
"""With this begin the keys of incidents that were opened from here: they are calls for people, and no news."""
LONGEST_WAY = timedelta(days=3)
"""What happened longer ago is not news: nothing but a message that somebody kept comes so late."""
_URGENCIES = {"high": 1, "low": 3}


def event_of(body: bytes) -> WebhookEvent:
    """Return the event of a message. Raises BadEvent."""
    try:
        told = parse_json(body, max_bytes=MOST_BYTES)
    except BadJSON as error:
        raise BadEvent(f"It cannot be read: {error.message}.") from error
    event = told.get("event") if isinstance(told, dict) else None
    if not isinstance(event, dict):
        raise BadEvent("It is no event.")
    key, kind, at = event.get("id"), event.get("event_type"), moment_of(event.get("occurred_at"))
    if not isinstance(key, str) or not isinstance(kind, str) or at is None:
        raise BadEvent("Its id, type or time is missing.")
    data = event.get("data")
    if not isinstance(data, dict):
        raise BadEvent("It is about nothing.")
    about = f"incident:{_text(data, 'id')}" if kind in STATES else ""
    if about and (not isinstance(data.get("title", ""), str) or moment_of(data.get("created_at")) is None):
        raise BadEvent("The incident's title or time is missing.")
    return WebhookEvent(key, kind, at, about, data=data)


def is_ours(data: Mapping[str, Any]) -> bool:
    """Return whether an incident was opened from here, to call somebody."""
    key = data.get("incident_key")
    return isinstance(key, str) and key.startswith(OURS)


def alert_of(event: WebhookEvent, vocabulary: Vocabulary) -> Told:
    """Return what an event of STATES says of its incident. Raises BadEvent.

    One that was opened again fires since then: it is another alert than the one that was resolved.
    """
    data = event.data
    over = event.type == "incident.resolved" or data.get("status") == "resolved"
    title = line_of(str(data.get("title", "")), 200) or "Incident without a title"
    return Told(
        fingerprint=_text(data, "id"),
        rule=title,
        service=_service(data, vocabulary),
        area="",
        words=line_of(f"PagerDuty: {title}", 1_000),
        priority=_priority(data),
        began_at=event.at if event.type == "incident.reopened" else _began(data),
        is_over=over,
        ended_at=event.at if over else None,
        goes_on=event.type in ("incident.resolved", "incident.priority_updated"),
    )


def _began(data: Mapping[str, Any]) -> datetime:
    began = moment_of(data.get("created_at"))
    if began is None:
        raise BadEvent("The incident's time is missing.")
    return began


def _service(data: Mapping[str, Any], vocabulary: Vocabulary) -> str:
    service = data.get("service")
    name = service.get("summary") if isinstance(service, dict) else None
    return service_of({"service": name}, ("service",), vocabulary.known) if isinstance(name, str) else ""


def _priority(data: Mapping[str, Any]) -> int:
    """Return the incident's priority where the account has them, what its urgency stands for otherwise."""
    priority = data.get("priority")
    name = priority.get("summary") if isinstance(priority, dict) else None
    if isinstance(name, str) and name:
        return priority_of(name)
    urgency = data.get("urgency")
    return _URGENCIES.get(urgency, priority_of("")) if isinstance(urgency, str) else priority_of("")


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    if not isinstance(value, str) or not value or len(value) > 100:
        raise BadEvent(f"{name} is missing.")
    return value
