"""Start the server under its keeper and wait until it lets us in."""

import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from agentops.embedded.access import HOST, Access
from agentops.embedded.cluster import Cluster
from agentops.embedded.errors import EmbeddedPostgresError
from agentops.embedded.processes import all_running_in, runs_in
from agentops.embedded.software import Software

PATIENCE = 60.0
KEEPER = Path(__file__).with_name("keeper.py")
PORT_TAKEN = ("Address already in use", "could not bind", "could not create any TCP/IP sockets")
STILL_LEAVING = ("shared memory block", 'lock file "postmaster.pid" already exists')
COMMON = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "timezone=UTC", "log_timezone=UTC", "jit=off")
SAFE = ("max_connections=100", "idle_in_transaction_session_timeout=120s")
# A commit is still handed to the operating system, so a killed server loses nothing; a power cut may.
FAST = ("max_connections=200", "fsync=off", "full_page_writes=off", "autovacuum=off")


def launch(cluster: Cluster, software: Software, *, durable: bool) -> tuple[Access, "subprocess.Popen[bytes]"]:
    """Start the server and return how to reach it, with the keeper's process.

    The port of the last run is tried first: connections that outlived a crash can then be made again.
    Raises EmbeddedPostgresError with the server's own reason.
    """
    _forget_record_of_a_stranger(cluster)
    port = _last_port(cluster) or _free_port()
    deadline = time.monotonic() + PATIENCE
    while True:
        access = Access(port, cluster.password())
        keeper = _start_keeper(cluster, software, port, durable=durable)
        if _came_up(access, cluster, keeper, deadline):
            (cluster.folder / "port").write_text(str(port))
            return access, keeper
        said = cluster.log.read_text(errors="replace")
        if time.monotonic() > deadline:
            raise EmbeddedPostgresError(f"the database did not start within {PATIENCE:.0f} seconds, see {cluster.log}")
        if any(sign in said for sign in PORT_TAKEN):
            port = _free_port()
        elif any(sign in said for sign in STILL_LEAVING):
            time.sleep(0.2)
        else:
            raise EmbeddedPostgresError(f"the database does not start: {_reason(said)}")


def _came_up(access: Access, cluster: Cluster, keeper: "subprocess.Popen[bytes]", deadline: float) -> bool:
    while keeper.poll() is None:
        pid, port = cluster.recorded()
        # Another program could answer on that port: only the server of this folder counts.
        if port == access.port and runs_in(pid, cluster.data) and access.answers():
            return True
        if time.monotonic() > deadline:
            keeper.terminate()
            keeper.wait()
            return False
        time.sleep(0.02)
    return False


def _start_keeper(cluster: Cluster, software: Software, port: int, *, durable: bool) -> "subprocess.Popen[bytes]":
    options = [part for option in (*COMMON, *(SAFE if durable else FAST)) for part in ("-c", option)]
    order = {
        "command": [str(software.bin / "postgres"), "-D", str(cluster.data), "-p", str(port), *options],
        "cwd": str(cluster.folder),
        "log": str(cluster.log),
        "users": str(cluster.users),
        "account": cluster.account.popen_options(),
        "remove": None if durable else str(cluster.folder),
    }
    log = os.open(cluster.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
    try:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", str(KEEPER), json.dumps(order)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            # Ctrl-C in the terminal is for us: the server goes last.
            start_new_session=True,
        )
    finally:
        os.close(log)


def _forget_record_of_a_stranger(cluster: Cluster) -> None:
    """PostgreSQL refuses to start when the process id that it wrote down belongs to a living process of its account.

    After a hard stop that number may have gone to another program. The record is removed only when no
    process at all works in the data folder.
    """
    pid, _ = cluster.recorded()
    if pid and sys.platform == "linux" and not all_running_in(cluster.data):
        (cluster.data / "postmaster.pid").unlink(missing_ok=True)


def _last_port(cluster: Cluster) -> int | None:
    try:
        port = int((cluster.folder / "port").read_text())
    except (FileNotFoundError, ValueError):
        return None
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except (OSError, OverflowError):
            return None
    return port


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _reason(said: str) -> str:
    lines = [line for line in said.splitlines() if "FATAL" in line or "PANIC" in line] or said.strip().splitlines()
    return lines[-1].strip()[-300:] if lines else "it gave no reason"
