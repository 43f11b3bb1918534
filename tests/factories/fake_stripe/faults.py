"""What goes wrong on purpose: scripted by tests, one call at a time."""

import json
import re
import threading
from dataclasses import dataclass, field

from tests.factories.fake_stripe.errors import ApiError

STATUS, CUT, GARBAGE, HUGE, HOLD = "status", "cut", "garbage", "huge", "hold"
BEFORE, DURING, AFTER = "before", "during", "after"
HUGE_BYTES = 64 * 1024 * 1024


@dataclass
class Fault:
    """Happens to the next ``times`` calls whose ``METHOD /path`` matches ``call``, after ``skip`` that do not.

    ``kind`` is ``status`` (an answer of ``status``; before the effect unless ``when`` is ``after``), ``cut`` (the
    connection ends), ``garbage`` (200 with what is no JSON), ``huge`` (200 with a body of many megabytes) or ``hold``
    (the call waits until ``release``, at most ``seconds``; ``during`` it is under way, so that its key is in flight).
    ``kept`` keeps the answer of a status that comes after the effect under the key.
    """

    call: str
    kind: str
    when: str = BEFORE
    times: int = 1
    skip: int = 0
    status: int = 500
    code: str | None = None
    retry_after: str | None = None
    kept: bool = False
    seconds: float = 30
    size: int = HUGE_BYTES
    seen: threading.Event = field(default_factory=threading.Event)
    released: threading.Event = field(default_factory=threading.Event)

    def hits(self, call: str) -> bool:
        """Return whether the fault happens to this call, counting it."""
        if self.times < 1 or re.search(self.call, call) is None:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True

    def wait(self) -> None:
        """Wait until the call may go on."""
        self.seen.set()
        self.released.wait(self.seconds)

    def release(self) -> None:
        """Let the calls go on that are held, and those to come."""
        self.released.set()

    def error(self) -> ApiError:
        """Return the answer of a ``status``."""
        headers = {} if self.retry_after is None else {"Retry-After": self.retry_after}
        words, kind, code = _WORDS.get(self.status, ("Sorry, there was an error on our end.", "api_error", None))
        return ApiError(self.status, words, kind=kind, code=self.code or code, headers=headers)

    def body(self) -> bytes:
        """Return the body of ``garbage`` and ``huge``."""
        if self.kind == HUGE:
            return b'{"object": "list", "data": ["' + b"x" * self.size + b'"]}'
        return json.dumps("<html>").encode()[1:-1] + b"\xff\xfe Bad gateway"


_WORDS = {
    429: ("Request rate limit exceeded.", "invalid_request_error", "rate_limit"),
    409: ("There is currently another in-progress request.", "invalid_request_error", "idempotency_key_in_use"),
    401: ("Invalid API Key provided.", "invalid_request_error", None),
    403: ("The provided key does not have access.", "invalid_request_error", None),
}


@dataclass
class Script:
    """The faults that are still to come, the first that matches counts."""

    faults: list[Fault] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, fault: Fault) -> Fault:
        """Script a fault."""
        with self.lock:
            self.faults.append(fault)
        return fault

    def next(self, call: str) -> Fault | None:
        """Return what goes wrong with this call."""
        with self.lock:
            return next((fault for fault in self.faults if fault.hits(call)), None)

    def clear(self) -> None:
        """Let everything go right again."""
        with self.lock:
            for fault in self.faults:
                fault.release()
            self.faults.clear()
