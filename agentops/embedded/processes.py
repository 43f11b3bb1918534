"""Questions about processes that are not our children, and the way to end a server."""

import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")
STOP_SIGNALS = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))


def runs_in(pid: int, folder: Path) -> bool:
    """True when the process exists and is a PostgreSQL server of the data ``folder``."""
    if PROC.joinpath("self").exists():
        with suppress(OSError):
            return PROC.joinpath(str(pid), "cwd").readlink() == folder
        return False
    listing = subprocess.run(  # macOS has no /proc
        ["ps", "-o", "command=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return str(folder) in listing.stdout


def all_running_in(folder: Path) -> list[int]:
    """Return every process whose working folder is the data ``folder``: a server and its children do that."""
    return [int(entry.name) for entry in PROC.glob("[0-9]*") if runs_in(int(entry.name), folder)]


def end_server(pid: int, folder: Path) -> bool:
    """Stop the server politely, then less so; return False when it is still there at the end.

    SIGINT is PostgreSQL's fast shutdown (everything written, sessions cut), SIGQUIT the immediate one.
    """
    for number, patience in STOP_SIGNALS:
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            if not runs_in(pid, folder):
                return True
            time.sleep(0.02)
    return False
