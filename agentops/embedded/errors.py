"""What can go wrong between us and a database server of our own."""

from agentops.kernel.errors import AgentOpsError


class EmbeddedPostgresError(AgentOpsError):
    """The embedded database server could not be found, prepared, started or stopped."""

    code = "EMBEDDED_POSTGRES"
    next_step = "Set DATABASE_URL to a PostgreSQL of yours, or start over with: make demo RESET=1"
