"""Where the embedded server keeps its files.

They lie in the folder that the caller names. When we are root the server runs as another account, which
may be unable to reach that folder (a clone in a home of mode 0700). Opening somebody's home is not ours to
do, so the files then go to a folder of our own, and the caller's folder keeps a pointer to it.
"""

import os
import shutil
import stat
import tempfile
from pathlib import Path

from agentops.embedded.account import Account
from agentops.embedded.errors import EmbeddedPostgresError
from agentops.embedded.locks import locked

POINTER = "elsewhere"
OWNER = "belongs-to"
CANDIDATES = ("/var/tmp", "/var/lib")  # noqa: S108 - a folder with a random name is made in it


def home_for(base: Path, account: Account) -> Path:
    """Return the folder for the server's files, creating it when needed. ``base`` is created with mode 0700.

    Raises EmbeddedPostgresError when nothing can be created.
    """
    try:
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not account.switches:
            return base
        with locked(base / "home.lock"):
            return _pointed(base) or _create_elsewhere(base)
    except OSError as error:
        raise EmbeddedPostgresError(f"could not create a folder for the database: {error}") from error


def remove_home(base: Path) -> None:
    """Delete ``base`` and the folder that it points to. Raises EmbeddedPostgresError."""
    try:
        elsewhere = _pointed(base)
        if elsewhere is not None:
            shutil.rmtree(elsewhere)
        shutil.rmtree(base)
    except OSError as error:
        raise EmbeddedPostgresError(f"the folder of the database could not be deleted: {error}") from error


def _pointed(base: Path) -> Path | None:
    """The folder that the pointer names, if it is still ours: a stranger may have put another one there."""
    try:
        home = Path((base / POINTER).read_text().strip())
        status = home.lstat()
        owner = (home / OWNER).read_text()
    except FileNotFoundError:
        return None
    ours = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022
    return home if ours and owner == str(base.resolve()) else None


def _create_elsewhere(base: Path) -> Path:
    home = Path(tempfile.mkdtemp(prefix="agentops-", dir=_reachable_parent()))
    home.chmod(0o711)
    (home / OWNER).write_text(str(base.resolve()))
    pointer = base / f"{POINTER}.new"
    pointer.write_text(f"{home}\n")
    pointer.rename(base / POINTER)
    return home


def _reachable_parent() -> Path:
    for name in (*CANDIDATES, tempfile.gettempdir()):
        folder = Path(name).resolve()
        if folder.is_dir() and os.access(folder, os.W_OK) and _anyone_may_run_programs_in(folder):
            return folder
    raise EmbeddedPostgresError("found no folder that an unprivileged account can reach to keep the database in")


def _anyone_may_run_programs_in(folder: Path) -> bool:
    passable = all(step.stat().st_mode & stat.S_IXOTH for step in (folder, *folder.parents))
    return passable and not os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0)
