"""Random secrets that stay the same for one folder."""

import base64
import os
import secrets
from collections.abc import Callable
from pathlib import Path


def new_secret() -> str:
    """Return a secret for signing: 64 random bytes as text."""
    return secrets.token_urlsafe(64)


def new_master_key() -> str:
    """Return a master key of the vault: 32 random bytes as base64."""
    return base64.b64encode(secrets.token_bytes(32)).decode()


def stored_secret(folder: Path, name: str = "secret_key", *, make: Callable[[], str] = new_secret) -> str:
    """Return the secret kept as ``name`` in ``folder`` (mode 0600), making both when needed. Raises OSError."""
    path = folder / name
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = folder / f"{name}.{os.getpid()}"
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(make())
        try:
            # Unlike a rename this leaves alone what another process made at the same moment.
            os.link(unfinished, path)
        except FileExistsError:
            pass
        finally:
            unfinished.unlink()
    return path.read_text()
