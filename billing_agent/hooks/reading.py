"""Stripe's messages as events (pure).

Their form: https://docs.stripe.com/api/events/object
"""

from collections.abc import Container, Mapping
from typing import Any

from agentops.kernel.canonical import BadJSON, parse_json
from agentops.registry.webhook import BadEvent, WebhookEvent
from billing_agent.connectors.stripe.objects import Obj, known_moment

MOST_BYTES = 256 * 1024
MOST_SECONDS = 32_503_680_000
"""The year 3000."""


def event_of(body: bytes, states: Container[str]) -> WebhookEvent:
    """Return the event of a body that Stripe signed. Raises BadEvent.

    ``states`` are the types that say how a thing stands, of which an older one tells nothing any more.
    """
    try:
        told = parse_json(body, max_bytes=MOST_BYTES)
    except BadJSON as error:
        raise BadEvent(f"It cannot be read: {error.message}.") from error
    if not isinstance(told, dict) or told.get("object") != "event":
        raise BadEvent("It is no event object.")
    kind, created, live = told.get("type"), told.get("created"), told.get("livemode")
    if not isinstance(kind, str) or type(created) is not int or not 0 <= created < MOST_SECONDS:
        raise BadEvent("Its type or time is missing.")
    if type(live) is not bool:
        raise BadEvent("It does not say whether it is live.")
    data = told.get("data")
    thing = data.get("object") if isinstance(data, dict) else None
    if not isinstance(data, dict) or not isinstance(thing, dict):
        raise BadEvent("It is about no object.")
    about = f"{text_of(thing, 'object')}:{text_of(thing, 'id')}" if kind in states else ""
    return WebhookEvent(text_of(told, "id"), kind, known_moment(created), about, live, data)


def text_of(obj: Obj, name: str) -> str:
    """Return a text that the object has to have. Raises BadEvent."""
    value = obj.get(name)
    if not isinstance(value, str) or not value:
        raise BadEvent(f"{name} is missing.")
    return value


def whole_of(obj: Obj, name: str) -> int:
    """Return a whole number that the object has to have. Raises BadEvent."""
    value = obj.get(name)
    if type(value) is not int:
        raise BadEvent(f"{name} is no whole number.")
    return value


def part_of(obj: Obj, name: str) -> Mapping[str, Any]:
    """Return an object inside, empty when there is none."""
    value = obj.get(name)
    return value if isinstance(value, dict) else {}
