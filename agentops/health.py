"""What a platform asks: is the process alive, and can it do its work now?"""

import logging
from collections.abc import Callable
from functools import cache

import redis
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from agentops.embedded.errors import EmbeddedPostgresError
from agentops.kernel.clock import utcnow
from agentops.ledger.evidence import troubles

OK = "ok"
logger = logging.getLogger(__name__)


@login_not_required
@never_cache
@require_safe
def live(request: HttpRequest) -> JsonResponse:
    """Answer 200 as long as this process answers at all."""
    return JsonResponse({"status": OK})


@login_not_required
@never_cache
@require_safe
def ready(request: HttpRequest) -> JsonResponse:
    """Answer 200 when database, schema and Redis are usable, else 503 with the name of what is not.

    The reasons go to the log only: an answer to a stranger names no host.
    """
    checks = {"database": _database, "migrations": _migrations, **({"redis": _redis} if settings.REDIS_URL else {})}
    states = {name: _state(name, check) for name, check in checks.items()}
    usable = all(state == OK for state in states.values())
    body: dict[str, object] = {"status": OK if usable else "unavailable", "checks": states}
    if usable and settings.LEDGER_KEY:
        # An alarm, not a reason to send nobody here: another process would be behind as far.
        body["ledger"] = "behind" if troubles(utcnow()) else OK
    return JsonResponse(body, status=200 if usable else 503)


def _state(name: str, check: Callable[[], str]) -> str:
    try:
        return check()
    except (DatabaseError, EmbeddedPostgresError, redis.RedisError, OSError) as error:
        logger.warning("not ready: %s", name, extra={"reason": str(error)})
        return "unreachable"


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")
    return OK


def _migrations() -> str:
    executor = MigrationExecutor(connection)
    return "pending" if executor.migration_plan(executor.loader.graph.leaf_nodes()) else OK


def _redis() -> str:
    _client().ping()
    return OK


@cache
def _client() -> redis.Redis:
    return redis.Redis.from_url(settings.REDIS_URL, socket_timeout=2, socket_connect_timeout=2)
