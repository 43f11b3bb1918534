"""``manage.py demo``: from nothing to a running installation with work in it."""

import os
import sys
from typing import Any

import psycopg
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandParser
from django.db import OperationalError, connection, connections
from django.utils.module_loading import import_string

from agentops.celery import app
from agentops.embedded.backend.base import DatabaseWrapper, server_of
from agentops.embedded.demo import HOST, Demo, DemoRefused, ended_by_signals, ignore_signals, only_one, take_port
from agentops.embedded.errors import EmbeddedPostgresError
from agentops.embedded.home import remove_home
from agentops.embedded.postgres import EmbeddedPostgres
from agentops.runtime.sweep import sweep_once
from agentops.settings.readers import ENVIRONMENT

DEFAULT_PORT = 8000


class Command(BaseCommand):
    """Prepare the database, fill it, and serve until Ctrl-C."""

    help = "Run the whole product on this machine, with demo data and published passwords."

    def add_arguments(self, parser: CommandParser) -> None:
        """Declare the options; PORT in the environment does the same as --port."""
        parser.add_argument("--port", type=int, help=f"port on {HOST}; 0 takes any free one (default {DEFAULT_PORT})")
        parser.add_argument("--reset", action="store_true", help="delete the data of the demo first")
        parser.add_argument("--delete", action="store_true", help="delete all files of the demo and start nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run; exit code 0 after a signal, 2 with one sentence when it cannot start, 1 when a part failed."""
        try:
            with ended_by_signals():
                if options["delete"]:
                    self._delete()
                    return
                done = self._run(options["port"], reset=options["reset"])
        except KeyboardInterrupt:
            done = True
        except (DemoRefused, EmbeddedPostgresError) as error:
            self._put_away()
            self.stderr.write(f"The demo cannot start: {error.message}.")
            sys.exit(2)
        ignore_signals()
        self._put_away()
        self.stdout.write("Stopped.")
        self.stdout.flush()
        # Threads of the worker that still wait for an answer would hold up the end of the interpreter.
        os._exit(0 if done else 1)

    def _run(self, port: int | None, *, reset: bool) -> bool:
        if not settings.DEMO_SEEDS:
            raise DemoRefused("it needs DJANGO_SETTINGS_MODULE=agentops.settings.demo")
        listener = take_port(_chosen(port))
        with listener:
            url = f"http://{HOST}:{listener.getsockname()[1]}/"
            # Only here is the port known to which links in messages lead.
            settings.SITE_URL = settings.SITE_URL or url
            with only_one(settings.DEMO_DIR, url):
                self._prepare(reset=reset)
                return Demo(app, sweep_once, lambda: self._announce(url)).run(listener)

    def _prepare(self, *, reset: bool) -> None:
        if reset and not _embedded():
            raise DemoRefused("RESET deletes only the demo's own database, and DATABASE_URL names another one")
        if reset:
            for embedded in _embedded():
                embedded.destroy()
        self._say("Preparing the database …")
        try:
            # Directly: the pool would keep the server's reason to itself and try for ten seconds.
            with connection.wrap_database_errors:
                psycopg.connect(**connection.get_connection_params()).close()
            call_command("migrate", interactive=False, verbosity=0)
            self._say("Filling it with the demo's shop …")
            for seed in settings.DEMO_SEEDS:
                import_string(seed)()
        except OperationalError as error:
            place = connection.settings_dict
            first = str(error).strip().splitlines()[0]
            raise DemoRefused(
                f"the database at {place['HOST']}:{place['PORT'] or 5432} does not answer: {first}"
            ) from error

    def _delete(self) -> None:
        with only_one(settings.DEMO_DIR, "deleting the data"):
            for embedded in _embedded():
                embedded.destroy()
            remove_home(settings.DEMO_DIR)
        self._say("The demo's files are deleted.")

    def _announce(self, url: str) -> None:
        self._say(f"\nThe product runs at {url}  (Ctrl-C ends it, the data stays)\n")
        for account in settings.DEMO_ACCOUNTS:
            self._say(f"  {account['name']:<10} password {account['password']:<6} {account['does']}")
        self._say("")

    def _say(self, text: str) -> None:
        self.stdout.write(text)
        self.stdout.flush()

    def _put_away(self) -> None:
        for each in connections.all(initialized_only=True):
            each.close()
            if hasattr(each, "close_pool"):
                each.close_pool()
        for embedded in _embedded():
            embedded.stop()


def _embedded() -> list[EmbeddedPostgres]:
    """The servers of our own among the databases."""
    return [
        server_of(each.settings_dict["EMBEDDED"]) for each in connections.all() if isinstance(each, DatabaseWrapper)
    ]


def _chosen(port: int | None) -> int:
    try:
        chosen = ENVIRONMENT.number("PORT", DEFAULT_PORT, least=0, most=65535) if port is None else port
    except ImproperlyConfigured as error:
        raise DemoRefused(str(error).rstrip(".")) from error
    if not 0 <= chosen <= 65535:
        raise DemoRefused(f"{chosen} is not a port; choose one from 1 to 65535")
    return chosen
