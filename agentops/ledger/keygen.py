"""Making a key that signs checkpoints. Nothing here knows the settings, which use it themselves in the demo."""

import os
import secrets
from pathlib import Path

from agentops.kernel.errors import AgentOpsError
from agentops.ledger.notes import ED25519, SigningKey


class KeyNotWritten(AgentOpsError):
    """The file of a key cannot be written, or is there already."""

    code = "KEY_NOT_WRITTEN"
    next_step = "Name a file that is not there yet, in a folder that may be written."


def new_key(name: str, kind: int = ED25519) -> SigningKey:
    """Return a new key. Raises BadNote when ``name`` cannot be one."""
    return SigningKey(name, secrets.token_bytes(32), kind)


def write_key(key: SigningKey, path: Path) -> None:
    """Write a private key into a new file that its owner alone may read. Raises KeyNotWritten."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{key.skey()}\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise KeyNotWritten(f"{path} cannot be written ({error.strerror}).") from None
