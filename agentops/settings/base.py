"""What every installation shares. Nothing here is a secret, and nothing here opens a door."""

from pathlib import Path
from typing import Any

from csp.constants import NONCE, NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.templatetags.static import static

from agentops.settings.readers import ENVIRONMENT

BASE_DIR = Path(__file__).resolve().parent.parent.parent
# Where an embedded database and the demo keep their files.
DEMO_DIR = Path(ENVIRONMENT.text("DEMO_DIR", str(BASE_DIR / ".demo"))).absolute()

DEBUG = False
ALLOWED_HOSTS: list[str] = []
ROOT_URLCONF = "agentops.urls"
ASGI_APPLICATION = "agentops.asgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

INSTALLED_APPS = [
    "unfold",  # replaces templates of the admin, so it stands before it
    "unfold.contrib.guardian",  # and of guardian
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.postgres",
    "django.contrib.humanize",
    "channels",
    "csp",
    "django_htmx",
    "guardian",
    "pgtrigger",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "rest_framework",
    "template_partials",
    "agentops",
    "approvals",
    "support_agent",
    "billing_agent",
    "sre_agent",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "servestatic.middleware.ServeStaticMiddleware",
    "agentops.middleware.ContentSecurityPolicyMiddleware",
    "agentops.middleware.BrowserIsolationMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # A view is private unless it says otherwise.
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "agentops.console.middleware.ReaderTimezoneMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "agentops.console.context_processors.shell",
            ],
        },
    },
]

# -- The product ---------------------------------------------------------------------------------------

