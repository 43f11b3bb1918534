"""The SDK's HTTP client on the house's one door: time and size limits, no redirects, no proxies of the environment."""

from collections.abc import Mapping
from typing import Any

import stripe

from agentops.net.http import NotReached, exchange

SECONDS = 20.0
MOST_BYTES = 4_000_000


class Lost(stripe.APIConnectionError):
    """No answer. ``unsent``: the request certainly did not arrive. ``late``: the time was over."""

    def __init__(self, cause: NotReached) -> None:
        super().__init__(f"Stripe {cause.message}.", should_retry=False)  # type: ignore[no-untyped-call]
        self.unsent = cause.unsent
        self.late = cause.late


class Transport(stripe.HTTPClient):
    """Carries each request of the SDK out once."""

    name = "agentops"

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None,
        post_data: Any = None,
        *,
        _usage: list[str] | None = None,
    ) -> tuple[str, int, Mapping[str, str]]:
        """Return body, status and headers of the answer. Raises Lost."""
        body = post_data.encode() if isinstance(post_data, str) else post_data
        try:
            reply = exchange(method.upper(), url, body, headers=headers or {}, seconds=SECONDS, most_bytes=MOST_BYTES)
        except NotReached as cause:
            raise Lost(cause) from None
        return reply.body.decode("utf-8", "replace"), reply.status, reply.headers

    def close(self) -> None:
        """Nothing is kept open."""
