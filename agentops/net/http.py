"""One bounded exchange with a server that the operators named in the settings, such as a vault or a chat.

What agents choose to fetch does not go through here: these addresses are the installation's own and may be private.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from ssl import SSLContext

import httpx2

from agentops.kernel.errors import AgentOpsError


class NotReached(AgentOpsError):
    """No answer that could be read. The message is the rest of a sentence whose subject is the server."""

    code = "NOT_REACHED"
    next_step = "Check the address in the settings, and whether the server is up."


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    body: bytes = field(repr=False)
    retry_after: str = field(default="", compare=False)
    """What the header of that name says, as it came."""


def get(url: str, *, headers: Mapping[str, str], seconds: float, most_bytes: int) -> Reply:
    """Return the answer to one GET, redirects not followed. Raises NotReached."""
    return _exchange("GET", url, None, headers=headers, seconds=seconds, most_bytes=most_bytes)


def post(url: str, body: bytes, *, headers: Mapping[str, str], seconds: float, most_bytes: int) -> Reply:
    """Return the answer to one POST, redirects not followed. Raises NotReached: it may have arrived all the same."""
    return _exchange("POST", url, body, headers=headers, seconds=seconds, most_bytes=most_bytes)


def _exchange(
    method: str, url: str, sending: bytes | None, *, headers: Mapping[str, str], seconds: float, most_bytes: int
) -> Reply:
    """Return the answer to one request. Raises NotReached.

    ``seconds`` is for all of it. A compressed answer is refused, because a small one can unfold into any size. The
    environment's proxies are not used: the request carries a credential.
    """
    deadline = time.monotonic() + seconds
    sent = {**headers, "Accept": "application/json", "Accept-Encoding": "identity"}
    try:
        with (
            httpx2.Client(verify=_certificates(), trust_env=False, follow_redirects=False, timeout=seconds) as client,
            client.stream(method, url, headers=sent, content=sending) as response,
        ):
            if response.headers.get("content-encoding", "identity").lower() != "identity":
                raise NotReached("sent a compressed answer, which was not asked for")
            body = bytearray()
            for chunk in response.iter_raw():
                body += chunk
                if len(body) > most_bytes:
                    raise NotReached(f"sent more than {most_bytes} bytes")
                if time.monotonic() > deadline:
                    raise NotReached("did not answer in time")
            return Reply(response.status_code, bytes(body), response.headers.get("retry-after", ""))
    except httpx2.TimeoutException:
        raise NotReached("did not answer in time") from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise NotReached(f"could not be reached ({type(error).__name__})") from None


@cache
def _certificates() -> SSLContext:
    """Return the trusted certificates, which take longer to read than a request to prepare."""
    return httpx2.create_ssl_context()
