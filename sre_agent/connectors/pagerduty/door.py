"""One tenant's account at PagerDuty, as a call sees it: with the key that was lent for it, in a user's name."""

from collections.abc import Iterator, Mapping
from typing import Any

import httpx2
import pagerduty
from django.conf import settings

from agentops.kernel.canonical import BadJSON, parse_json
from agentops.kernel.errors import FailureKind
from agentops.net.http import NotReached
from agentops.registry.secret import Secret
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from sre_agent.connectors.pagerduty.errors import failure_of, lost
from sre_agent.connectors.vendor_door import MOST_BYTES, PAGERDUTY_HOSTS, UnsafeAddress, sent

SECONDS = 15.0
PAGE = 100
MOST_PAGES = 20
Obj = Mapping[str, Any]
_OWN = frozenset({"accept", "accept-encoding", "connection", "content-length", "host"})
"""Headers that the door sets itself."""


class Account:
    """Reads and sends."""

    def __init__(self, client: pagerduty.RestApiV2Client) -> None:
        self._client = client

    def one(self, path: str, name: str) -> Obj | None:
        """Return one object, None when there is none. Raises ToolFailure."""
        try:
            return _object(self._asked("GET", path), name)
        except ToolFailure as failure:
            if failure.kind is FailureKind.NOT_FOUND:
                return None
            raise

    def listed(self, path: str, name: str, **params: Any) -> Iterator[Obj]:
        """Yield the objects of a list, page by page. Raises ToolFailure, also when it does not end."""
        for page in range(MOST_PAGES):
            answer = self._asked("GET", path, params={**params, "limit": PAGE, "offset": page * PAGE})
            found = answer.get(name)
            if not isinstance(found, list):
                raise ToolFailure(FailureKind.UNAVAILABLE, "PagerDuty's answer cannot be read.")
            yield from (each for each in found if isinstance(each, dict))
            if answer.get("more") is not True:
                return
        raise ToolFailure(FailureKind.UNAVAILABLE, f"PagerDuty has too many {name.replace('_', ' ')} to read.")

    def sent(self, method: str, path: str, body: Obj, name: str) -> Obj:
        """Send a write and return what it made. Raises ToolFailure when it had no effect, else OutcomeUnknown."""
        found = _object(self._asked(method, path, json=dict(body), writes=True), name)
        if found is None:
            raise OutcomeUnknown("PagerDuty's answer does not say what became of the request.")
        return found

    def _asked(self, method: str, path: str, *, writes: bool = False, **more: Any) -> Obj:
        try:
            response = self._client.request(method, path, **more)
        except _Waiting as waiting:
            raise failure_of(429, {}, waiting.headers, writes=writes) from None
        except pagerduty.HttpError as error:
            # Only for 401 and redirects; the SDK's words hold the end of the key.
            status = 500 if error.response is None else error.response.status_code
            raise failure_of(status, {}, {}, writes=writes) from None
        except NotReached as cause:
            raise lost(cause, writes=writes) from None
        except UnsafeAddress as error:
            raise ToolFailure(FailureKind.VALIDATION, error.in_full) from None
        answer = _read(response.content)
        if not response.is_success:
            raise failure_of(response.status_code, answer, response.headers, writes=writes)
        return answer


def _read(body: bytes) -> Obj:
    try:
        told = parse_json(body, max_bytes=MOST_BYTES)
    except BadJSON:
        return {}
    return told if isinstance(told, dict) else {}


def _object(answer: Obj, name: str) -> Obj | None:
    found = answer.get(name)
    return found if isinstance(found, dict) and isinstance(found.get("id"), str) else None


class _Waiting(Exception):
    """PagerDuty asks to wait. The SDK would, for as long as it takes; here the runtime does."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        super().__init__("429")
        self.headers = headers


class _Transport(httpx2.BaseTransport):
    """Carries each request of the SDK out once, on the house's one door. Its NotReached is passed on by the SDK."""

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        headers = {name: value for name, value in request.headers.items() if name.lower() not in _OWN}
        reply = sent(request.method, str(request.url), request.read() or None, headers, PAGERDUTY_HOSTS, SECONDS)
        if reply.status == 429:
            raise _Waiting(reply.headers)
        return httpx2.Response(reply.status, headers={"date": ""}, stream=httpx2.ByteStream(reply.body))


class _Client(pagerduty.RestApiV2Client):
    """The SDK's client, which would refuse a server on this machine; which hosts are right, the door says."""

    @property
    def url(self) -> str:
        return str(settings.PAGERDUTY_URL).rstrip("/")

    @url.setter
    def url(self, new_base_url: str) -> None:
        """Leave it at what the settings say."""


def opened(secret: Secret | None, sender: str) -> Account:
    """Return the account whose key was lent. Raises ToolFailure AUTH without one."""
    key = "" if secret is None else secret.reveal().strip()
    if not key or not key.isascii() or not key.isprintable():
        raise ToolFailure(FailureKind.AUTH, "There is no key for PagerDuty.")
    client = _Client(key, default_from=sender, transport=_Transport(), trust_env=False)
    client.retry = {}
    return Account(client)
