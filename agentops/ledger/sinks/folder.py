"""A folder, best on a disk of another machine. Files are written whole or not at all, and never changed."""

import os
from pathlib import Path

from agentops.ledger.sinks.port import Contradicted, Delivered, SinkFailed, Witnessed

_MOST_BYTES = 1_000_000


class Folder:
    """Keeps each checkpoint as ``SIZE.checkpoint``, the size with 20 digits."""

    latest_only = False

    def __init__(self, name: str, path: Path) -> None:
        """Look at nothing yet."""
        self.name, self._path = name, path

    def deliver(self, checkpoint: Delivered, *, last: int) -> Witnessed:
        """Write the file, unless it is there. Raises SinkFailed, and Contradicted when it has another content."""
        place = self._path / f"{checkpoint.size:020}.checkpoint"
        try:
            self._write(place, checkpoint.note)
            found = _content(place)
        except OSError as error:
            raise SinkFailed(f"{place} cannot be written ({error.strerror})") from None
        if found != checkpoint.note:
            raise Contradicted(f"{place} holds another checkpoint of this size")
        return Witnessed()

    def _write(self, place: Path, note: bytes) -> None:
        # The folder is not made: where a disk is not mounted, the files would go to this one.
        unfinished = place.with_name(f".{place.name}.unfinished")
        # What a killed process left; it is not written over, since another one may be about to link it.
        unfinished.unlink(missing_ok=True)
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(note)
                file.flush()
                os.fsync(file.fileno())
            try:
                # Unlike a rename, this leaves alone what is there.
                os.link(unfinished, place)
            except FileExistsError:
                return
            _sync(self._path)
        finally:
            unfinished.unlink(missing_ok=True)


def _content(place: Path) -> bytes:
    with place.open("rb") as file:
        return file.read(_MOST_BYTES)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
