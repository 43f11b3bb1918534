"""The subcommands of ``manage.py ledger``: one module each, named in ``COMMANDS``.

A module has ``COMMAND``, a Subcommand.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper
from django.utils.module_loading import import_string

COMMANDS = (
    "agentops.ledger.commands.sequence.COMMAND",
    "agentops.ledger.commands.status.COMMAND",
    "agentops.ledger.commands.roles.COMMAND",
    "agentops.ledger.commands.checkpoint.COMMAND",
    "agentops.ledger.commands.deliver.COMMAND",
    "agentops.ledger.commands.keygen.COMMAND",
    "agentops.ledger.commands.witness.COMMAND",
    "agentops.ledger.commands.verify.COMMAND",
    "agentops.ledger.commands.export.COMMAND",
    "agentops.ledger.commands.prove.COMMAND",
    "agentops.ledger.commands.drill.COMMAND",
)


@dataclass(frozen=True)
class Subcommand:
    """``declare`` adds the arguments; ``run`` gets their values and where to print, and returns the exit code.

    An AgentOpsError that ``run`` raises is printed with its next step, and the exit code is 2.
    """

    name: str
    help: str
    declare: Callable[[CommandParser], None]
    run: Callable[[Mapping[str, Any], OutputWrapper], int]


def subcommands() -> tuple[Subcommand, ...]:
    """Return all of them, in the order in which help lists them."""
    return tuple(import_string(path) for path in COMMANDS)
