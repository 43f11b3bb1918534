"""How long something took."""

import time


def ms_since(began: float) -> int:
    """Return whole milliseconds since ``began`` of ``time.monotonic``."""
    return round((time.monotonic() - began) * 1000)
