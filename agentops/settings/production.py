"""Production: everything that must be decided is required, and every door starts closed."""

from agentops.settings.base import *  # noqa: F403
from agentops.settings.base import DATABASE_OPTIONS, DATABASE_POOL, channel_layers
from agentops.settings.readers import ENVIRONMENT

SECRET_KEY = ENVIRONMENT.secret("SECRET_KEY")
SECRET_KEY_FALLBACKS = [key.strip() for key in ENVIRONMENT.secret("SECRET_KEY_FALLBACKS", "").split(",") if key.strip()]
ALLOWED_HOSTS = ENVIRONMENT.words("ALLOWED_HOSTS")
CSRF_TRUSTED_ORIGINS = ENVIRONMENT.words("CSRF_TRUSTED_ORIGINS", ())

ENVIRONMENT.secret("DATABASE_URL")
_DATABASE = ENVIRONMENT.database("DATABASE_URL") or {}
_DATABASE["OPTIONS"] = {
    **_DATABASE.get("OPTIONS", {}),
    **DATABASE_OPTIONS,
    "pool": {**DATABASE_POOL, "max_size": ENVIRONMENT.number("DATABASE_POOL_SIZE", 20, least=1, most=500)},
}
_DATABASE["CONN_HEALTH_CHECKS"] = True
DATABASES = {"default": _DATABASE}

ENVIRONMENT.secret("REDIS_URL")
REDIS_URL = ENVIRONMENT.redis("REDIS_URL")
CHANNEL_LAYERS = channel_layers(REDIS_URL)
CELERY_BROKER_URL = REDIS_URL

SECURE_SSL_REDIRECT = ENVIRONMENT.flag("SSL_REDIRECT", True)
# Probes come from inside, over plain HTTP.
SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$"]
SECURE_HSTS_SECONDS = 365 * 24 * 60 * 60
# Whether all of a domain speaks HTTPS is known to whoever owns the domain.
SECURE_HSTS_INCLUDE_SUBDOMAINS = ENVIRONMENT.flag("HSTS_WHOLE_DOMAIN", False)
SECURE_HSTS_PRELOAD = SECURE_HSTS_INCLUDE_SUBDOMAINS
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
SESSION_COOKIE_SECURE = True
CSRF_COOKIE_SECURE = True
SESSION_COOKIE_NAME = "__Host-session"
CSRF_COOKIE_NAME = "__Host-csrf"
if ENVIRONMENT.flag("BEHIND_PROXY", False):
    # Only with a proxy that sets this header itself: otherwise any client could claim to have come by HTTPS.
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "servestatic.storage.CompressedManifestStaticFilesStorage"},
}
