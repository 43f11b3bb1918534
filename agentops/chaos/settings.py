"""Settings of the drill and its workers: the drill's own role, people and vendor, and a scratch database.

``agentops.chaos.site`` makes the database and tells worker processes its name by AGENTOPS_TEST_DATABASE.
"""

from agentops.settings.test import *  # noqa: F403
from agentops.settings.test import INSTALLED_APPS, LOGGING

INSTALLED_APPS = [*INSTALLED_APPS, "agentops.chaos"]
ROLES = ["agentops.chaos.role.ROLE"]
APPROVAL_GATE = "agentops.chaos.gate.Gate"

# A killed worker's session goes on as soon as a living one can be told from it.
LEASE_SECONDS = 1

# A ring of the drill must never reach the workers of an installation.
REDIS_URL = ""
CELERY_BROKER_URL = "memory://localhost/"
CELERY_BROKER_TRANSPORT_OPTIONS = {"polling_interval": 0.05}
CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

# Thousands of faults are meant; what a worker says about them would hide what is not.
LOGGING = {**LOGGING, "root": {**LOGGING["root"], "level": "ERROR"}}
