"""Values from a vault that speaks the KV version 2 protocol over HTTP, such as HashiCorp Vault or OpenBao.

``GET <address>/v1/<mount>/data/agentops/<environment>/<tenant's id>/<capability>`` answers with a JSON object whose
``data.data.value`` is the secret and whose ``data.data.expires_at``, where there is one, tells until when it is valid.
Protocol: https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2, read a secret version.
"""

import re
from datetime import datetime
from typing import Any

from django.conf import settings

from agentops.gateway.sources import Found, SourceFailed, Wanted
from agentops.kernel.canonical import BadJSON, parse_json
from agentops.kernel.errors import FailureKind
from agentops.net.http import NotReached, Reply, get

MOST_BYTES = 262_144
SECONDS = 5.0
_MOUNT = re.compile(r"[A-Za-z0-9_-]+(?:/[A-Za-z0-9_-]+)*\Z", re.ASCII)


class VaultSource:
    """A vault, asked with one token. It is trusted to keep tenants and environments apart by path."""

    def __init__(self, address: str | None = None, token: str | None = None, mount: str | None = None) -> None:
        """Take the settings, or what is given instead. Raises SourceFailed when they cannot be used."""
        self._address = (settings.SECRET_VAULT_URL if address is None else address).rstrip("/")
        self._token = settings.SECRET_VAULT_TOKEN if token is None else token
        self._mount = settings.SECRET_VAULT_MOUNT if mount is None else mount
        if not self._address or not self._token or not _MOUNT.match(self._mount):
            raise SourceFailed("SECRET_VAULT_URL, SECRET_VAULT_TOKEN or SECRET_VAULT_MOUNT cannot be used.")

    def find(self, wanted: Wanted) -> Found | None:
        """Return the newest version of the value. Raises SourceFailed."""
        path = f"agentops/{wanted.environment}/{wanted.tenant_id}/{wanted.capability}"
        try:
            reply = get(
                f"{self._address}/v1/{self._mount}/data/{path}",
                headers={"X-Vault-Token": self._token, "X-Vault-Request": "true"},
                seconds=SECONDS,
                most_bytes=MOST_BYTES,
            )
        except NotReached as error:
            raise SourceFailed(f"The vault {error.message}.", FailureKind.UNAVAILABLE) from None
        return _read(reply, wanted.capability)


def _read(reply: Reply, capability: str) -> Found | None:
    if reply.status == 404:
        return None
    if reply.status != 200:
        kind = FailureKind.AUTH if reply.status in (400, 401, 403) else FailureKind.UNAVAILABLE
        raise SourceFailed(f"The vault answered with status {reply.status} about {capability}.", kind)
    held: Any = None
    try:
        held = parse_json(reply.body, max_bytes=MOST_BYTES)["data"]["data"]
        value, until = held["value"], held.get("expires_at")
        expires_at = None if until is None else datetime.fromisoformat(until)
    except (BadJSON, KeyError, TypeError, ValueError, AttributeError):
        # Neither the answer nor the reader's complaint about it is repeated: both may hold the value.
        raise SourceFailed(f"The vault's answer about {capability} has no readable value.") from None
    if not isinstance(value, str) or (expires_at is not None and expires_at.tzinfo is None):
        raise SourceFailed(f"The vault's answer about {capability} has no readable value.")
    return Found(value, expires_at) if value else None
