"""Which public keys a command works with: those that it was given."""

from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser

from agentops.kernel.errors import AgentOpsError
from agentops.ledger import auditverify


class KeysNeeded(AgentOpsError):
    """The public keys that a command was given are none, or cannot be read."""

    code = "KEYS_NEEDED"
    next_step = "Give the log's public key with --key, as it was published."


def declare_keys(parser: CommandParser) -> None:
    """Declare the options for keys."""
    parser.add_argument("--key", action="append", default=[], metavar="VKEY", help="public key of the log")
    parser.add_argument("--witness-key", action="append", default=[], metavar="VKEY", help="public key of a witness")
    parser.add_argument("--quorum", type=int, help="so many witnesses are needed; all of them by default")


def trust_of(options: Mapping[str, Any]) -> auditverify.Trust | None:
    """Return what the options say whom to believe, None without a key. Raises KeysNeeded."""
    if not options["key"] and not options["witness_key"]:
        return None
    try:
        return auditverify.trust_of(options["key"], options["witness_key"], options["quorum"])
    except auditverify.CannotTell as error:
        raise KeysNeeded(f"{error}.") from error
