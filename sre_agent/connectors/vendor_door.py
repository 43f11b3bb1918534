"""Where credentials of vendors may be sent: one bounded exchange, only with the vendor's own hosts."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from django.conf import settings

from agentops.kernel.errors import AgentOpsError
from agentops.net.http import Reply, exchange

SECONDS = 20.0
MOST_BYTES = 8_000_000
PAGERDUTY_HOSTS = ("api.pagerduty.com", "api.eu.pagerduty.com")
SLACK_HOSTS = ("slack.com",)
LONGEST_WAIT = 3_600.0
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class UnsafeAddress(AgentOpsError):
    """A credential would go to a host that is not the vendor's, or over plain HTTP."""

    code = "UNSAFE_ADDRESS"
    next_step = "Correct the address in the settings, or name its host in SRE_VENDOR_HOSTS."


def is_safe(url: str, hosts: tuple[str, ...]) -> bool:
    """Return whether a credential may go to an address: https, to one of ``hosts`` or of ``SRE_VENDOR_HOSTS``.

    One that begins with a dot stands for all hosts below it. Outside production this machine will do, also over HTTP.
    """
    try:
        address = urlsplit(url)
        host, port = (address.hostname or "").lower(), address.port
    except ValueError:
        return False
    if host in _LOOPBACK:
        return address.scheme in ("http", "https") and settings.TOOL_ENVIRONMENT != "production"
    if address.scheme != "https" or address.username is not None or port not in (None, 443):
        return False
    return any(_is_of(host, each) for each in (*hosts, *settings.SRE_VENDOR_HOSTS))


def _is_of(host: str, named: str) -> bool:
    return host.endswith(named) if named.startswith(".") else host == named


def sent(
    method: str, url: str, body: bytes | None, headers: Mapping[str, str], hosts: tuple[str, ...], seconds: float
) -> Reply:
    """Return the answer to one request. Raises UnsafeAddress, NotReached."""
    if not is_safe(url, hosts):
        raise UnsafeAddress(f"No credential is sent to {urlsplit(url).hostname}.")
    return exchange(method, url, body, headers=headers, seconds=seconds, most_bytes=MOST_BYTES)


def seconds_of(said: str, otherwise: float) -> float:
    """Return how long a ``Retry-After`` asks to wait, in seconds; ``otherwise`` when it says nothing of use."""
    fits = said.isascii() and said.isdigit() and len(said) < 6
    return min(max(float(said), 1.0), LONGEST_WAIT) if fits else otherwise
