import os

import pytest
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client, override_settings

from agentops import health
from agentops.settings.base import channel_layers

DEAD_REDIS = "redis://127.0.0.1:9/0"


def test_live_needs_nothing(client: Client) -> None:
    response = client.get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})
    assert "no-store" in response.headers["Cache-Control"]


@override_settings(REDIS_URL="")
def test_ready_names_what_it_looked_at(client: Client, db: None) -> None:
    response = client.get("/readyz")
    assert (response.status_code, response.json()) == (
        200,
        {"status": "ok", "checks": {"database": "ok", "migrations": "ok"}},
    )


@override_settings(REDIS_URL="")
def test_ready_with_a_pending_migration(client: Client, db: None) -> None:
    MigrationRecorder.Migration.objects.filter(app="agentops").delete()
    response = client.get("/readyz")
    assert (response.status_code, response.json()) == (
        503,
        {"status": "unavailable", "checks": {"database": "ok", "migrations": "pending"}},
    )


@override_settings(REDIS_URL=DEAD_REDIS)
def test_ready_without_redis_does_not_name_its_host(client: Client, db: None) -> None:
    health._client.cache_clear()
    response = client.get("/readyz")
    health._client.cache_clear()
    assert response.status_code == 503
    assert response.json()["checks"] == {"database": "ok", "migrations": "ok", "redis": "unreachable"}
    assert b"127.0.0.1" not in response.content


@override_settings(REDIS_URL="")
@pytest.mark.django_db(transaction=True)
def test_ready_without_a_database(client: Client) -> None:
    connection = connections["default"]
    connection.close()
    connection.settings_dict = {**connection.settings_dict, "ENGINE": "django.db.backends.postgresql"}
    original = connection.get_new_connection

    def refuse(params: dict[str, object]) -> object:
        return original({**params, "port": "9", "host": "127.0.0.1"})

    connection.get_new_connection = refuse
    try:
        response = client.get("/readyz")
    finally:
        connection.get_new_connection = original
        connection.close()
    assert (response.status_code, response.json()) == (
        503,
        {"status": "unavailable", "checks": {"database": "unreachable", "migrations": "unreachable"}},
    )


@pytest.mark.skipif(not os.environ.get("REDIS_URL"), reason="needs a Redis: set REDIS_URL")
def test_ready_with_redis(client: Client, db: None) -> None:
    health._client.cache_clear()
    assert client.get("/readyz").json()["checks"]["redis"] == "ok"


def test_channel_layer_follows_redis() -> None:
    assert channel_layers("")["default"]["BACKEND"] == "channels.layers.InMemoryChannelLayer"
    assert channel_layers("redis://h")["default"]["CONFIG"]["hosts"] == ["redis://h"]


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
def test_health_is_only_read(client: Client, path: str) -> None:
    assert client.post(path).status_code == 405
