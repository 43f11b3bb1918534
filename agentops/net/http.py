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

# What fails before anything of a request leaves.
_UNSENT = (
    httpx2.ConnectError,
    httpx2.ConnectTimeout,
    httpx2.PoolTimeout,
    httpx2.InvalidURL,
    httpx2.UnsupportedProtocol,
)


class NotReached(AgentOpsError):
    """No answer that could be read. The message is the rest of a sentence whose subject is the server."""

    code = "NOT_REACHED"
    next_step = "Check the address in the settings, and whether the server is up."

    def __init__(self, message: str, *, unsent: bool = False, late: bool = False) -> None:
        super().__init__(message)
        self.unsent = unsent
        """No connection was made, so the request certainly did not arrive."""
        self.late = late
        """The time was over."""


@dataclass(frozen=True)
class Reply:
    """What came back."""

    status: int
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)
    """Their names in small letters, as they came."""

    @property
    def retry_after(self) -> str:
        """What the header of that name says, empty without it."""
        return self.headers.get("retry-after", "")


def get(url: str, *, headers: Mapping[str, str], seconds: float, most_bytes: int) -> Reply:
    """Return the answer to one GET, redirects not followed. Raises NotReached."""
    return exchange("GET", url, None, headers=headers, seconds=seconds, most_bytes=most_bytes)


def post(url: str, body: bytes, *, headers: Mapping[str, str], seconds: float, most_bytes: int) -> Reply:
    """Return the answer to one POST, redirects not followed. Raises NotReached: it may have arrived all the same."""
    return exchange("POST", url, body, headers=headers, seconds=seconds, most_bytes=most_bytes)


def exchange(
    method: str,
    url: str,
    sending: bytes | None,
    *,
    headers: Mapping[str, str],
    seconds: float,
    most_bytes: int,
    certificates: SSLContext | None = None,
) -> Reply:
    """Return the answer to one request. Raises NotReached: unless it says ``unsent``, it may have arrived all the same.

    ``seconds`` is for all of it. A compressed answer is refused, because a small one can unfold into any size. The
    environment's proxies are not used: the request carries a credential. ``certificates`` are trusted instead of the
    usual ones.
    """
    deadline = time.monotonic() + seconds
    sent = {**headers, "Accept": "application/json", "Accept-Encoding": "identity"}
    try:
        with (
            httpx2.Client(
                verify=certificates or _certificates(), trust_env=False, follow_redirects=False, timeout=seconds
            ) as client,
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
                    raise NotReached("did not answer in time", late=True)
            return Reply(response.status_code, bytes(body), dict(response.headers))
    except httpx2.TimeoutException as error:
        raise NotReached("did not answer in time", unsent=isinstance(error, _UNSENT), late=True) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise NotReached(f"could not be reached ({type(error).__name__})", unsent=isinstance(error, _UNSENT)) from None


@cache
def _certificates() -> SSLContext:
    """Return the trusted certificates, which take longer to read than a request to prepare."""
    return httpx2.create_ssl_context()
