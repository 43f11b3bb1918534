"""The role's connector: calls the vendor and turns its answers into outcomes."""

import http.client
import json
from typing import Any

from agentops.kernel.errors import FailureKind
from agentops.registry.tool import OutcomeUnknown, ToolFailure

TIMEOUT_S = 0.6
_KINDS = {429: FailureKind.RATE_LIMIT, 503: FailureKind.UNAVAILABLE, 422: FailureKind.VALIDATION}

Answer = tuple[int, dict[str, Any]]
"""Status and body."""
_port = 0


def connect(port: str) -> None:
    """Say where the vendor of this process listens."""
    global _port  # noqa: PLW0603 - one vendor a process
    _port = int(port)


def call(body: dict[str, Any]) -> dict[str, Any]:
    """Make a call. Raises ToolFailure when it certainly had no effect, OutcomeUnknown when nobody can say."""
    status, answer = _exchange("POST", "/calls", json.dumps(body))
    if status == 200:
        return answer
    kind = _KINDS.get(status)
    if kind is None:
        raise OutcomeUnknown(f"The vendor answered {status}.")
    raise ToolFailure(kind, "The vendor said no and did nothing.", retry_after=0.1 if status == 429 else None)


def balance_of(account: str) -> int:
    """Return the account's balance in minor units."""
    return int(_read(f"/accounts/{account}")["balance"])


def ask(key: str) -> dict[str, Any] | None:
    """Return the answer to an earlier call with this key, None when the vendor has not seen it."""
    status, answer = _exchange("GET", f"/keys/{key}")
    if status not in (200, 404):
        raise OutcomeUnknown(f"The vendor answered {status}.")
    return answer if status == 200 else None


def was_made(action: str, ref: str) -> bool:
    """Return whether the vendor's log has an effect of that name, as a person who looks there sees it."""
    return bool(_read(f"/effects/{action}/{ref}")["made"])


def books(*, patience: float) -> dict[str, Any]:
    """Return the vendor's ``balances`` and ``effects``."""
    return _read("/books", patience=patience)


def _read(path: str, *, patience: float = TIMEOUT_S) -> dict[str, Any]:
    status, answer = _exchange("GET", path, patience=patience)
    if status != 200:
        raise OutcomeUnknown(f"The vendor answered {status}.")
    return answer


def _exchange(method: str, path: str, body: str | None = None, *, patience: float = TIMEOUT_S) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", _port, timeout=patience)
    try:
        connection.request(method, path, body)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())
    finally:
        connection.close()
