"""How to reach the embedded server, and whether it answers."""

from dataclasses import dataclass, field

import psycopg
from psycopg import sql

HOST = "127.0.0.1"
USER = "agentops"
DATABASE = "agentops"
MAINTENANCE = "postgres"


@dataclass(frozen=True)
class Access:
    """The port on 127.0.0.1 and the password of the one account, which owns everything in the cluster."""

    port: int
    password: str = field(repr=False)

    @property
    def url(self) -> str:
        """The address in the form of DATABASE_URL; it contains the password."""
        return f"postgres://{USER}:{self.password}@{HOST}:{self.port}/{DATABASE}?require_auth=scram-sha-256"

    def connect(self, database: str = DATABASE) -> psycopg.Connection[tuple[object, ...]]:
        """Open a connection in autocommit mode. Raises psycopg.OperationalError."""
        return psycopg.connect(
            host=HOST,
            port=self.port,
            user=USER,
            password=self.password,
            dbname=database,
            connect_timeout=5,
            # A stranger listening on the port of a server that died must not be told the password.
            require_auth="scram-sha-256",
            autocommit=True,
        )

    def answers(self) -> bool:
        """True when the server lets us in now."""
        try:
            self.connect(MAINTENANCE).close()
        except psycopg.OperationalError:
            return False
        return True

    def create_database(self) -> None:
        """Create our database unless it exists. Raises psycopg.Error."""
        with self.connect(MAINTENANCE) as connection:
            row = connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
            if row is None:
                connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))
