"""Whether whoever knows the secret sent a message (pure)."""

import base64
import binascii
import hashlib
import hmac
from collections.abc import Mapping
from datetime import datetime

_LONGEST_HEADER = 4_000
_MOST_SIGNATURES = 10


def knows_token(secret: str, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
    """Return whether the Authorization header has the secret: as a bearer token, or as the password of any user.

    Alertmanager signs nothing: https://prometheus.io/docs/alerting/latest/configuration/#http_config
    """
    header = headers.get("authorization", "")
    if not secret or len(header) > _LONGEST_HEADER:
        return False
    scheme, _, given = header.partition(" ")
    match scheme.lower():
        case "bearer":
            found = _bytes(given.strip())
        case "basic":
            found = _password(given.strip())
        case _:
            return False
    return hmac.compare_digest(found, secret.encode())


def _password(given: str) -> bytes:
    try:
        pair = base64.b64decode(_bytes(given), validate=True)
    except binascii.Error:
        return b""
    return pair.partition(b":")[2]


def _bytes(header: str) -> bytes:
    """Return the bytes that were sent: a server hands them over as Latin-1."""
    return header.encode("latin-1", "replace")


def is_signed(secret: str, headers: Mapping[str, str], body: bytes, now: datetime) -> bool:
    """Return whether one of the signatures is of the body: several while PagerDuty changes over to another secret.

    HMAC-SHA256 of the body, with no time in it: https://developer.pagerduty.com/docs/verifying-webhook-signatures
    """
    header = headers.get("x-pagerduty-signature", "")
    if not secret or not header or len(header) > _LONGEST_HEADER:
        return False
    right = _bytes("v1=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest())
    given = [part.strip() for part in header.split(",")][:_MOST_SIGNATURES]
    return any(hmac.compare_digest(_bytes(one), right) for one in given)
