"""What `manage.py check` says of the billing role."""

from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error

_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


def stripe_can_be_used(**_: Any) -> list[CheckMessage]:
    """Return an error where Stripe is the system of record and cannot be: without its SDK, or over plain HTTP."""
    if settings.BILLING_SYSTEM != "stripe":
        return []
    found: list[CheckMessage] = []
    if find_spec("stripe") is None:
        hint = "Install it: pip install -r requirements-stripe.txt"
        found.append(Error("BILLING_SYSTEM is stripe, and its SDK is not installed.", hint=hint, id="billing.E001"))
    if not is_safe_address(settings.STRIPE_URL):
        words = "STRIPE_URL is neither an https address nor one of this machine."
        found.append(Error(words, hint="Leave it as it is; only tests set it.", id="billing.E002"))
    return found


def is_safe_address(url: str) -> bool:
    """Return whether a key may be sent to an address: over https, or to this machine."""
    address = urlsplit(url)
    return address.scheme == "https" or (address.scheme == "http" and address.hostname in _LOOPBACK)
