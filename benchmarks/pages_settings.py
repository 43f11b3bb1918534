"""Settings of the pages' benchmark: those of the runtime's, with the roles, people and assets of the demo."""

from agentops.settings.base import ROLES as INSTALLED
from agentops.settings.demo import DEMO_ACCOUNTS as ACCOUNTS
from benchmarks.runtime_settings import *  # noqa: F403

ROLES = INSTALLED
DEMO_ACCOUNTS = ACCOUNTS
ALLOWED_HOSTS = ["testserver"]
