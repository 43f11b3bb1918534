"""A PostgreSQL server of our own: started when first needed, gone when its last user has gone.

Nobody else gets in: it listens on 127.0.0.1 only and asks for a random password, which lies in a file of
mode 0600 in a folder that only we may list.
"""

import atexit
import fcntl
import os
import re
import shutil
import subprocess
import threading
import time
from pathlib import Path

import psycopg

from agentops.embedded.access import Access
from agentops.embedded.account import server_account
from agentops.embedded.cluster import Cluster
from agentops.embedded.errors import EmbeddedPostgresError
from agentops.embedded.home import home_for
from agentops.embedded.launch import PATIENCE, launch
from agentops.embedded.locks import locked, open_lock
from agentops.embedded.processes import end_server, runs_in
from agentops.embedded.software import find_software

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


class EmbeddedPostgres:
    """One server with one data folder, shared by every process that names the same ``base`` and ``name``.

    ``base`` is the folder below which our files lie or are pointed to; ``durable`` False trades safety in a power
    cut for speed, and the data is deleted when the last user has gone. Safe to use from several threads.
    """

    def __init__(self, base: Path, name: str = "demo", *, durable: bool = True) -> None:
        if not NAME.fullmatch(name):
            raise ValueError(f"{name!r} cannot be the name of a cluster")
        self.base = base
        self.name = name
        self.durable = durable
        self._guard = threading.RLock()
        self._cluster: Cluster | None = None
        self._users: int | None = None
        self._process = 0
        self._access: Access | None = None
        self._keeper: subprocess.Popen[bytes] | None = None

    def ensure(self) -> Access:
        """Return how to reach the server, starting it when it does not run. Cheap when it does.

        Raises EmbeddedPostgresError with one sentence that says why it cannot run.
        """
        with self._guard:
            try:
                cluster = self.cluster
                if self._access is not None and self._joined and runs_in(cluster.recorded()[0], cluster.data):
                    return self._access
                self._join(cluster)
                with locked(cluster.folder / "start.lock"):
                    self._access = self._running(cluster) or self._start(cluster)
                    self._access.create_database()
            except (OSError, psycopg.Error) as error:
                raise EmbeddedPostgresError(f"the embedded database could not be prepared: {error}") from error
            return self._access

    def stop(self) -> None:
        """Stop using the server. When nobody else uses it, it has ended by the time this returns."""
        with self._guard:
            if not self._joined or self._users is None or self._cluster is None:
                return
            users, self._users, self._access = self._users, None, None
            atexit.unregister(self.stop)
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self._wait_for_keeper(self._cluster)
            else:
                self._end(self._cluster, remove=not self.durable)
            finally:
                os.close(users)
            if self._keeper is not None and self._keeper_is_done():
                self._keeper = None

    def destroy(self) -> None:
        """Stop the server and delete its data. Raises EmbeddedPostgresError while another process uses it."""
        with self._guard:
            self.stop()
            cluster = self.cluster
            try:
                users = open_lock(cluster.users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise EmbeddedPostgresError("the data cannot be deleted while another process uses it") from error
            try:
                self._end(cluster, remove=True)
            except OSError as error:
                raise EmbeddedPostgresError(f"the data could not be deleted: {error}") from error
            finally:
                os.close(users)

    @property
    def cluster(self) -> Cluster:
        """The folder of this server, created when needed. Raises EmbeddedPostgresError."""
        if self._cluster is None:
            account = server_account()
            folder = home_for(self.base, account) / self.name
            # The server's account has to pass through to its data, but nobody may list what lies beside it.
            folder.mkdir(mode=0o711 if account.switches else 0o700, exist_ok=True)
            self._cluster = Cluster(folder.resolve(), account)
        return self._cluster

    @property
    def _joined(self) -> bool:
        return self._users is not None and self._process == os.getpid()

    def _join(self, cluster: Cluster) -> None:
        """Count as a user from now on; waits while a server without users is being ended."""
        if not self._joined:
            self._users = open_lock(cluster.users, fcntl.LOCK_SH)
            self._process = os.getpid()
            atexit.register(self.stop)

    def _running(self, cluster: Cluster) -> Access | None:
        """Wait for the server, which may be starting or recovering. None when there is none, or it was ending."""
        pid, port = cluster.recorded()
        if not runs_in(pid, cluster.data):
            return None
        access = Access(port, cluster.password())
        deadline = time.monotonic() + PATIENCE
        while not access.answers():
            if not runs_in(pid, cluster.data):
                return None
            if time.monotonic() > deadline:
                raise EmbeddedPostgresError(f"the database server (process {pid}) runs but does not answer")
            time.sleep(0.05)
        return access

    def _start(self, cluster: Cluster) -> Access:
        software = find_software(cluster.folder.parent, cluster.account)
        cluster.create(software, durable=self.durable)
        if self._keeper is not None:
            self._keeper_is_done()
        access, self._keeper = launch(cluster, software, durable=self.durable)
        return access

    def _end(self, cluster: Cluster, *, remove: bool) -> None:
        pid, _ = cluster.recorded()
        if runs_in(pid, cluster.data) and not end_server(pid, cluster.data):
            raise EmbeddedPostgresError(f"the database server (process {pid}) could not be ended")
        if remove and cluster.folder.exists():
            shutil.rmtree(cluster.folder)
        if remove:
            self._cluster = None

    def _wait_for_keeper(self, cluster: Cluster) -> None:
        """Somebody else uses the server, or its keeper saw before us that nobody does and is ending it now."""
        try:
            os.close(open_lock(cluster.users, fcntl.LOCK_SH | fcntl.LOCK_NB))
        except BlockingIOError:
            os.close(open_lock(cluster.users, fcntl.LOCK_SH))

    def _keeper_is_done(self) -> bool:
        """Collect the keeper that we started, if it has ended or is about to."""
        if self._keeper is None:
            return True
        try:
            self._keeper.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            return False
        return True
