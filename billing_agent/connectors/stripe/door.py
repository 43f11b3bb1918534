"""One tenant's account at Stripe, as a call sees it: with the key that was lent for it, in one mode."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

import stripe
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from agentops.kernel.errors import FailureKind
from agentops.registry.secret import Secret
from agentops.registry.tool import ToolFailure
from billing_agent.checks import is_safe_address
from billing_agent.connectors.stripe.errors import MISSING, failure_of
from billing_agent.connectors.stripe.objects import Obj
from billing_agent.connectors.stripe.transport import Transport

API_VERSION = "2026-10-28.endive"
"""What the mappings and requests are written for; the SDK's own version may move on."""
PAGE = 100
_PREFIXES = {"sandbox": ("sk_test_", "rk_test_"), "production": ("sk_live_", "rk_live_")}


@dataclass(frozen=True)
class Account:
    """Reads and sends. Every object that comes back is of the account's mode."""

    client: stripe.StripeClient
    is_live: bool

    def one(self, path: str, **params: Any) -> Obj | None:
        """Return one object, None when there is none. Raises ToolFailure."""
        try:
            return self._checked(self.client.raw_request("get", path, **params).data)
        except stripe.InvalidRequestError as error:
            if error.code == MISSING or error.http_status == 404:
                return None
            raise failure_of(error) from error
        except stripe.StripeError as error:
            raise failure_of(error) from error

    def listed(self, path: str, most: int, **params: Any) -> list[Obj]:
        """Return the first ``most`` objects of a list, page by page. Raises ToolFailure."""
        asked = {**params, "limit": min(most, PAGE)}
        try:
            page = self.client.deserialize(self.client.raw_request("get", path, **asked), params=asked, api_mode="V1")
            found = islice(cast("stripe.ListObject[stripe.StripeObject]", page).auto_paging_iter(), most)
            return [self._checked(each.to_dict()) for each in found]
        except stripe.InvalidRequestError as error:
            if error.code == MISSING or error.http_status == 404:
                return []
            raise failure_of(error) from error
        except stripe.StripeError as error:
            raise failure_of(error) from error

    def send(self, method: str, path: str, params: Mapping[str, Any], key: str) -> Obj:
        """Send a write under an idempotency key and return what it made. Raises StripeError, ToolFailure."""
        return self._checked(self.client.raw_request(method, path, idempotency_key=key, **params).data)

    def preview(self, path: str, params: Mapping[str, Any]) -> Obj:
        """Return what Stripe would make of a request that makes nothing. Raises ToolFailure."""
        try:
            return self._checked(self.client.raw_request("post", path, **params).data)
        except stripe.StripeError as error:
            raise failure_of(error) from error

    def _checked(self, obj: Obj) -> Obj:
        if obj.get("livemode", self.is_live) is not self.is_live:
            mode = "live" if self.is_live else "test"
            raise ToolFailure(FailureKind.AUTH, f"Stripe answered with an object that is not of {mode} mode.")
        return obj


def opened(secret: Secret | None) -> Account:
    """Return the account whose key was lent. Raises ToolFailure AUTH for no key, or one of the other mode."""
    environment = settings.TOOL_ENVIRONMENT
    key = "" if secret is None else secret.reveal().strip()
    if not key.startswith(_PREFIXES[environment]):
        words = (
            f"There is no key of Stripe that fits {environment}: it begins with {' or '.join(_PREFIXES[environment])}."
        )
        raise ToolFailure(FailureKind.AUTH, words)
    client = stripe.StripeClient(
        key,
        stripe_version=API_VERSION,
        base_addresses={"api": base_address()},
        http_client=Transport(),
        max_network_retries=0,
    )
    return Account(client, environment == "production")


def base_address() -> str:
    """Return where Stripe is. Raises ImproperlyConfigured for anything but https, or this machine."""
    if not is_safe_address(settings.STRIPE_URL):
        raise ImproperlyConfigured("STRIPE_URL is an https address, or one of this machine.")
    return str(settings.STRIPE_URL).rstrip("/")
