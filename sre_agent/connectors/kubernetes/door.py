"""One cluster as a call sees it: with the token that was lent for it, and never another cluster than the one meant."""

import json
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from kubernetes.client import ApiClient, Configuration

from agentops.kernel.errors import FailureKind
from agentops.net.http import NotReached, Reply, exchange
from agentops.registry.secret import Secret
from agentops.registry.tool import OutcomeUnknown, ToolFailure
from sre_agent.connectors import cluster_settings
from sre_agent.connectors.kubernetes.errors import failure_of, lost, write_failure_of, write_lost
from sre_agent.connectors.kubernetes.objects import Obj, items, part, text, uid_of
from sre_agent.connectors.kubernetes.requests import Request

SECONDS = 15.0
MOST_BYTES = 8_000_000
PAGE = 250
MOST_OBJECTS = 5_000
MANAGER = "agentops"
SAME_FOR_S = 60.0
_IDENTITY = "/api/v1/namespaces/kube-system"
_VERBS = {"GET": "get", "PATCH": "patch", "POST": "create", "DELETE": "delete"}
_known: dict[tuple[str, str], float] = {}


@dataclass(frozen=True)
class Cluster:
    """Reads and sends. ``place`` is what people call the cluster, ``namespaces`` where its services are."""

    client: Any
    place: str
    namespaces: tuple[str, ...]

    def one(self, path: str, resource: str) -> Obj | None:
        """Return one object, None when there is none. Raises ToolFailure."""
        reply = self._read(path, {})
        if reply.status == 404:
            return None
        return self._answer(reply, "get", resource)

    def listed(self, path: str, resource: str, **query: str) -> list[Obj]:
        """Return the objects of a list, page by page. Raises ToolFailure, also when they are more than MOST_OBJECTS."""
        found: list[Obj] = []
        more = ""
        # A page may be empty though more of them follow, so that objects alone are no bound.
        for _ in range(1 + 4 * MOST_OBJECTS // PAGE):
            asked = {**query, "limit": str(PAGE), **({"continue": more} if more else {})}
            page = self._answer(self._read(path, asked), "list", resource)
            found += items(page, "items")
            more = part(page, "metadata", "continue") or ""
            if not isinstance(more, str) or not more:
                return found
            if len(found) >= MOST_OBJECTS:
                break
        raise ToolFailure(FailureKind.UNAVAILABLE, f"There are more than {MOST_OBJECTS} {resource}.")

    def send(self, request: Request) -> Obj:
        """Send a request that changes something and return the answer. Raises ToolFailure or OutcomeUnknown."""
        verb = _VERBS[request.method]
        try:
            reply = self._call(request, _manager(request))
        except NotReached as cause:
            raise write_lost(cause) from None
        if not 200 <= reply.status < 300:
            raise write_failure_of(reply, verb, request.resource, self._words(_json(reply)))
        answer = _json(reply)
        if answer is None:
            raise OutcomeUnknown("Kubernetes gave an answer that cannot be read.")
        return answer

    def try_out(self, request: Request) -> Obj:
        """Return what the server would make of a request, without making it. Raises ToolFailure."""
        try:
            # The server reads the options of a deletion from the body, and then not from the address.
            body = {**request.body, "dryRun": ["All"]} if request.method == "DELETE" else request.body
            reply = self._call(replace(request, body=body), {"dryRun": "All", **_manager(request)})
        except NotReached as cause:
            raise lost(cause) from None
        return self._answer(reply, _VERBS[request.method], request.resource)

    def require_same(self) -> None:
        """Require that this is the cluster that the settings name, known for a minute. Raises ToolFailure AUTH."""
        known = (self.client.configuration.host, str(settings.KUBERNETES_CLUSTER))
        if time.monotonic() < _known.get(known, 0.0):
            return
        found = self.one(_IDENTITY, "namespaces")
        if not known[1] or found is None or uid_of(found) != known[1]:
            raise ToolFailure(
                FailureKind.AUTH, f"The address of {self.place} leads to another cluster than the one that is meant."
            )
        _known[known] = time.monotonic() + SAME_FOR_S

    def _answer(self, reply: Reply, verb: str, resource: str) -> Obj:
        answer = _json(reply)
        if not 200 <= reply.status < 300:
            raise failure_of(reply, verb, resource, self._words(answer))
        if answer is None:
            raise ToolFailure(FailureKind.UNAVAILABLE, "Kubernetes gave an answer that cannot be read.")
        return answer

    def _words(self, answer: Obj | None) -> str:
        """Return what the server says, without the token: whatever stands before a cluster may repeat a request.

        It is taken out before anything is cut, as a part of it would not be found. Not every reader's words are
        scrubbed: pages and work by the calendar borrow the token themselves.
        """
        token = str(self.client.configuration.api_key["authorization"]).removeprefix("Bearer ")
        return text(answer, "message", most=MOST_BYTES).replace(token, "…")[:1_000]

    def _read(self, path: str, query: Mapping[str, str]) -> Reply:
        try:
            return self._call(Request("GET", path, "", None), query)
        except NotReached as cause:
            raise lost(cause) from None

    def _call(self, request: Request, query: Mapping[str, str]) -> Reply:
        reply: Reply = self.client.call_api(
            request.path,
            request.method,
            query_params=list(query.items()),
            header_params={"Content-Type": request.content_type},
            body=request.body,
            auth_settings=["BearerToken"],
            _preload_content=False,
        )
        return reply


def forget() -> None:
    """Look again, at the next contact, which cluster it is."""
    _known.clear()


def opened(secret: Secret | None) -> Cluster:
    """Return the cluster whose token was lent, once it is known to be the right one. Raises ToolFailure."""
    token = "" if secret is None else secret.reveal().strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ToolFailure(FailureKind.AUTH, "There is no token for Kubernetes.")
    host, trusted = _settled()
    configuration = Configuration()
    configuration.host = host
    configuration.api_key = {"authorization": f"Bearer {token}"}
    client = ApiClient(configuration)
    # The client's own transport follows redirects, tries again by itself and reads answers of any size.
    client.request = partial(_carried, trusted)
    cluster = Cluster(client, str(settings.KUBERNETES_CONTEXT), tuple(settings.KUBERNETES_NAMESPACES))
    cluster.require_same()
    return cluster


def _settled() -> tuple[str, ssl.SSLContext | None]:
    """Return where the cluster is, and what its certificate is verified with. Raises ToolFailure."""
    host = cluster_settings.address()
    try:
        if host:
            return host, cluster_settings.certificates(str(settings.KUBERNETES_CA_FILE))
    except OSError:
        pass
    raise ToolFailure(FailureKind.VALIDATION, "The settings of Kubernetes cannot be used: see manage.py check.")


def _carried(
    trusted: ssl.SSLContext | None,
    method: str,
    url: str,
    *,
    query_params: list[tuple[str, str]],
    headers: Mapping[str, str],
    body: Any,
    **_: Any,
) -> Reply:
    """Carry a request of the client out once. Raises NotReached."""
    full = f"{url}?{urlencode(query_params)}" if query_params else url
    sending = None if body is None else json.dumps(body).encode()
    return exchange(
        method, full, sending, headers=headers, seconds=SECONDS, most_bytes=MOST_BYTES, certificates=trusted
    )


def _manager(request: Request) -> dict[str, str]:
    return {} if request.method == "DELETE" else {"fieldManager": MANAGER}


def _json(reply: Reply) -> Obj | None:
    try:
        found = json.loads(reply.body)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
