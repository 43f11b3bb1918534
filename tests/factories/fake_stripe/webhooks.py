"""Events, and how they are sent out: https://docs.stripe.com/api/events and https://docs.stripe.com/webhooks/signature."""

import hashlib
import hmac
import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from tests.factories.fake_stripe.lists import page, within
from tests.factories.fake_stripe.params import BOOL, LIST, RANGE, STR, read
from tests.factories.fake_stripe.routing import Route, retrieving
from tests.factories.fake_stripe.world import Obj, World

SECRET = "whsec_fake0000000000000000000000"


def payload(event: Obj) -> bytes:
    """Return the body in which an event is sent."""
    return json.dumps(event, indent=2).encode()


def signature(body: bytes, secret: str, at: int) -> str:
    """Return the ``Stripe-Signature`` of a body that is sent at a moment."""
    mac = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256)
    return f"t={at},v1={mac.hexdigest()}"


def send(url: str, body: bytes, header: str) -> tuple[int, bytes]:
    """Post a body with a signature and return status and answer."""
    target = urlsplit(url)
    connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=30)
    try:
        path = target.path + (f"?{target.query}" if target.query else "")
        headers = {"Content-Type": "application/json; charset=utf-8", "Stripe-Signature": header}
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def list_all(world: World, form: Mapping[str, Any]) -> Obj:
    """Return events, the newest first."""
    asked = read(form, LIST | {"type": STR, "types": [STR], "created": RANGE, "delivery_success": BOOL})
    types = asked.get("types") or ([asked["type"]] if asked.get("type") else [])
    rows = (each for each in world.all("event") if (not types or _fits(each["type"], types)) and within(each, asked))
    return page(rows, asked, "/v1/events")


def _fits(kind: str, wanted: list[str]) -> bool:
    return any(kind == each or (each.endswith("*") and kind.startswith(each[:-1])) for each in wanted)


ROUTES = [
    Route("GET", "/v1/events", list_all, "event"),
    Route("GET", "/v1/events/{}", retrieving("event"), "event"),
]
