"""Identifiers: UUIDv7, so that ids sort by the time they were made (RFC 9562, section 5.7)."""

from datetime import datetime
from uuid import UUID, uuid5

import uuid_utils.compat

_LETTERS = str.maketrans("0123456789abcdef", "GHJKLMNPQRABCDEF")
_NAMESPACE = UUID("6f1f3c52-6a55-5b5f-9a4f-3a0c3df1a9ce")


def new_id() -> UUID:
    """Return a fresh time-ordered id."""
    return uuid_utils.compat.uuid7()


def short_ref(prefix: str, of: UUID | None = None) -> str:
    """Return a name that people can say, ``INC-RGHTAEKPBD``: the prefix and 40 random bits, of ``of`` when it is given.

    It has no digits, since a name of digits alone would look like a telephone number to whoever looks for those.
    """
    return f"{prefix}-{(of or new_id()).hex[-10:].translate(_LETTERS)}"


def first_id(at: datetime) -> UUID:
    """Return the first id that a moment from 1970 on could have made: whatever was made before it sorts below."""
    return UUID(int=max(int(at.timestamp() * 1000), 0) << 80)


def derived_id(*parts: str) -> UUID:
    """Return the id that always belongs to ``parts``, for example a configuration object's ledger stream."""
    return uuid5(_NAMESPACE, "\x1f".join(parts))
