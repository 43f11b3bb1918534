"""File locks. The kernel gives them back when a process ends, however it ends."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def open_lock(path: Path, how: int) -> int:
    """Open ``path`` and take the lock ``how`` (a ``fcntl.LOCK_*`` value); return the open descriptor.

    The lock is given back when the descriptor is closed. Raises BlockingIOError for ``LOCK_NB``.
    """
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, how)
        except BaseException:
            os.close(descriptor)
            raise
        # The file may have been removed with its folder while we waited: that lock guards nothing.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the exclusive lock on ``path`` inside the block; waits for it."""
    descriptor = open_lock(path, fcntl.LOCK_EX)
    try:
        yield
    finally:
        os.close(descriptor)
