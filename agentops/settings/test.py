"""Tests: DATABASE_URL and REDIS_URL when they are set, otherwise an embedded server for this run only."""

import os

from agentops.settings.base import *  # noqa: F403
from agentops.settings.base import DATABASE_OPTIONS, DEMO_DIR
from agentops.settings.readers import ENVIRONMENT

SECRET_KEY = "only-for-tests-" + "0" * 50
VAULT_KEY = "b25seS1mb3ItdGVzdHMtb25seS1mb3ItdGVzdHMtMTI="  # 32 bytes that everybody knows
ALLOWED_HOSTS = ["testserver", "localhost", "127.0.0.1"]

# Parallel test processes are started by this one and share its server through the environment.
_DATABASE = ENVIRONMENT.database("DATABASE_URL") or {
    "ENGINE": "agentops.embedded.backend",
    "NAME": "agentops",
    "EMBEDDED": {
        "base": DEMO_DIR,
        "name": os.environ.setdefault("AGENTOPS_TEST_CLUSTER", f"test-{os.getpid()}"),
        "durable": False,
    },
}
# A worker process that a test starts works on that test's database.
_DATABASE["NAME"] = os.environ.get("AGENTOPS_TEST_DATABASE", _DATABASE["NAME"])
_DATABASE["OPTIONS"] = {**_DATABASE.get("OPTIONS", {}), **DATABASE_OPTIONS}
DATABASES = {"default": _DATABASE}

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = []
SERVESTATIC_USE_FINDERS = True

# What one run counts, no other one finds.
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

# Who decides in scenarios: an implementation of agentops.evals.ports.People. No installation that works names one.
SCENARIO_PEOPLE = "approvals.rehearsal.People"

# Approved means carried out next, unless a test says otherwise.
APPROVAL_UNDO_SECONDS = 0

# Whoever looks finds what there is to find, unless a test says otherwise.
RECONCILE_AFTER_SECONDS = 0

# Nobody is told anything, unless a test says otherwise.
SITE_URL = ""
MAIL_FROM = ""
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"

# No test finds a credential of the machine it runs on.
TOOL_ENVIRONMENT = "sandbox"
SECRET_SOURCE = "environment"  # noqa: S105 - where from, not what

# Nothing is signed or sent, unless a test says otherwise.
LEDGER_KEY = ""
LEDGER_ORIGIN = ""
LEDGER_SINKS = []
LEDGER_LAG_STOPS_WRITES = False

# No test reaches a model by accident of the environment it runs in.
AGENT_MODEL = ""
AGENT_MODEL_URL = ""
AGENT_MODEL_KEY = ""
AGENT_MODEL_PER_MINUTE = 0
