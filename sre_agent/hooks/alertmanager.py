"""Alertmanager's messages as events (pure).

Their form: https://prometheus.io/docs/alerting/latest/configuration/#webhook_config, version 4
"""

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from agentops.kernel.canonical import BadJSON, parse_json
from agentops.registry.webhook import BadEvent, WebhookEvent
from sre_agent.hooks.told import Told, area_of, fingerprint_of, line_of, moment_of, priority_of, service_of
from sre_agent.hooks.words import Vocabulary

MOST_BYTES = 1_000_000
"""Of one message: some thousand alerts, whose number is bounded by this alone."""
VERSION = "4"
_STATES = ("firing", "resolved")
_SAYING = ("summary", "description", "message")


def event_of(body: bytes) -> WebhookEvent:
    """Return the event of a message. Raises BadEvent.

    Alertmanager has no ids, so that the id follows from the body, and no time of its own: the latest moment that the
    message names. ``data`` has the ``alerts`` as they stand in the message, checked, and how many were ``cut`` off.
    """
    try:
        told = parse_json(body, max_bytes=MOST_BYTES)
    except BadJSON as error:
        raise BadEvent(f"It cannot be read: {error.message}.") from error
    if not isinstance(told, dict) or told.get("version") != VERSION:
        raise BadEvent(f"It is no message of version {VERSION}.")
    alerts, cut = told.get("alerts"), told.get("truncatedAlerts", 0)
    if not isinstance(alerts, list) or not alerts:
        raise BadEvent("It has no alerts.")
    if type(cut) is not int or cut < 0:
        raise BadEvent("truncatedAlerts is no whole number.")
    latest = max(_checked(alert) for alert in alerts)
    fires = any(alert["status"] == "firing" for alert in alerts)
    kind = "alertmanager.firing" if fires else "alertmanager.resolved"
    key = hashlib.sha256(body).hexdigest()
    return WebhookEvent(f"body:{key}", kind, latest, data={"alerts": alerts, "cut": cut})


def _checked(alert: object) -> datetime:
    """Return the latest moment that an alert names. Raises BadEvent."""
    if not isinstance(alert, dict) or alert.get("status") not in _STATES:
        raise BadEvent("An alert is neither firing nor resolved.")
    labels, notes, given = alert.get("labels"), alert.get("annotations", {}), alert.get("fingerprint", "")
    if not _is_texts(labels) or not labels or not _is_texts(notes):
        raise BadEvent("The labels or annotations of an alert are no texts, or it has no label.")
    if not isinstance(given, str):
        raise BadEvent("The fingerprint of an alert is no text.")
    began, ended = moment_of(alert.get("startsAt")), alert.get("endsAt", "")
    if began is None or not isinstance(ended, str):
        raise BadEvent("An alert does not say since when it fires.")
    return max(began, moment_of(ended) or began) if alert["status"] == "resolved" else began


def _is_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def alert_of(alert: Mapping[str, Any], vocabulary: Vocabulary) -> Told:
    """Return what one alert of a message says, in our words."""
    labels: Mapping[str, str] = alert["labels"]
    notes: Mapping[str, str] = alert.get("annotations", {})
    rule = line_of(labels.get("alertname", ""), 200) or "Alert without a name"
    said = next((notes[name] for name in _SAYING if notes.get(name, "").strip()), rule)
    began = moment_of(alert["startsAt"])
    if began is None:
        raise BadEvent("An alert does not say since when it fires.")
    over = alert["status"] == "resolved"
    return Told(
        fingerprint=fingerprint_of(alert.get("fingerprint", ""), labels),
        rule=rule,
        service=service_of(labels, vocabulary.services, vocabulary.known),
        area=area_of(labels, vocabulary.areas),
        words=line_of(said, 1_000),
        priority=priority_of(labels.get("priority", "") or labels.get("severity", "")),
        began_at=began,
        is_over=over,
        ended_at=moment_of(alert.get("endsAt")) if over else None,
    )
