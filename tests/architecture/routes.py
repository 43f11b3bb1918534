"""Every address that the installation serves, found by walking its resolvers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

from django.conf import settings
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils.module_loading import import_string

SAMPLES = {"app_label": "approvals", "url": "none"}
"""Values for the parts of an address that are not of just any text."""


@dataclass(frozen=True)
class Route:
    """``name`` with its namespaces, and an address that it matches."""

    name: str
    url: str


def all_routes() -> list[Route]:
    """Return every HTTP route of the installation."""
    return list(_walk(get_resolver().url_patterns, "", "/"))


def all_sockets() -> set[str]:
    """Return the address of every socket of the installation."""
    patterns = chain.from_iterable(import_string(path) for path in settings.WEBSOCKET_ROUTES)
    return {str(pattern.pattern) for pattern in patterns}


def _walk(patterns: Sequence[URLPattern | URLResolver], space: str, prefix: str) -> Iterator[Route]:
    for pattern in patterns:
        url = prefix + _sample(pattern)
        if isinstance(pattern, URLPattern):
            yield Route(f"{space}{pattern.name or ''}", url)
        else:
            inner = f"{space}{pattern.namespace}:" if pattern.namespace else space
            yield from _walk(pattern.url_patterns, inner, url)


def _sample(pattern: URLPattern | URLResolver) -> str:
    """Return text that the pattern matches; ids are those of nothing."""
    route = pattern.pattern
    if hasattr(route, "regex") and not hasattr(route, "_route"):
        text = str(route).removeprefix("^").removesuffix("$")
        for name in route.regex.groupindex:
            start = text.index(f"(?P<{name}>")
            text = text[:start] + SAMPLES[name] + text[text.index(")", start) + 1 :]
        return text
    text = str(route)
    for name, converter in route.converters.items():
        for written in (f"<{name}>", *(f"<{kind}:{name}>" for kind in ("int", "uuid", "path", "slug", "str"))):
            text = text.replace(written, _VALUES.get(type(converter).__name__, "1"))
    return text


_VALUES = {"UUIDConverter": "01890000-0000-7000-8000-000000000001"}