# Every role that this installation knows, written out: dotted paths of RoleSpec values.
ROLES = ["support_agent.role.ROLE", "billing_agent.role.ROLE", "sre_agent.role.ROLE"]
# Who asks people: an implementation of agentops.runtime.ports.ApprovalGate.
APPROVAL_GATE = "approvals.gate.Gate"
# So long an approval can be taken back before anything is carried out; 0 means not at all.
APPROVAL_UNDO_SECONDS = ENVIRONMENT.number("APPROVAL_UNDO_SECONDS", 10, least=0, most=300)
# The age in seconds of a second factor that still counts when something irreversible is approved.
STEP_UP_SECONDS = ENVIRONMENT.number("STEP_UP_SECONDS", 300, least=30, most=300)
# One drill is served for so many decisions of a person in the queue's next-item mode; 0 means none.
APPROVAL_DRILL_EVERY = ENVIRONMENT.number("APPROVAL_DRILL_EVERY", 0, least=0, most=1000)
# Where people reach this installation, as links in messages say it.
SITE_URL = ENVIRONMENT.web_address("SITE_URL")
# From whom notices come by mail; nothing means that nobody is told by mail.
MAIL_FROM = ENVIRONMENT.text("MAIL_FROM", "")
# Only tests speak to another one.
SLACK_URL = "https://slack.com/api"
# What wraps the keys that payloads are sealed with, several while it is changed: docs/retention.md.
VAULT_KEY = ENVIRONMENT.secret("VAULT_KEY", "")
# So many days after its quarter a payload can no longer be read: of sessions, and of all other records.
RETENTION_DAYS = {
    "session": ENVIRONMENT.number("RETENTION_SESSION_DAYS", 2555, least=180, most=36_500),
    "record": ENVIRONMENT.number("RETENTION_RECORD_DAYS", 2555, least=180, most=36_500),
}
# What keeps data about people besides roles: implementations of agentops.registry.holder.SubjectHolder, in this order.
SUBJECT_HOLDERS = ["agentops.runtime.holding.Sessions", "approvals.holding.Requests"]
# What the sweep looks after for packages that the runtime does not know.
SWEEP_DUTIES = [
    "agentops.api.deliveries.forget_old",
    "agentops.ledger.sequencing.sequence_in_sweep",
    "agentops.ledger.checkpointing.checkpoint_in_sweep",
    "agentops.ledger.delivering.deliver_in_sweep",
    "agentops.ledger.evidence.watch_in_sweep",
    "agentops.ledger.retention.run_out",
]
# What signs the ledger's checkpoints, what the ledger is called, and where they are kept: docs/evidence.md.
LEDGER_KEY = ENVIRONMENT.secret("LEDGER_KEY", "")
LEDGER_ORIGIN = ENVIRONMENT.text("LEDGER_ORIGIN", "")
LEDGER_SINKS = ENVIRONMENT.words("LEDGER_SINKS", ())
# Whether nothing irreversible is done while the evidence is more than a minute behind.
LEDGER_LAG_STOPS_WRITES = ENVIRONMENT.flag("LEDGER_LAG_STOPS_WRITES", False)
# Where billing is done, "embedded" or "stripe": docs/operations.md, "Billing at Stripe".
BILLING_SYSTEM = ENVIRONMENT.choice("BILLING_SYSTEM", "embedded", ("embedded", "stripe"))
# Only tests speak to another one.
STRIPE_URL = "https://api.stripe.com"
# Where services run, what is seen of them, who is called, where status updates go: docs/incidents.md.
SRE_PLATFORM = ENVIRONMENT.choice("SRE_PLATFORM", "embedded", ("embedded", "kubernetes"))
SRE_OBSERVATORY = ENVIRONMENT.choice("SRE_OBSERVATORY", "embedded", ("embedded", "cloudwatch"))
SRE_PAGER = ENVIRONMENT.choice("SRE_PAGER", "embedded", ("embedded", "pagerduty"))
SRE_BOARD = ENVIRONMENT.choice("SRE_BOARD", "embedded", ("embedded", "slack"))
# What each tenant has at CloudWatch, PagerDuty and Slack: docs/incidents.md, "CloudWatch, PagerDuty, Slack".
SRE_VENDORS_FILE = ENVIRONMENT.text("SRE_VENDORS_FILE", "")
# Hosts besides the vendors' own to which their credentials may be sent, such as a gateway of the house.
SRE_VENDOR_HOSTS = ENVIRONMENT.words("SRE_VENDOR_HOSTS", ())
# Only tests speak to another one than the region's.
CLOUDWATCH_URL = ""
PAGERDUTY_URL = ENVIRONMENT.web_address("PAGERDUTY_URL") or "https://api.pagerduty.com"
# The labels of alerts that say which service one is of, and what several services belong to; the first that is there.
SRE_SERVICE_LABELS = ENVIRONMENT.words("SRE_SERVICE_LABELS", ("service", "app", "job"))
SRE_AREA_LABELS = ENVIRONMENT.words("SRE_AREA_LABELS", ("system", "part_of"))
# The cluster of SRE_PLATFORM=kubernetes: docs/kubernetes.md.
KUBERNETES_URL = ENVIRONMENT.web_address("KUBERNETES_URL")
KUBERNETES_CLUSTER = ENVIRONMENT.text("KUBERNETES_CLUSTER", "")
KUBERNETES_CONTEXT = ENVIRONMENT.text("KUBERNETES_CONTEXT", "kubernetes")
KUBERNETES_NAMESPACES = ENVIRONMENT.words("KUBERNETES_NAMESPACES", ("default",))
KUBERNETES_CA_FILE = ENVIRONMENT.text("KUBERNETES_CA_FILE", "")
# What the console shows of requests: an implementation of agentops.console.ports.ApprovalDesk.
APPROVAL_DESK = "approvals.desk.Desk"
# What roles may ask about their calls: an implementation of agentops.registry.made.CallRecord.
CALL_RECORD = "agentops.console.made_calls.Calls"
# Sockets of the apps: dotted paths of lists of URL patterns.
WEBSOCKET_ROUTES = ["approvals.routing.websocket_urlpatterns"]

# A worker that has recorded nothing for so long has lost its session to the next one. Longer than any model call.
LEASE_SECONDS = ENVIRONMENT.number("LEASE_SECONDS", 120, least=2, most=3600)
RECONCILE_AFTER_SECONDS = ENVIRONMENT.number("RECONCILE_AFTER_SECONDS", 300, least=0, most=86_400)

# "anthropic:NAME" or "openai:NAME"; nothing means the offline playbook.
AGENT_MODEL = ENVIRONMENT.text("AGENT_MODEL", "")
# Another endpoint that speaks the same protocol; nothing means the provider's own.
AGENT_MODEL_URL = ENVIRONMENT.web_address("AGENT_MODEL_URL")
AGENT_MODEL_KEY = ENVIRONMENT.secret("AGENT_MODEL_KEY", "")
# So many calls of a tool an hour are never unusual; 0 means that no number of them is.
AGENT_ANOMALY_FLOOR = ENVIRONMENT.number("AGENT_ANOMALY_FLOOR", 30, least=0, most=1_000_000)
# Most model calls in any minute, over all workers; 0 is no limit.
AGENT_MODEL_PER_MINUTE = ENVIRONMENT.number("AGENT_MODEL_PER_MINUTE", 0, least=0, most=10_000)

