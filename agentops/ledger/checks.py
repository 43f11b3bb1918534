"""System checks of the ledger."""

from collections.abc import Sequence
from typing import Any

from django.core.checks import CheckMessage, Tags, Warning, register  # noqa: A004 - Django's name
from django.db import DEFAULT_DB_ALIAS

from agentops.ledger.database_roles import rights_too_many


@register(Tags.database, deploy=True)
def check_database_role(*, databases: Sequence[str] | None = None, **_: Any) -> list[CheckMessage]:
    """agentops.W110: the role that runs the product could change or remove what the ledger says.

    Asks the database, so it runs only with ``check --deploy --database default``, connected as the program is.
    """
    if DEFAULT_DB_ALIAS not in (databases or ()):
        return []
    hint = "Run the product as a role that owns nothing: docs/database-roles.md."
    return [Warning(words, hint=hint, id="agentops.W110") for words in rights_too_many()]
