"""Settings of a worker that stops in the middle of its first write until a file lets it go on."""

import os
import time
from pathlib import Path
from typing import Any

from celery.signals import worker_ready, worker_shutting_down

from tests.crash.settings_apart import *  # noqa: F403

_FOLDER = Path(os.environ["APART_FOLDER"])
PATIENCE = 60


@worker_ready.connect  # type: ignore[untyped-decorator] # celery has no types
def hold_first_write(**_: Any) -> None:
    """Let the first write that is about to be made wait, and begin to work."""
    from agentops.gateway import execute  # noqa: PLC0415 - needs the settings
    from agentops.runtime import doorbell  # noqa: PLC0415 - needs the settings

    write = execute.write

    def held(*arguments: Any, **named: Any) -> Any:
        (_FOLDER / "writing").touch()
        deadline = time.monotonic() + PATIENCE
        while not (_FOLDER / "go-on").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        return write(*arguments, **named)

    execute.write = held
    doorbell.ring()


@worker_shutting_down.connect  # type: ignore[untyped-decorator] # celery has no types
def say_ending(**_: Any) -> None:
    """Leave a file once the signal has arrived."""
    (_FOLDER / "ending").touch()
