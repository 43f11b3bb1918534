"""The demo: one process, a database of its own unless DATABASE_URL names one, accounts that everybody knows.

It answers to this machine only, because its passwords are published.
"""

from django.core.exceptions import ImproperlyConfigured

from agentops.embedded.secret import new_master_key, stored_secret
from agentops.ledger.keygen import new_key
from agentops.settings.base import *  # noqa: F403
from agentops.settings.base import (
    DATABASE_OPTIONS,
    DATABASE_POOL,
    DEMO_DIR,
    LEDGER_KEY,
    LOGGING,
    MAIL_FROM,
    VAULT_KEY,
)
from agentops.settings.readers import ENVIRONMENT

ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]"]

try:
    SECRET_KEY = ENVIRONMENT.secret("SECRET_KEY", "") or stored_secret(DEMO_DIR)
    LEDGER_KEY = LEDGER_KEY or stored_secret(DEMO_DIR, "ledger_key", make=lambda: new_key("demo.ledger").skey())
    VAULT_KEY = VAULT_KEY or stored_secret(DEMO_DIR, "vault_key", make=new_master_key)
except OSError as error:
    raise ImproperlyConfigured(f"The folder {DEMO_DIR} cannot be written: {error}.") from error

_DATABASE = ENVIRONMENT.database("DATABASE_URL") or {
    "ENGINE": "agentops.embedded.backend",
    "NAME": "agentops",
    "EMBEDDED": {"base": DEMO_DIR, "name": "demo", "durable": True},
}
_DATABASE["OPTIONS"] = {**_DATABASE.get("OPTIONS", {}), **DATABASE_OPTIONS, "pool": DATABASE_POOL}
# A server that was killed and came back must not be met through connections to the old one.
_DATABASE["CONN_HEALTH_CHECKS"] = True
DATABASES = {"default": _DATABASE}

# Callables without arguments that add what is missing and change nothing that is there, in this order.
DEMO_SEEDS = (
    "support_agent.seeds.seed_demo",
    "billing_agent.seeds.seed_demo",
    "sre_agent.seeds.seed_demo",
    "agentops.embedded.seed.seed_people_and_agents",
    "agentops.accounts.demo.seed_factors",
    "approvals.seeds.seed_demo",
    "approvals.insight.drills.seed_demo",
)
DEMO_ACCOUNTS = (
    {"name": "approver", "password": "demo", "role": "approver", "does": "decides what agents may do"},
    {"name": "second", "password": "demo", "role": "approver", "does": "decides too, where two people must"},
    {"name": "admin", "password": "demo", "role": "admin", "does": "runs the installation"},
    {"name": "support", "password": "demo", "role": "support", "does": "gives work to agents"},
)

if not MAIL_FROM:
    # Mail is written into a folder, to be looked at.
    EMAIL_BACKEND = "django.core.mail.backends.filebased.EmailBackend"
    EMAIL_FILE_PATH = str(DEMO_DIR / "mail")
    MAIL_FROM = "Control plane <approvals@example.com>"

SERVESTATIC_USE_FINDERS = True
LOGGING = {**LOGGING, "loggers": {**LOGGING["loggers"], "uvicorn": {"handlers": [], "level": "WARNING"}}}
