"""``manage.py ledger drill``: tamper with invented logs, and see whether the verifier finds it."""

import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper

from agentops.ledger.commands import Subcommand
from agentops.ledger.drill import drill


def _declare(parser: CommandParser) -> None:
    parser.add_argument("--trials", type=int, default=100, help="random places a class of tampering (default 100)")
    parser.add_argument("--honest", type=int, default=1000, help="logs that nobody touched (default 1000)")
    parser.add_argument("--seed", type=int, help="the same seed gives the same drill")
    parser.add_argument("--json", action="store_true", help="print one JSON object only")


def _run(options: Mapping[str, Any], out: OutputWrapper) -> int:
    seed = secrets.randbelow(2**32) if options["seed"] is None else options["seed"]
    done = drill(trials=max(options["trials"], 0), honest_logs=max(options["honest"], 0), seed=seed)
    if options["json"]:
        out.write(json.dumps(asdict(done)))
    else:
        out.write(
            f"{done.classes} classes of tampering, {done.found} of {done.trials} trials found at their place, "
            f"{done.false_alarms} of {done.honest} honest logs alarmed (seed {done.seed})"
        )
        for each in done.missed:
            out.write(f"  {each}")
    return 0 if done.passed else 1


COMMAND = Subcommand(
    "drill", "Tamper with invented logs; exit code 1 when the verifier misses anything.", _declare, _run
)
