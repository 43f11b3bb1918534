"""Settings of an installation that several tests may run at once on one Redis: every key has a prefix of its own."""

import os
from pathlib import Path
from typing import Any

from celery.signals import worker_ready

from agentops.settings.test import *  # noqa: F403
from agentops.settings.test import CELERY_BROKER_TRANSPORT_OPTIONS, CHANNEL_LAYERS

_PREFIX = os.environ["APART_PREFIX"]
CELERY_BROKER_TRANSPORT_OPTIONS = {  # type: ignore[assignment] # the options of a transport are of many types
    **CELERY_BROKER_TRANSPORT_OPTIONS,
    "global_keyprefix": _PREFIX,
}
CHANNEL_LAYERS["default"]["CONFIG"]["prefix"] = f"{_PREFIX}live"


@worker_ready.connect  # type: ignore[untyped-decorator] # celery has no types
def say_ready(**_: Any) -> None:
    """Leave a file named by the process, so that work begins when every worker listens."""
    (Path(os.environ["APART_FOLDER"]) / f"ready-{os.getpid()}").touch()
