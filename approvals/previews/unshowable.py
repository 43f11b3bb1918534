"""What no person can inspect: too large, no text, or text that is only the wrapping of something else (pure)."""

import base64
import binascii
import hashlib
import re
import unicodedata
from collections.abc import Iterator
from typing import Any

MOST_SHOWN = 100_000
"""Characters of one value that a page shows. Nobody reads more, so more is not passed off as read."""

_FEW = 8
_SHARE = 0.1
_SHORTEST_WRAPPED = 256
_LEAST_MIXED = 20
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_HEX = re.compile(r"(?:[0-9a-f]{2})+|(?:[0-9A-F]{2})+")


def unshowable(text: str) -> str:
    """Return why a value cannot be inspected, in a few words; empty when it can."""
    if len(text) > MOST_SHOWN:
        return "too large to be read"
    if _is_binary(text):
        return "not text"
    return "encoded, not readable" if _is_wrapped(text) else ""


def unshowable_in(value: Any) -> Iterator[str]:
    """Yield why each leaf or key of an argument cannot be inspected. All of it together can be too large as well."""
    waiting, size = [value], 0
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            waiting += [*one.keys(), *one.values()]
        elif isinstance(one, list | tuple):
            waiting += one
        elif isinstance(one, str):
            size += len(one)
            why = unshowable(one)
            if why:
                yield why
    if size > MOST_SHOWN:
        yield "too large to be read"


def digest_of(text: str) -> str:
    """Return the SHA-256 of a text as UTF-8, by which it can be told from another."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _is_binary(text: str) -> bool:
    if text.isascii() and text.isprintable():
        return False
    odd = sum(1 for c in text if c == "\ufffd" or (c not in "\n\r\t" and unicodedata.category(c) in _NO_TEXT))
    return odd >= _FEW and odd >= _SHARE * len(text)


_NO_TEXT = frozenset({"Cc", "Cn", "Co", "Cs"})


def _is_wrapped(text: str) -> bool:
    """Base64 or hex of some length. Words and numbers that merely use the same letters are less mixed."""
    solid = "".join(text.split())
    if len(solid) < _SHORTEST_WRAPPED:
        return False
    if _HEX.fullmatch(solid):
        return len(set(solid)) >= _LEAST_MIXED // 2 and not solid.isdigit()
    if len(solid) < len(text) * 0.9 or not _BASE64.fullmatch(solid):
        return False
    if len(set(solid)) < _LEAST_MIXED or not all(any(test(c) for c in solid) for test in _KINDS):
        return False
    padded = solid.rstrip("=")
    try:
        base64.b64decode(padded + "=" * (-len(padded) % 4), altchars=b"-_" if set(solid) & set("-_") else None)
    except (binascii.Error, ValueError):
        return False
    return True


_KINDS = (str.isupper, str.islower, str.isdigit)
