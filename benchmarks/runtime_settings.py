"""Settings of the runtime's benchmark: a role of its own, commits that are safe, and connections from a pool."""

import os
from pathlib import Path
from typing import Any

from agentops.settings.test import *  # noqa: F403
from agentops.settings.test import CELERY_BROKER_TRANSPORT_OPTIONS, CHANNEL_LAYERS, DATABASE_POOL, DATABASES, REDIS_URL

PREFIX = os.environ.get("BENCHMARK_PREFIX", "benchmark:")
"""Before every key in Redis, so that the benchmark rings nobody else's workers."""

ROLES = ["benchmarks.runtime_role.ROLE"]
LOGGING_CONFIG = None

_database: dict[str, Any] = DATABASES["default"]
_options: dict[str, Any] = _database["OPTIONS"]
_database["OPTIONS"] = {
    **_options,
    "options": f"{_options['options']} -c synchronous_commit=on",
    # As in production, but with room for every thread of a throughput run.
    "pool": {**DATABASE_POOL, "max_size": 64},
}
if "EMBEDDED" in _database:
    # The server of the tests does not wait for the disk; a durable step does.
    _database["EMBEDDED"] = {
        "base": Path(os.environ["BENCHMARK_FOLDER"]),
        "name": "benchmark",
        "durable": True,
    }

CELERY_IMPORTS = ["agentops.runtime.tasks", "benchmarks.runtime_tasks"]
if REDIS_URL:
    CELERY_BROKER_TRANSPORT_OPTIONS = {  # type: ignore[assignment] # the options of a transport are of many types
        **CELERY_BROKER_TRANSPORT_OPTIONS,
        "global_keyprefix": PREFIX,
    }
    CHANNEL_LAYERS["default"]["CONFIG"]["prefix"] = f"{PREFIX}live"