# Which credentials tools get, and where those lie: docs/operations.md, "Secrets of tools".
TOOL_ENVIRONMENT = ENVIRONMENT.choice("TOOL_ENVIRONMENT", "sandbox", ("sandbox", "production"))
# Who lends them to work of a role that is no call of a tool: an implementation of agentops.registry.lending.Lender.
CREDENTIAL_LENDER = "agentops.gateway.credentials.lent_for_work"
SECRET_SOURCE = ENVIRONMENT.choice("SECRET_SOURCE", "environment", ("environment", "files", "vault"))
SECRET_DIR = ENVIRONMENT.text("SECRET_DIR", "")
SECRET_VAULT_URL = ENVIRONMENT.web_address("SECRET_VAULT_URL")
SECRET_VAULT_TOKEN = ENVIRONMENT.secret("SECRET_VAULT_TOKEN", "")
SECRET_VAULT_MOUNT = ENVIRONMENT.text("SECRET_VAULT_MOUNT", "secret")
SECRET_KEEP_SECONDS = ENVIRONMENT.number("SECRET_KEEP_SECONDS", 60, least=0, most=3600)

# Only the demo has accounts with a published password, and only it creates and shows them.
DEMO_ACCOUNTS: tuple[dict[str, str], ...] = ()
DEMO_SEEDS: tuple[str, ...] = ()

# -- Accounts ------------------------------------------------------------------------------------------

AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "guardian.backends.ObjectPermissionBackend",
]
# Somebody who is not logged in has no permissions, on no object.
ANONYMOUS_USER_NAME = None
LOGIN_URL = "/login/"
LOGIN_REDIRECT_URL = "/"
LOGOUT_REDIRECT_URL = "/login/"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
# allauth keeps second factors; signing in and accounts themselves are ours.
ACCOUNT_ADAPTER = "agentops.accounts.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_REAUTHENTICATION_METHODS = ["password", "mfa"]
ACCOUNT_REAUTHENTICATION_TIMEOUT = 300
MFA_ADAPTER = "agentops.accounts.adapter.MFAAdapter"
MFA_SUPPORTED_TYPES = ["totp", "webauthn", "recovery_codes"]
MFA_ALLOW_UNVERIFIED_EMAIL = True
# Half a minute by which somebody's phone may be off.
MFA_TOTP_TOLERANCE = 1
# What an authenticator app calls this installation.
MFA_TOTP_ISSUER = ENVIRONMENT.text("MFA_ISSUER", "Control plane")
# The domain that passkeys are bound to; nothing means the host that was asked for.
PASSKEY_DOMAIN = ENVIRONMENT.text("PASSKEY_DOMAIN", "")
SESSION_COOKIE_AGE = 12 * 60 * 60
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_HTTPONLY = True
CSRF_COOKIE_SAMESITE = "Lax"

# -- Mail ----------------------------------------------------------------------------------------------

_MAIL = ENVIRONMENT.mail("EMAIL_URL")
EMAIL_BACKEND = _MAIL.get("BACKEND", "django.core.mail.backends.dummy.EmailBackend")
EMAIL_HOST = _MAIL.get("HOST", "localhost")
EMAIL_PORT = _MAIL.get("PORT", 25)
EMAIL_HOST_USER = _MAIL.get("HOST_USER", "")
EMAIL_HOST_PASSWORD = _MAIL.get("HOST_PASSWORD", "")
EMAIL_USE_TLS = _MAIL.get("USE_TLS", False)
EMAIL_USE_SSL = _MAIL.get("USE_SSL", False)
EMAIL_FILE_PATH = _MAIL.get("FILE_PATH")
EMAIL_TIMEOUT = 10
if bool(_MAIL) != bool(MAIL_FROM) or (MAIL_FROM and not SITE_URL):
    raise ImproperlyConfigured(
        "Mail needs EMAIL_URL, MAIL_FROM and SITE_URL: set all three, or neither of the first two."
    )

# -- Headers -------------------------------------------------------------------------------------------

