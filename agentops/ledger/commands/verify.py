"""``manage.py ledger verify``: compare everything that the database holds of the ledger."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from agentops.ledger import auditverify
from agentops.ledger.commands import Subcommand
from agentops.ledger.commands.keys import KeysNeeded, declare_keys, trust_of
from agentops.ledger.signing_keys import public_keys
from agentops.ledger.verifying import Verified, verify

MOST_SHOWN = 20


def _declare(parser: CommandParser) -> None:
    declare_keys(parser)
    parser.add_argument(
        "--checkpoints", action="append", default=[], type=Path, metavar="DIR", help="what a sink or a witness kept"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object only")


def _run(options: Mapping[str, Any], out: OutputWrapper) -> int:
    keys = options["key"] or [key.vkey() for key in public_keys()]
    try:
        found = verify(trust=trust_of({**options, "key": keys}), kept=options["checkpoints"])
    except auditverify.CannotTell as error:
        raise KeysNeeded(f"{error}.", next_step="Look at the folders and keys that you gave.") from error
    out.write(_as_json(found) if options["json"] else _as_text(found))
    return 0 if found.ok else 1


def _as_json(found: Verified) -> str:
    return json.dumps({**asdict(found), "ok": found.ok, "first_bad_index": found.first_bad_index})


def _as_text(found: Verified) -> str:
    counts = f"{found.events} events in the log, {found.waiting} waiting for their index, {found.payloads} payloads"
    lines = [f"{counts}, {found.erased} erased, {found.checkpoints} checkpoints"]
    if found.ok:
        return "\n".join([*lines, "Everything fits."])
    first = found.first_bad_index
    lines.append("TAMPERED WITH" if first is None else f"TAMPERED WITH: the first bad index is {first}")
    shown = found.findings[:MOST_SHOWN]
    lines.extend(f"  {'-' if each.index is None else each.index}  {each.kind}: {each.what}" for each in shown)
    left = len(found.findings) + found.more - MOST_SHOWN
    return "\n".join(lines if left <= 0 else [*lines, f"  and {left} more"])


COMMAND = Subcommand(
    "verify", "Verify the ledger in the database; exit code 1 when something was changed.", _declare, _run
)
