"""The data folder of the embedded server: made once, completely or not at all."""

import os
import secrets
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from agentops.embedded.access import USER
from agentops.embedded.account import Account
from agentops.embedded.errors import EmbeddedPostgresError
from agentops.embedded.software import Software

BUILTIN_LOCALE_SINCE = 17


@dataclass(frozen=True)
class Cluster:
    """The folder with everything that belongs to one server, and the account that runs it."""

    folder: Path
    account: Account

    @property
    def data(self) -> Path:
        """PostgreSQL's own data folder."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """What the server said since its last start."""
        return self.folder / "postgres.log"

    @property
    def users(self) -> Path:
        """The lock file that each user of the server holds."""
        return self.folder / "users.lock"

    def password(self) -> str:
        """Return the password. Raises EmbeddedPostgresError when its file is gone."""
        try:
            return (self.folder / "password").read_text()
        except FileNotFoundError as error:
            raise EmbeddedPostgresError(f"the password file in {self.folder} is missing") from error

    def recorded(self) -> tuple[int, int]:
        """Process id and port that the server wrote down; zeros when there is no complete record."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            return int(lines[0]), int(lines[3])
        except (FileNotFoundError, IndexError, ValueError):
            return 0, 0

    def create(self, software: Software, *, durable: bool) -> None:
        """Create the data folder unless it is there. A half-made one from an interrupted start is made anew.

        Raises EmbeddedPostgresError, also when another major version made the existing one.
        """
        if self.data.is_dir():
            self._check_version(software)
            return
        unfinished = self.folder / "data.new"
        if unfinished.exists():
            shutil.rmtree(unfinished)
        unfinished.mkdir(mode=0o700)
        secret = self._write_secret()
        try:
            if self.account.uid is not None and self.account.gid is not None:
                os.chown(unfinished, self.account.uid, self.account.gid)
                os.chown(secret, self.account.uid, self.account.gid)
            answer = self.account.run(_initdb(software, unfinished, secret, durable=durable), cwd=self.folder)
        finally:
            password = secret.read_text()
            secret.unlink()
        if answer.returncode != 0:
            raise EmbeddedPostgresError(f"the database could not be created: {_last_line(answer.stderr)}")
        self._store_password(password)
        unfinished.rename(self.data)

    def _check_version(self, software: Software) -> None:
        made_by = (self.data / "PG_VERSION").read_text().strip()
        if made_by != str(software.major):
            raise EmbeddedPostgresError(
                f"the data was made by PostgreSQL {made_by}, and the one found now is {software.major}"
            )

    def _write_secret(self) -> Path:
        """A password file that only the server's account can read, for the time that initdb needs it."""
        path = self.folder / "password.initdb"
        path.unlink(missing_ok=True)
        _write_private(path, secrets.token_urlsafe(32))
        return path

    def _store_password(self, password: str) -> None:
        path = self.folder / "password"
        path.unlink(missing_ok=True)
        _write_private(path, password)


def _write_private(path: Path, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)


def _initdb(software: Software, data: Path, secret: Path, *, durable: bool) -> list[str | Path]:
    if software.major >= BUILTIN_LOCALE_SINCE:
        locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    else:
        locale = ["--locale=C.UTF-8" if sys.platform == "linux" else "--locale=en_US.UTF-8"]
    safety = [] if durable else ["--no-sync", "--wal-segsize=1"]
    return [
        software.bin / "initdb",
        f"--pgdata={data}",
        f"--username={USER}",
        f"--pwfile={secret}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        *locale,
        *safety,
    ]


def _last_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return lines[-1].strip()[-300:] if lines else "initdb gave no reason"
