"""The HTTP side of a model call: one bounded exchange without redirects, whose bytes are kept."""

from dataclasses import dataclass

import httpx2

MAX_RESPONSE_BYTES = 256_000


class ResponseRefused(httpx2.TransportError):
    """A response that is not read: too large, compressed, or not JSON."""


@dataclass
class Received:
    """What came back. ``refused`` says why the body was not read, ``too_large`` that size was the reason."""

    status: int = 0
    body: bytes = b""
    refused: str = ""
    too_large: bool = False


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Reads at most ``max_bytes`` of each response and keeps them in ``received``.

    A response is asked for uncompressed and refused when it is not, because a small compressed body can
    unfold into any size. A redirect is handed up as it is; the client is told not to follow it.
    """

    def __init__(self, inner: httpx2.AsyncBaseTransport, received: Received, *, max_bytes: int) -> None:
        self._inner = inner
        self._received = received
        self._max_bytes = max_bytes

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send ``request``. Raises ResponseRefused, or what the inner transport raises."""
        request.headers["Accept-Encoding"] = "identity"
        response = await self._inner.handle_async_request(request)
        try:
            self._received.status = response.status_code
            self._require_plain(response)
            self._received.body = await self._read(response)
        finally:
            await response.aclose()
        headers = [(name, value) for name, value in response.headers.multi_items() if name != "transfer-encoding"]
        return httpx2.Response(response.status_code, headers=headers, content=self._received.body, request=request)

    async def aclose(self) -> None:
        """Close the inner transport."""
        await self._inner.aclose()

    def _require_plain(self, response: httpx2.Response) -> None:
        encoding = response.headers.get("content-encoding", "identity")
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if encoding.lower() != "identity":
            self._refuse("a compressed response, which was not asked for")
        if response.is_success and kind != "application/json":
            self._refuse("a response that is not declared as JSON")

    async def _read(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > self._max_bytes:
                self._received.too_large = response.is_success
                self._refuse(f"more than {self._max_bytes} bytes")
        return bytes(body)

    def _refuse(self, words: str) -> None:
        self._received.refused = words
        raise ResponseRefused(words)
