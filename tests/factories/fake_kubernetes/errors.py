"""What the API server answers when it refuses: a Status."""

import json
from dataclasses import dataclass
from typing import Any

Obj = dict[str, Any]
REASONS = {
    400: "BadRequest",
    401: "Unauthorized",
    403: "Forbidden",
    404: "NotFound",
    409: "Conflict",
    422: "Invalid",
    429: "TooManyRequests",
    500: "InternalError",
    503: "ServiceUnavailable",
    504: "Timeout",
}


class Refusal(Exception):
    """The request is refused with a status code and words."""

    def __init__(self, code: int, words: str, reason: str = "") -> None:
        super().__init__(words)
        self.code, self.words, self.reason = code, words, reason or REASONS[code]

    def body(self) -> Obj:
        """Return the Status."""
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.words,
            "reason": self.reason,
            "code": self.code,
        }


@dataclass(frozen=True)
class Answer:
    """A status and a JSON body."""

    status: int
    body: Obj
    retry_after: str = ""

    def data(self) -> bytes:
        """Return the bytes that are sent."""
        return json.dumps(self.body).encode()


def missing(plural: str, name: str) -> Refusal:
    """Return the refusal for an object that is not there."""
    return Refusal(404, f'{plural} "{name}" not found')


def changed(plural: str, name: str) -> Refusal:
    """Return the refusal for an object that has been modified."""
    words = "the object has been modified; please apply your changes to the latest version and try again"
    return Refusal(409, f'Operation cannot be fulfilled on {plural} "{name}": {words}')
