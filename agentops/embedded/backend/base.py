"""A database backend that starts the embedded server when the first connection is wanted.

So every command works on a machine without a database, and one that needs none starts none. The alias says
where: ``"EMBEDDED": {"base": Path, "name": str, "durable": bool}``.
"""

import threading
from pathlib import Path
from typing import Any

from django.db.backends.postgresql import base

from agentops.embedded.access import HOST, USER
from agentops.embedded.postgres import EmbeddedPostgres

_servers: dict[tuple[Path, str], EmbeddedPostgres] = {}
_guard = threading.Lock()


def server_of(embedded: dict[str, Any]) -> EmbeddedPostgres:
    """Return this process's one handle on the server that the alias's ``EMBEDDED`` names."""
    with _guard:
        key = (embedded["base"], embedded["name"])
        if key not in _servers:
            _servers[key] = EmbeddedPostgres(embedded["base"], embedded["name"], durable=embedded["durable"])
        return _servers[key]


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection to the embedded server; asks for it at each connect, so that a killed server comes back."""

    def get_connection_params(self) -> dict[str, Any]:
        """Return psycopg's arguments, with the place of the running server. Raises EmbeddedPostgresError."""
        access = server_of(self.settings_dict["EMBEDDED"]).ensure()
        place = {"HOST": HOST, "PORT": str(access.port), "USER": USER, "PASSWORD": access.password}
        if any(self.settings_dict[key] != value for key, value in place.items()):
            self.settings_dict.update(place)
            outdated = self._connection_pools.pop(self.alias, None)  # type: ignore[attr-defined] # not in the stubs
            if outdated is not None:
                outdated.close()
        params: dict[str, Any] = super().get_connection_params()
        return {**params, "require_auth": "scram-sha-256"}
