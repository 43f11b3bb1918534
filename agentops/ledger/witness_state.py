"""What a witness signed last, on disk: written before it answers, so that a crash never lets it sign a fork."""

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.witness import Seen

MOST_BYTES = 1_000_000
_HASH_HEX = 64


class BadState(AgentOpsError):
    """The state of a witness is missing, damaged, or in use. It does not start without, since it could sign a fork."""

    code = "BAD_WITNESS_STATE"
    next_step = "Restore the file. A witness that begins anew is one with a new key: start it with --new."


class StateFile:
    """The file. One process at a time holds it; ``close`` lets go."""

    def __init__(self, path: Path, *, new: bool) -> None:
        """Open the file, or make it when it is a ``new`` one, which must not be there yet. Raises BadState."""
        self._path = path
        try:
            self._lock = os.open(path.with_name(f"{path.name}.lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise BadState(f"the folder of {path} cannot be written ({error.strerror})") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.states = self._begun() if new else self._read()
        except OSError as error:
            os.close(self._lock)
            raise BadState(f"{path} cannot be used ({error.strerror}): another witness may hold it") from None
        except BadState:
            os.close(self._lock)
            raise

    def remember(self, origin: str, seen: Seen) -> None:
        """Put on disk what is about to be signed. When this returns it survives a crash. Raises OSError."""
        states = {**self.states, origin: seen}
        self._write(states)
        self.states = states

    def close(self) -> None:
        """Let another process have it."""
        os.close(self._lock)

    def _begun(self) -> Mapping[str, Seen]:
        if self._path.exists():
            raise BadState(f"{self._path} is there already, so this is no new witness", next_step="Leave out --new.")
        self._write({})
        return {}

    def _read(self) -> Mapping[str, Seen]:
        with self._path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        try:
            found: Any = json.loads(data) if len(data) <= MOST_BYTES else None
            return {origin: _seen(value) for origin, value in found.items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise BadState(f"{self._path} cannot be read as the state of a witness") from None

    def _write(self, states: Mapping[str, Seen]) -> None:
        content = {origin: {"size": seen.size, "root": seen.root.hex()} for origin, seen in states.items()}
        unfinished = self._path.with_name(f"{self._path.name}.new")
        with open(unfinished, "w", encoding="utf-8", opener=_private) as file:
            json.dump(content, file, sort_keys=True)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _seen(value: Any) -> Seen:
    size, root = value["size"], value["root"]
    if type(size) is not int or size < 0 or len(root) != _HASH_HEX:
        raise ValueError
    return Seen(size, bytes.fromhex(root))


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
