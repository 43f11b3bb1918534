"""A database that nothing else uses: for whatever must not touch an installation's data."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.db import connection
from psycopg import sql


@contextmanager
def scratch_database(purpose: str) -> Iterator[None]:
    """Make a database, which processes started meanwhile find by AGENTOPS_TEST_DATABASE, and drop it by force."""
    connection.settings_dict["TEST"]["NAME"] = f"{purpose}_{os.getpid()}"
    name = connection.creation.create_test_db(verbosity=0, autoclobber=True, serialize=False)
    os.environ.update(AGENTOPS_TEST_DATABASE=name)
    try:
        yield
    finally:
        connection.close()
        place = {**connection.get_connection_params(), "dbname": "postgres"}
        with psycopg.connect(**place, autocommit=True) as server:
            server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
