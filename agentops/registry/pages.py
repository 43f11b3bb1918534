"""What the roles' lists have in common: what is asked of a list, tabs above it, addresses of its pages. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

MOST_TEXT = 200
LAST_KEY = 2**63 - 1
"""The largest key that the database keeps."""


@dataclass(frozen=True)
class Status:
    """A status in words. ``kind`` is one of the kinds that the pages of the control plane mark."""

    kind: str
    word: str


@dataclass(frozen=True)
class Tab:
    """A choice above a list."""

    label: str
    url: str
    current: bool


def text_in(params: Mapping[str, str]) -> str:
    """Return what an address searches for, without null characters and at most MOST_TEXT characters."""
    return params.get("q", "").replace("\x00", "").strip()[:MOST_TEXT]


def key_in(params: Mapping[str, str]) -> int | None:
    """Return the key of a row that an address goes on from, at most LAST_KEY, None when it says none."""
    text = params.get("before", "")
    return min(int(text), LAST_KEY) if text.isascii() and text.isdecimal() and len(text) < 20 else None


def list_url(text: str, bucket: str, before: int | None = None) -> str:
    """Return the relative address of a list's page, with search and bucket; ``before`` goes on from a row's key."""
    params = {"q": text, "bucket": bucket, "before": "" if before is None else str(before)}
    return "?" + urlencode({name: value for name, value in params.items() if value})
