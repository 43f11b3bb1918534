"""Which cluster the settings name, and what is wrong with how they do. Needs no client of Kubernetes."""

import re
import ssl
from collections.abc import Iterator
from functools import cache
from urllib.parse import urlsplit

from django.conf import settings

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.ASCII)
_NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\Z", re.ASCII)
"""A label of RFC 1123: it becomes part of paths."""


def address() -> str:
    """Return where the cluster's API is, empty when the settings name no address that a token may be sent to.

    That is https, or this machine. It holds no password, which would stand in logs, and no query.
    """
    url = str(settings.KUBERNETES_URL).rstrip("/")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        return ""
    plain = not (parts.username or parts.password or "@" in parts.netloc or parts.query or parts.fragment)
    safe = (parts.scheme == "https" and host) or (parts.scheme == "http" and host in _LOOPBACK)
    return url if plain and safe and url.isascii() and url.isprintable() and " " not in url else ""


@cache
def certificates(path: str) -> ssl.SSLContext | None:
    """Return what the cluster's certificate is verified with, None for what every server's is. Raises OSError."""
    return ssl.create_default_context(cafile=path) if path else None


def problems() -> Iterator[str]:
    """Yield in sentences what keeps the settings from being used. No value is repeated: it may be a credential."""
    if not address():
        yield "KUBERNETES_URL is no https address, or one of this machine, without a password and a query."
    if not _UID.match(str(settings.KUBERNETES_CLUSTER)):
        yield "KUBERNETES_CLUSTER is no uid of a namespace kube-system, so no cluster is the one that is meant."
    if not settings.KUBERNETES_NAMESPACES or not all(map(_NAMESPACE.match, settings.KUBERNETES_NAMESPACES)):
        yield "KUBERNETES_NAMESPACES are no names of namespaces."
    try:
        certificates(str(settings.KUBERNETES_CA_FILE))
    except OSError:
        yield "KUBERNETES_CA_FILE holds no certificates, or cannot be read."
