"""Who may tell the billing role something, and what follows from it."""

from collections.abc import Mapping
from datetime import datetime

from agentops.registry.webhook import TOLERANCE, WebhookEvent, WebhookSource
from billing_agent.hooks.reading import event_of
from billing_agent.hooks.receiving import HANDLERS, receive


def _is_stripes(secret: str, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
    # The SDK takes long to load and need not be installed: only processes that get such messages use it.
    from billing_agent.connectors.stripe.signature import is_signed  # noqa: PLC0415 - see above

    return is_signed(secret, headers.get("stripe-signature", ""), body, now, TOLERANCE)


def _read(body: bytes) -> WebhookEvent:
    """What is received says how a thing stands. Other types must not make it look older than it is."""
    return event_of(body, HANDLERS)


STRIPE = WebhookSource(name="stripe", title="Stripe", verify=_is_stripes, read=_read, receive=receive)
WEBHOOKS = (STRIPE,)
