"""One tenant's account at AWS, as a call sees it: with the credentials that were lent for it, in one region.

The SDK signs requests and reads answers. It sends nothing itself, takes no credentials or settings from the
environment, and tries nothing again: that is the runtime's business.
"""

import os
from collections.abc import Iterator, Mapping
from functools import cache
from io import BytesIO
from typing import Any, NoReturn

import botocore.loaders
import botocore.session
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.conf import settings

from agentops.kernel.canonical import BadJSON, parse_json
from agentops.kernel.errors import FailureKind
from agentops.net.http import NotReached
from agentops.registry.secret import Secret
from agentops.registry.tool import ToolFailure
from sre_agent.connectors.cloudwatch.errors import Lost, failure_of
from sre_agent.connectors.vendor_door import SECONDS, UnsafeAddress, sent

HOSTS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")
CREDENTIALS = ("access_key_id", "secret_access_key")
_ASKED = {
    "filter_log_events": ("logs", "logs:FilterLogEvents", "events"),
    "get_metric_data": ("cloudwatch", "cloudwatch:GetMetricData", "MetricDataResults"),
}
"""Of each operation its service, the permission that it needs, and what an answer always has."""


class Account:
    """Reads from the logs and metrics of an account."""

    def __init__(self, credentials: Mapping[str, str], region: str) -> None:
        self._credentials = credentials
        self._region = region

    def asked(self, operation: str, **params: Any) -> Mapping[str, Any]:
        """Return the answer to one request. Raises ToolFailure."""
        service, action, always = _ASKED[operation]
        try:
            answer: Mapping[str, Any] = getattr(self._client(service), operation)(**params)
        except (ClientError, BotoCoreError, Lost) as error:
            raise failure_of(error, action) from None
        if not isinstance(answer.get(always), list):
            # The SDK takes what is no JSON for an answer that says nothing.
            raise ToolFailure(FailureKind.UNAVAILABLE, "CloudWatch's answer cannot be read.")
        return answer

    def pages(self, operation: str, token: str, most: int, **params: Any) -> Iterator[Mapping[str, Any]]:
        """Yield at most ``most`` pages of an answer; ``token`` names the field in which the next one is named.

        Raises ToolFailure.
        """
        further: dict[str, str] = {}
        for _ in range(most):
            page = self.asked(operation, **params, **further)
            yield page
            name = page.get(token)
            if not name or further.get(token) == name:
                return
            further[token] = str(name)

    def _client(self, service: str) -> Any:
        session = botocore.session.Session(session_vars=_NOTHING)
        session.register_component("data_loader", _loader())
        client = session.create_client(
            service,
            region_name=self._region,
            endpoint_url=settings.CLOUDWATCH_URL or None,
            aws_access_key_id=self._credentials["access_key_id"],
            aws_secret_access_key=self._credentials["secret_access_key"],
            aws_session_token=self._credentials.get("session_token"),
            config=Config(retries={"total_max_attempts": 1, "mode": "standard"}, ignore_configured_endpoint_urls=True),
        )
        client.meta.events.register("before-send", _carried)
        return client


_NOTHING = {
    "profile": (None, None, None, None),
    "config_file": (None, None, os.devnull, None),
    "credentials_file": (None, None, os.devnull, None),
}
"""The SDK reads neither profiles nor files of the machine."""


@cache
def _loader() -> botocore.loaders.Loader:
    """Return what reads descriptions of services, which takes longer than a request."""
    return botocore.loaders.create_loader()


def _carried(request: AWSPreparedRequest, **_: object) -> AWSResponse:
    """Carry a signed request out on the house's one door. Raises Lost."""
    headers = {
        name: value.decode() if isinstance(value, bytes) else str(value) for name, value in request.headers.items()
    }
    body = request.body.encode() if isinstance(request.body, str) else request.body
    try:
        reply = sent(request.method, request.url, body, headers, HOSTS, SECONDS)
    except (NotReached, UnsafeAddress) as cause:
        raise Lost(cause) from None
    return AWSResponse(request.url, reply.status, reply.headers, _Raw(reply.body))


class _Raw(BytesIO):
    """A body in the form in which the SDK reads one."""

    def stream(self, **_: object) -> Iterator[bytes]:
        yield self.read()


def opened(secret: Secret | None, region: str) -> Account:
    """Return the account whose credentials were lent. Raises ToolFailure AUTH for none, or ones of another form.

    They are JSON: ``access_key_id``, ``secret_access_key``, and ``session_token`` when they are temporary.
    """
    if secret is None:
        _unfit()
    try:
        told = parse_json(secret.reveal())
    except BadJSON:
        _unfit()
    if not isinstance(told, dict) or not set(CREDENTIALS) <= set(told) <= {*CREDENTIALS, "session_token"}:
        _unfit()
    found = {
        name: value for name, value in told.items() if isinstance(value, str) and value.isascii() and value.strip()
    }
    if len(found) != len(told):
        _unfit()
    return Account(found, region)


def _unfit() -> NoReturn:
    words = "There are no credentials for AWS: JSON with access_key_id, secret_access_key, and perhaps session_token."
    raise ToolFailure(FailureKind.AUTH, words) from None
