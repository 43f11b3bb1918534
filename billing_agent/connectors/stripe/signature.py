"""Whether Stripe signed a message, by the verifier of its own SDK."""

from datetime import UTC, datetime, timedelta

import stripe

LONGEST_HEADER = 2_000


def is_signed(secret: str, header: str, body: bytes, now: datetime, tolerance: timedelta) -> bool:
    """Return whether ``header`` (Stripe-Signature) signs ``body`` with ``secret``, within ``tolerance`` of ``now``.

    The SDK compares in constant time, and refuses what is too old by the machine's clock only; here both too old and
    too early are refused. https://docs.stripe.com/webhooks#verify-manually
    """
    if not header or len(header) > LONGEST_HEADER:
        return False
    try:
        stripe.WebhookSignature.verify_header(body, header, secret)
        signed_at = datetime.fromtimestamp(_stamp(header), UTC)
    except (stripe.SignatureVerificationError, TypeError, ValueError, OverflowError, OSError):
        # Among them: a body that is no text, a signature that is not ASCII, a time that no calendar has.
        return False
    return abs(now - signed_at) <= tolerance


def _stamp(header: str) -> int:
    """Return the time that the signature covers: the first one that is given, as the SDK takes it."""
    return int(next(part.split("=", 2)[1] for part in header.split(",") if part.split("=", 2)[0] == "t"))
