"""Loaded once by the fork server, so that a new worker costs milliseconds. Nothing here connects to anything."""

import gc
from importlib import import_module

import django
from celery import current_app

django.setup()
current_app.finalize()
for name in ("agentops.runtime.tasks", "agentops.runtime.loop", "agentops.chaos.worker"):
    import_module(name)
for tool in import_module("agentops.chaos.drilled").ROLE.tools:
    for _compiled in (tool.checks_input, tool.checks_output):
        pass
# What is here stays: no worker has to walk over it, and copy its pages by doing so.
gc.freeze()
