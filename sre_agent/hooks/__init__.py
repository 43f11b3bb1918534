"""Who may tell the SRE role something, and what follows from it."""

from datetime import timedelta

from agentops.registry.webhook import WebhookSource
from sre_agent.hooks import alertmanager, pagerduty
from sre_agent.hooks.receiving import from_alertmanager, from_pagerduty
from sre_agent.hooks.verifying import is_signed, knows_token

SENT_AGAIN = timedelta(minutes=1)
"""Alertmanager sends a message again at once when it got no answer, and after minutes or hours while it still holds."""

ALERTMANAGER = WebhookSource(
    name="alertmanager",
    title="Alertmanager",
    verify=knows_token,
    read=alertmanager.event_of,
    receive=from_alertmanager,
    most_bytes=alertmanager.MOST_BYTES,
    again_after=SENT_AGAIN,
)
PAGERDUTY = WebhookSource(
    name="pagerduty", title="PagerDuty", verify=is_signed, read=pagerduty.event_of, receive=from_pagerduty
)
WEBHOOKS = (ALERTMANAGER, PAGERDUTY)