X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    },
}
# The admin's own pages are built on inline scripts and styles that evaluate expressions.
ADMIN_CONTENT_SECURITY_POLICY = {
    "script-src": [SELF, "'unsafe-inline'", "'unsafe-eval'"],
    "style-src": [SELF, "'unsafe-inline'"],
}

UNFOLD = {
    "SITE_TITLE": "Control plane",
    "SITE_HEADER": "Control plane",
    "SITE_URL": "/",
    "SITE_FAVICONS": [{"rel": "icon", "type": "image/svg+xml", "href": lambda _request: static("favicon.svg")}],
}

# -- Time, language, files -----------------------------------------------------------------------------

LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "/static/"
STATIC_ROOT = BASE_DIR / "staticfiles"
STATICFILES_DIRS = [BASE_DIR / "static"]
SERVESTATIC_ALLOW_ALL_ORIGINS = False

# -- Database, broker, live updates --------------------------------------------------------------------

# Statements are bound on the server. Those of the hot path ask to be prepared (ledger/sql.py); the others never are:
# a plan that is made for any status cannot use an index that holds one status only.
# A process that stops inside a transaction would keep its rows locked: the server ends it instead.
DATABASE_OPTIONS: dict[str, Any] = {
    "server_side_binding": True,
    "prepare_threshold": 1_000_000_000,
    "connect_timeout": 5,
    "options": "-c idle_in_transaction_session_timeout=60s",
}
# Under ASGI a persistent connection would belong to a thread that nobody closes: connections come from a pool.
DATABASE_POOL: dict[str, Any] = {"min_size": 1, "max_size": 20, "timeout": 10}

REDIS_URL = ENVIRONMENT.redis("REDIS_URL")


def channel_layers(redis_url: str) -> dict[str, dict[str, Any]]:
    """Return CHANNEL_LAYERS: over Redis, or within this process when there is none."""
    if not redis_url:
        return {"default": {"BACKEND": "channels.layers.InMemoryChannelLayer"}}
    return {
        "default": {
            "BACKEND": "channels_redis.core.RedisChannelLayer",
            "CONFIG": {"hosts": [redis_url], "prefix": "agentops", "expiry": 30},
        }
    }


CHANNEL_LAYERS = channel_layers(REDIS_URL)

# Codes that were used and attempts that failed count over all processes.
CACHES: dict[str, dict[str, Any]] = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": REDIS_URL,
        "KEY_PREFIX": "agentops",
    }
    if REDIS_URL
    else {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}
}

# A message says "look now" and nothing else: losing or repeating one loses and repeats nothing.
CELERY_BROKER_URL = REDIS_URL or "memory://localhost/"
CELERY_BROKER_TRANSPORT_OPTIONS = {"visibility_timeout": 600} if REDIS_URL else {"polling_interval": 0.05}
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_IMPORTS = ["agentops.runtime.tasks", "approvals.notices.tasks"]
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_DEFAULT_QUEUE = "agentops"
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = "UTC"
# The work waits for models and vendors, and a pool of database connections does not survive a fork.
CELERY_WORKER_POOL = "threads"
CELERY_WORKER_CONCURRENCY = ENVIRONMENT.number("WORKER_THREADS", 4, least=1, most=64)
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE = {
    "sweep": {"task": "agentops.runtime.tasks.sweep", "schedule": 2.0, "options": {"expires": 2}},
}

REST_FRAMEWORK = {
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
}

# -- Logs ----------------------------------------------------------------------------------------------

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"()": "agentops.logs.LineFormatter"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": ENVIRONMENT.text("LOG_LEVEL", "INFO").upper()},
    "loggers": {
        "django": {"handlers": [], "propagate": True, "level": "INFO"},
        "django.server": {"handlers": [], "propagate": True},
        "uvicorn": {"handlers": [], "propagate": True},
        "uvicorn.access": {"level": "WARNING"},
        "celery": {"level": "WARNING"},
        # Their lower levels tell each request, with ids of customers and what is sent about them.
        "httpx2": {"level": "WARNING"},
        "kubernetes": {"level": "WARNING"},
        "stripe": {"level": "WARNING"},
        "botocore": {"level": "WARNING"},
        "pagerduty": {"level": "WARNING"},
        "slack_sdk": {"level": "WARNING"},
    },
}
