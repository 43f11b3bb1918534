"""Settings of the drill and its workers: the role that is drilled, the drill's person, and a scratch database.

``agentops.chaos.site`` makes the database and tells worker processes its name by AGENTOPS_TEST_DATABASE.
CHAOS_ROLE names the role.
"""

import os

from agentops.settings.test import *  # noqa: F403
from agentops.settings.test import INSTALLED_APPS, LOGGING, ROLES

INSTALLED_APPS = [*INSTALLED_APPS, "agentops.chaos"]
# Roles that can be drilled; the one that is stands in place of all others, as its drill needs it.
DRILL_ROLES = ["agentops.chaos.role.ROLE", *ROLES]
DRILLED = os.environ.get("CHAOS_ROLE", "drill")
ROLES = ["agentops.chaos.drilled.ROLE"]
APPROVAL_GATE = "agentops.chaos.gate.Gate"

# A killed worker's session goes on as soon as a living one can be told from it.
LEASE_SECONDS = 1
# Longer than a stopped worker stands still before it goes on, and than the vendor takes for what it does late.
RECONCILE_AFTER_SECONDS = 10

# A ring of the drill must never reach the workers of an installation.
REDIS_URL = ""
CELERY_BROKER_URL = "memory://localhost/"
CELERY_BROKER_TRANSPORT_OPTIONS = {"polling_interval": 0.05}
CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

# Thousands of faults are meant; what a worker says about them would hide what is not.
LOGGING = {**LOGGING, "root": {**LOGGING["root"], "level": "ERROR"}}
