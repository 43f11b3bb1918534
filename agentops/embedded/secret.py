"""A random secret that stays the same for one folder."""

import os
import secrets
from pathlib import Path


def stored_secret(folder: Path) -> str:
    """Return the secret kept in ``folder`` (mode 0600), making both when needed. Raises OSError."""
    path = folder / "secret_key"
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = folder / f"secret_key.{os.getpid()}"
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(secrets.token_urlsafe(64))
        try:
            # Unlike a rename this leaves alone what another process made at the same moment.
            os.link(unfinished, path)
        except FileExistsError:
            pass
        finally:
            unfinished.unlink()
    return path.read_text()
