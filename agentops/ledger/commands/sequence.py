"""``manage.py ledger sequence``: a process that does nothing but sequence."""

import json
import signal
import threading
from collections.abc import Mapping
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper
from django.db import InterfaceError, OperationalError, connection

from agentops.ledger.commands import Subcommand
from agentops.ledger.log import log_size
from agentops.ledger.sequencing import sequence

PAUSE_S = 0.2
AWAY_S = 2.0


def _declare(parser: CommandParser) -> None:
    parser.add_argument("--once", action="store_true", help="stop when nothing is due any more")
    parser.add_argument("--json", action="store_true", help="print JSON, an object a line")


def _run(options: Mapping[str, Any], out: OutputWrapper) -> int:
    if options["once"]:
        _say(sequence(), options, out)
        return 0
    ended = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ended.set())
    while not ended.is_set():
        pause = PAUSE_S
        try:
            given = sequence()
            if given:
                _say(given, options, out)
        except (OperationalError, InterfaceError):
            # The server restarts, or is gone for a while: there is nothing to lose here.
            connection.close()
            pause = AWAY_S
        ended.wait(pause)
    return 0


def _say(given: int, options: Mapping[str, Any], out: OutputWrapper) -> None:
    size = log_size()
    if options["json"]:
        out.write(json.dumps({"sequenced": given, "size": size}))
    else:
        out.write(f"{given} events sequenced, the log has {size} entries.")


COMMAND = Subcommand("sequence", "Give committed events their place in the log, until it is stopped.", _declare, _run)
