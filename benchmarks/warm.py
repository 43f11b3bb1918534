"""Loaded once by the fork server, so that a worker process starts in milliseconds instead of seconds."""

from importlib import import_module

import django

django.setup()
# Everything that a worker needs besides the apps; none of it connects to anything.
for name in ("agentops.runtime.tasks", "agentops.runtime.loop", "support_agent.role", "approvals.gate"):
    import_module(name)
