"""How much work something is, counted and not timed: the same on every machine, however busy it is."""

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_of(act: Callable[[], Any]) -> int:
    """Return how many lines of Python ``act`` runs. Work inside one call of a library in C counts as its line."""
    lines = 0

    def traced(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return traced

    before = sys.gettrace()
    # What is collected meanwhile may run lines of its own.
    gc.disable()
    sys.settrace(traced)
    try:
        act()
    finally:
        sys.settrace(before)
        gc.enable()
    return lines
