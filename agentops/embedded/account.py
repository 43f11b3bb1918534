"""Which operating-system account the database server runs as. PostgreSQL refuses to run as root."""

import os
import pwd
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agentops.embedded.errors import EmbeddedPostgresError

UNPRIVILEGED = ("postgres", "nobody")


@dataclass(frozen=True)
class Account:
    """``uid`` and ``gid`` to switch to; None means the server runs as whoever started us."""

    uid: int | None = None
    gid: int | None = None

    @property
    def switches(self) -> bool:
        """True when the server runs as somebody else than this process."""
        return self.uid is not None

    def popen_options(self) -> dict[str, Any]:
        """Arguments for ``subprocess.Popen`` that drop every privilege for good before the program starts."""
        if self.uid is None:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def run(self, command: Sequence[str | Path], *, cwd: Path) -> subprocess.CompletedProcess[str]:
        """Run a short program as this account and return its exit code and output. Raises EmbeddedPostgresError."""
        try:
            return subprocess.run(
                [str(part) for part in command],
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=120,
                check=False,
                **self.popen_options(),
            )
        except (OSError, subprocess.SubprocessError) as error:
            raise EmbeddedPostgresError(f"could not run {command[0]}: {error}") from error


def server_account() -> Account:
    """Return the account for the server: ours, or an unprivileged one when we are root."""
    if os.geteuid() != 0:
        return Account()
    for name in UNPRIVILEGED:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(entry.pw_uid, entry.pw_gid)
    raise EmbeddedPostgresError(
        "PostgreSQL does not run as root, and this machine has neither a 'postgres' nor a 'nobody' account to run it as"
    )
