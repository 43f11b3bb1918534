"""What every test shares: no network, a browser where there is one, a site to point it at."""

import ipaddress
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pgtrigger
import pytest
import uvicorn
from django.apps import apps
from django.db import connection, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.creation import DatabaseCreation
from django.db.backends.signals import connection_created
from django.test import TransactionTestCase
from django.urls import get_resolver
from hypothesis import HealthCheck, settings
from playwright.sync_api import Browser, sync_playwright
from servestatic.middleware import ServeStaticMiddleware

from agentops.ledger.keys import ring

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# The one server besides this machine that a test may speak to is the Redis that the run was given.
ALLOWED_HOSTS = {"localhost", urlsplit(os.environ.get("REDIS_URL", "")).hostname}


# How long an example takes depends on what else the machine does, and says nothing of what is tested.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


class NetworkBlocked(RuntimeError):
    """A test tried to reach another machine."""


def _guard(host: object) -> None:
    name = host.decode() if isinstance(host, bytes) else str(host)
    if name in ALLOWED_HOSTS:
        return
    try:
        inside = ipaddress.ip_address(name).is_loopback or ipaddress.ip_address(name).is_unspecified
    except ValueError:
        inside = False
    if not inside:
        raise NetworkBlocked(f"tests do not speak to other machines, and this one tried {name!r}")


@pytest.fixture(scope="session", autouse=True)
def addresses() -> None:
    """Read all addresses once, with the roles that are installed: a test may install others for itself."""
    assert get_resolver().url_patterns


@pytest.fixture(scope="session", autouse=True)
def no_network() -> Iterator[None]:
    """Block look-ups and connections that leave this machine."""
    real_connect, real_connect_ex = socket.socket.connect, socket.socket.connect_ex
    real_getaddrinfo = socket.getaddrinfo

    def checked(sock: socket.socket, address: Any) -> None:
        if sock.family in (socket.AF_INET, socket.AF_INET6):
            _guard(address[0])

    def connect(sock: socket.socket, address: Any) -> None:
        checked(sock, address)
        real_connect(sock, address)

    def connect_ex(sock: socket.socket, address: Any) -> int:
        checked(sock, address)
        return real_connect_ex(sock, address)

    def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
        if host is not None:
            _guard(host)
        return real_getaddrinfo(host, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket.socket, "connect", connect)
        patch.setattr(socket.socket, "connect_ex", connect_ex)
        patch.setattr(socket, "getaddrinfo", getaddrinfo)
        yield


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium of this machine. Where there is none the test is skipped, unless REQUIRE_BROWSER is set."""
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        reason = f"no browser on this machine (looked for {', '.join(BROWSERS)})"
        pytest.fail(reason) if os.environ.get("REQUIRE_BROWSER") else pytest.skip(reason)
    # The driver's event loop runs in this thread, where Django would otherwise refuse to query.
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as driver:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "1")
        chromium = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@contextmanager
def connections_of_other_threads_closed() -> Iterator[None]:
    """Close what the server's threads leave open: a request that its browser gave up is not tidied up after."""
    opened: list[BaseDatabaseWrapper] = []

    def remember(connection: BaseDatabaseWrapper, **_: object) -> None:
        if threading.current_thread() is not threading.main_thread():
            opened.append(connection)

    connection_created.connect(remember)
    try:
        yield
    finally:
        connection_created.disconnect(remember)
        for wrapper in opened:
            if wrapper.connection is not None:
                wrapper.connection.close()


@pytest.fixture
def site(transactional_db: None) -> Iterator[str]:
    """The address of the whole site, sockets included, served from this process on the test's database."""
    with connections_of_other_threads_closed(), socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        config = uvicorn.Config(
            "agentops.asgi:application", log_config=None, lifespan="on", timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        deadline = time.monotonic() + 20
        while not server.started:
            assert thread.is_alive(), "the server ended while it was starting"
            assert time.monotonic() < deadline, "the server did not start within 20 seconds"
            time.sleep(0.01)
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive(), "the server did not stop"


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings_parallel_suffix: None) -> Iterator[None]:
    """Drop the test database even while the server still ends the connection of a process that was killed."""

    def drop(self: DatabaseCreation, test_database_name: str, verbosity: int) -> None:
        with self._nodb_cursor() as cursor:
            cursor.execute(f"DROP DATABASE {self.connection.ops.quote_name(test_database_name)} WITH (FORCE)")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DatabaseCreation, "_destroy_test_db", drop)
        yield


@pytest.fixture(scope="session", autouse=True)
def only_what_was_filled_is_emptied(django_db_setup: None) -> Iterator[None]:
    """Empty after a transactional test the tables that it filled, the append-only ones too, with all triggers off.

    Django would truncate every table and write all permissions anew, which takes longer than most tests.
    """

    def empty(self: TransactionTestCase) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
            cursor.execute(filled)
            for (table,) in cursor.fetchall():
                cursor.execute(f"DELETE FROM {table}")

    with pytest.MonkeyPatch.context() as patch:
        names = (
            connection.ops.quote_name(model._meta.db_table) for model in apps.get_models(include_auto_created=True)
        )
        tables = sorted(set(names) - {'"django_content_type"', '"auth_permission"'})
        filled = " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT 1 FROM {table})" for table in tables)
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty)
        yield


@pytest.fixture(scope="session", autouse=True)
def static_files_are_found_once() -> Iterator[None]:
    """Look through the static files once a run: every client makes the middleware anew, which would look each time."""
    found: list[dict[str, Any]] = []
    real = ServeStaticMiddleware.add_files_from_finders

    def add(self: ServeStaticMiddleware) -> None:
        if not found:
            real(self)
            found.append({"files": self.files, "directories": self.directories})
        vars(self).update(found[0])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ServeStaticMiddleware, "add_files_from_finders", add)
        yield


@pytest.fixture(autouse=True)
def no_key_outlives_its_test() -> None:
    """Forget the data keys of the test before: what it committed is gone, and epochs begin anew."""
    ring.clear()


@pytest.fixture(autouse=True)
def switchboard_at_once(request: pytest.FixtureRequest) -> None:
    """In a test that is one transaction nothing is ever committed, so the epoch is raised at once instead."""
    if "db" in request.fixturenames and "transactional_db" not in request.fixturenames:
        request.getfixturevalue("db")
        if connection.in_atomic_block:
            pgtrigger.constraints(pgtrigger.Immediate, *_BUMPS)


_BUMPS = [trigger.get_uri(model) for model, trigger in pgtrigger.registered() if trigger.name == "bumps_epoch"]
