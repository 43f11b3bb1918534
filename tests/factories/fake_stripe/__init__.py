"""A Stripe of our own on loopback: it keeps state, honours idempotency keys, and can be unkind.

Speaks API version ``API_VERSION`` as https://docs.stripe.com/api describes it, and refuses what it does not know:
another version, an endpoint, a parameter. ``fake_stripe()`` runs it in this process; ``python -m
tests.factories.fake_stripe`` runs it in its own, where ``ask(url, name, ...)`` is how a test reaches it.
"""

from tests.factories.fake_stripe.control import ask
from tests.factories.fake_stripe.faults import AFTER, BEFORE, CUT, DURING, GARBAGE, HOLD, HUGE, STATUS, Fault
from tests.factories.fake_stripe.keys import SECRET_LIVE, SECRET_TEST
from tests.factories.fake_stripe.server import FakeStripe, fake_stripe
from tests.factories.fake_stripe.webhooks import SECRET as WEBHOOK_SECRET
from tests.factories.fake_stripe.world import API_VERSION

__all__ = [
    "AFTER",
    "API_VERSION",
    "BEFORE",
    "CUT",
    "DURING",
    "GARBAGE",
    "HOLD",
    "HUGE",
    "SECRET_LIVE",
    "SECRET_TEST",
    "STATUS",
    "WEBHOOK_SECRET",
    "FakeStripe",
    "Fault",
    "ask",
    "fake_stripe",
]
