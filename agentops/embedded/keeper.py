"""Runs the database server and ends it when nobody uses it any more. Started as a program of its own.

Every process that uses the server holds a shared lock on one file. The exclusive lock can be had only
when all of them have gone, and the kernel sees to that even after SIGKILL. Only the standard library is
imported: this file is run by its path, outside the package.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from typing import Any


def keep(order: dict[str, Any]) -> int:
    """Run ``order["command"]`` until its users have gone; return the server's exit code.

    ``users`` is the lock file, ``log`` the server's log, ``account`` arguments for Popen, ``remove`` a folder
    to delete after the last user has left (or None).
    """
    with open(order["log"], "ab") as log:
        server = subprocess.Popen(
            order["command"],
            cwd=order["cwd"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            **order["account"],
        )
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: server.send_signal(signal.SIGINT))
    unused = threading.Event()
    threading.Thread(target=_stop_when_unused, args=(server, order["users"], unused), daemon=True).start()
    code = server.wait()
    if unused.is_set() and order["remove"]:
        shutil.rmtree(order["remove"], ignore_errors=True)
    return code


def _stop_when_unused(server: "subprocess.Popen[bytes]", users: str, unused: threading.Event) -> None:
    descriptor = os.open(users, os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    unused.set()
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
        server.send_signal(number)
        try:
            server.wait(timeout=20)
        except subprocess.TimeoutExpired:
            continue
        return


if __name__ == "__main__":
    sys.exit(keep(json.loads(sys.argv[1])))
