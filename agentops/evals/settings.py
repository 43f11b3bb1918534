"""Settings of scenarios: the installation's own roles and approvals, on a scratch database, telling nobody.

``manage.py scenarios`` leaves AGENT_MODEL empty unless a model is to plan.
"""

from agentops.settings import base
from agentops.settings.test import *  # noqa: F403
from agentops.settings.test import LOGGING

AGENT_MODEL, AGENT_MODEL_URL, AGENT_MODEL_KEY = base.AGENT_MODEL, base.AGENT_MODEL_URL, base.AGENT_MODEL_KEY
AGENT_MODEL_PER_MINUTE = base.AGENT_MODEL_PER_MINUTE

# A ring must never reach the workers of an installation.
REDIS_URL = ""
CELERY_BROKER_URL = "memory://localhost/"
CELERY_BROKER_TRANSPORT_OPTIONS = {"polling_interval": 0.05}
CHANNEL_LAYERS = {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}

# Failures are meant; what a worker says about them would hide what is not.
LOGGING = {**LOGGING, "root": {**LOGGING["root"], "level": "CRITICAL"}}
