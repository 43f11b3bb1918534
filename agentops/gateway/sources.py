"""Where the values of capabilities lie: environment variables, or files that a platform mounts.

A value belongs to one tenant, one environment and one capability. Tenants are told apart by their id, which never
changes; a name that can be given to another tenant would give it the first one's secrets too.
"""

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol
from uuid import UUID

from django.conf import settings

from agentops.kernel.errors import AgentOpsError, FailureKind
from agentops.settings.readers import ENVIRONMENT

MOST_BYTES = 65_536
_OTHERS = stat.S_IWGRP | stat.S_IXGRP | stat.S_IRWXO


@dataclass(frozen=True)
class Wanted:
    """Which value: whose, for which environment (``sandbox`` or ``production``), for which capability."""

    tenant_id: UUID
    environment: str
    capability: str


@dataclass(frozen=True)
class Found:
    """A value, and when it stops being valid if the source knows."""

    value: str = field(repr=False)
    expires_at: datetime | None = None


class SourceFailed(AgentOpsError):
    """A source that cannot say whether it has the value. ``kind`` tells whether to try again. Never holds the value."""

    code = "SECRET_SOURCE_FAILED"
    next_step = "Look at the secret source's settings and its own log."

    def __init__(self, message: str, kind: FailureKind = FailureKind.AUTH) -> None:
        super().__init__(message)
        self.kind = kind


class Source(Protocol):
    """Where values are looked up. Made without arguments, from the settings."""

    def find(self, wanted: Wanted) -> Found | None:
        """Return the value, None when there is none. Raises SourceFailed."""


class EnvironmentSource:
    """Variables named ``TOOL_SECRET_<ENVIRONMENT>_<TENANT'S ID WITHOUT DASHES>_<CAPABILITY>``, in capitals."""

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        self._values = ENVIRONMENT.values if values is None else values

    def find(self, wanted: Wanted) -> Found | None:
        """Return the variable's value; one that is set to nothing is not set."""
        value = self._values.get(variable_of(wanted), "").strip()
        return Found(value) if value else None


def variable_of(wanted: Wanted) -> str:
    """Return the name of the variable that holds a value."""
    return f"TOOL_SECRET_{wanted.environment}_{wanted.tenant_id.hex}_{wanted.capability}".upper()


class FileSource:
    """Files ``<folder>/<environment>/<tenant's id>/<capability>``, which only their owner and its group may read."""

    def __init__(self, folder: Path | None = None) -> None:
        """Take the folder, or that of the settings. Raises SourceFailed when there is none."""
        folder = Path(settings.SECRET_DIR) if folder is None and settings.SECRET_DIR else folder
        if folder is None or not folder.is_absolute():
            raise SourceFailed("SECRET_DIR names no folder, or not from the root.")
        self._folder = folder

    def find(self, wanted: Wanted) -> Found | None:
        """Return the file's content without surrounding blanks. Raises SourceFailed when it must not be used."""
        path = self._folder / wanted.environment / str(wanted.tenant_id) / wanted.capability
        try:
            # A pipe in its place would otherwise be waited for.
            opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise SourceFailed(f"The file of {wanted.capability} cannot be opened ({error.strerror}).") from None
        try:
            self._require_private(os.fstat(opened), path, wanted.capability)
            raw = os.read(opened, MOST_BYTES + 1)
        finally:
            os.close(opened)
        try:
            value = raw.decode().strip()
        except UnicodeDecodeError:
            raise SourceFailed(f"The file of {wanted.capability} is no text.") from None
        if len(raw) > MOST_BYTES:
            raise SourceFailed(f"The file of {wanted.capability} is larger than {MOST_BYTES} bytes.")
        return Found(value) if value else None

    def _require_private(self, facts: os.stat_result, path: Path, capability: str) -> None:
        """Links are followed, because platforms mount files as links, but not out of the folder."""
        if not stat.S_ISREG(facts.st_mode):
            raise SourceFailed(f"The file of {capability} is not a regular file.")
        if facts.st_mode & _OTHERS:
            raise SourceFailed(f"The file of {capability} is open to others (mode {stat.S_IMODE(facts.st_mode):o}).")
        if facts.st_uid not in (0, os.geteuid()):
            raise SourceFailed(f"The file of {capability} belongs to another user.")
        if not path.resolve().is_relative_to(self._folder.resolve()):
            raise SourceFailed(f"The file of {capability} lies outside the folder of secrets.")
