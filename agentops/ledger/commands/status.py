"""``manage.py ledger status``: how long the log is, and how far it is behind."""

import json
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from agentops.kernel.clock import isoformat, utcnow
from agentops.ledger.commands import Subcommand
from agentops.ledger.lag import MOST_COUNTED, Lag, lag
from agentops.ledger.log import TreeHead, tree_head


def _declare(parser: CommandParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object only")


def _run(options: Mapping[str, Any], out: OutputWrapper) -> int:
    behind, head = lag(), tree_head()
    seconds = behind.seconds(utcnow())
    out.write(_as_json(head, behind, seconds) if options["json"] else _as_text(head, behind, seconds))
    return 0


def _as_json(head: TreeHead, behind: Lag, seconds: int) -> str:
    return json.dumps(
        {
            "size": head.size,
            "root": head.root.hex(),
            "chain": head.chain_hash.hex(),
            "waiting": behind.waiting,
            "waiting_since": None if behind.since is None else isoformat(behind.since),
            "lag_seconds": seconds,
            "catching_up": behind.catching_up,
        }
    )


def _as_text(head: TreeHead, behind: Lag, seconds: int) -> str:
    count = f"{MOST_COUNTED} or more" if behind.waiting == MOST_COUNTED else str(behind.waiting)
    waiting = f"{count} events wait for their place, the first for {seconds} s" if behind.waiting else "no event waits"
    lines = [f"entries  {head.size}", f"root     {head.root.hex()}", f"chain    {head.chain_hash.hex()}", waiting]
    if behind.catching_up:
        lines.append("the database came from another cluster and is being caught up")
    return "\n".join(lines)


COMMAND = Subcommand("status", "Say how long the log is, its root, and how far it is behind.", _declare, _run)
