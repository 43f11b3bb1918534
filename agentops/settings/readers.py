"""Read settings from the environment. A missing or unreadable value stops the program with one sentence.

A variable that is set to nothing counts as not set. Secrets may instead be named by ``<NAME>_FILE``, the path of
a file that holds the value, as container platforms mount them.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import environ
from django.core.exceptions import ImproperlyConfigured

YES = ("1", "true", "yes", "on")
NO = ("0", "false", "no", "off")
MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtps": 465}


@dataclass(frozen=True)
class Environment:
    """Typed access to environment variables; every method raises ImproperlyConfigured."""

    values: Mapping[str, str]

    def text(self, name: str, default: str | None = None) -> str:
        """Return the value without surrounding blanks. Without a default the variable is required."""
        value = self.values.get(name, "").strip()
        if value:
            return value
        if default is None:
            raise ImproperlyConfigured(f"Set the environment variable {name}.")
        return default

    def secret(self, name: str, default: str | None = None) -> str:
        """Return the value of ``name`` or the content of the file that ``<name>_FILE`` names."""
        path = self.text(f"{name}_FILE", "")
        if not path:
            if default is None and not self.text(name, ""):
                raise ImproperlyConfigured(f"Set the environment variable {name}, or {name}_FILE to a file with it.")
            return self.text(name, default)
        if self.text(name, ""):
            raise ImproperlyConfigured(f"Set either {name} or {name}_FILE, not both.")
        try:
            value = Path(path).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ImproperlyConfigured(f"{name}_FILE names {path}, which cannot be read: {error}.") from error
        if not value:
            raise ImproperlyConfigured(f"{name}_FILE names {path}, which is empty.")
        return value

    def flag(self, name: str, default: bool) -> bool:
        """Return a yes or no."""
        value = self.text(name, "").lower()
        if not value:
            return default
        if value in YES or value in NO:
            return value in YES
        raise ImproperlyConfigured(f"{name} is {value!r}; write one of {', '.join((*YES, *NO))}.")

    def number(self, name: str, default: int, *, least: int, most: int) -> int:
        """Return a whole number between ``least`` and ``most``, both included."""
        value = self.text(name, str(default))
        if value.isascii() and value.isdigit() and least <= int(value) <= most:
            return int(value)
        raise ImproperlyConfigured(f"{name} is {value!r}; write a whole number from {least} to {most}.")

    def choice(self, name: str, default: str, among: tuple[str, ...]) -> str:
        """Return one of the words ``among``."""
        value = self.text(name, default).lower()
        if value in among:
            return value
        raise ImproperlyConfigured(f"{name} is {value!r}; write one of {', '.join(among)}.")

    def words(self, name: str, default: tuple[str, ...] | None = None) -> list[str]:
        """Return a comma-separated list. Without a default at least one word is required."""
        value = self.text(name, None if default is None else ",".join(default))
        return [word.strip() for word in value.split(",") if word.strip()]

    def database(self, name: str) -> dict[str, Any] | None:
        """Return Django's dictionary for a ``postgres://`` address, or None when the variable is not set."""
        address = self.secret(name, "")
        if not address:
            return None
        if urlsplit(address).scheme not in ("postgres", "postgresql"):
            raise ImproperlyConfigured(f"{name} must start with postgres://, the only database that is supported.")
        try:
            database: dict[str, Any] = environ.Env.db_url_config(address)
        except ValueError as error:
            raise ImproperlyConfigured(f"{name} is not a database address: {error}.") from error
        if not database["NAME"]:
            raise ImproperlyConfigured(f"{name} lacks the database's name: postgres://user:password@host:5432/NAME.")
        return database

    def redis(self, name: str) -> str:
        """Return a ``redis://``, ``rediss://`` or ``unix://`` address, or nothing when the variable is not set."""
        address = self.secret(name, "")
        if address and urlsplit(address).scheme not in ("redis", "rediss", "unix"):
            raise ImproperlyConfigured(f"{name} must start with redis://, rediss:// or unix://.")
        return address

    def web_address(self, name: str) -> str:
        """Return an ``http(s)://`` address, or nothing when the variable is not set."""
        address = self.text(name, "")
        if address and (urlsplit(address).scheme not in ("http", "https") or not urlsplit(address).hostname):
            raise ImproperlyConfigured(f"{name} must be an address that starts with https:// or http://.")
        return address

    def mail(self, name: str) -> dict[str, Any]:
        """Return Django's settings of mail for an address; none when the variable is not set.

        ``smtp://``, ``smtp+tls://`` (STARTTLS) or ``smtps://``, each with ``user:password@host:port``; or
        ``file:///folder``, which writes each mail into a folder.
        """
        address = self.secret(name, "")
        if not address:
            return {}
        try:
            parts = urlsplit(address)
            port = parts.port
        except ValueError:
            raise ImproperlyConfigured(f"{name} is not an address of a mail server.") from None
        if parts.scheme == "file" and parts.path not in ("", "/") and not parts.netloc:
            return {"BACKEND": "django.core.mail.backends.filebased.EmailBackend", "FILE_PATH": parts.path}
        if parts.scheme not in MAIL_PORTS or not parts.hostname:
            raise ImproperlyConfigured(
                f"{name} must be smtp+tls://user:password@host:port, smtps://…, or file:///folder."
            )
        return {
            "BACKEND": "django.core.mail.backends.smtp.EmailBackend",
            "HOST": parts.hostname,
            "PORT": port or MAIL_PORTS[parts.scheme],
            "HOST_USER": unquote(parts.username or ""),
            "HOST_PASSWORD": unquote(parts.password or ""),
            "USE_TLS": parts.scheme == "smtp+tls",
            "USE_SSL": parts.scheme == "smtps",
        }


ENVIRONMENT = Environment(os.environ)
