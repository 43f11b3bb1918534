"""``manage.py ledger roles``: the statements that make the two roles of the database."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from agentops.ledger.commands import Subcommand
from agentops.ledger.database_roles import grants


def _declare(parser: CommandParser) -> None:
    parser.add_argument("--owner", default="agentops_owner", help="who owns the tables and migrates")
    parser.add_argument("--application", default="agentops_app", help="who runs the product and owns nothing")


def _run(options: Mapping[str, Any], out: OutputWrapper) -> int:
    statements = grants(options["owner"], options["application"])
    out.write(";\n".join(("BEGIN", *statements, "COMMIT")) + ";")
    return 0


COMMAND = Subcommand("roles", "Print the SQL that keeps the program from owning the tables.", _declare, _run)
