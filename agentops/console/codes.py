"""Short names of long ids, and reading back whatever a person pastes. Pure."""

import base64
import binascii
import re
from uuid import UUID

_CODE = re.compile(r"(?:S|AR)-([A-Z2-7]{8})\Z")


def session_code(session_id: UUID) -> str:
    """Return the short name that people use for a session, from the random end of its id."""
    return "S-" + base64.b32encode(session_id.bytes[-5:]).decode()


def tail_of(code: str) -> str | None:
    """Return the last ten hexadecimal digits that a short name stands for, None when it is not one."""
    found = _CODE.match(code.strip().upper())
    if found is None:
        return None
    try:
        return base64.b32decode(found[1]).hex()
    except binascii.Error:
        return None


def as_uuid(text: str) -> UUID | None:
    """Return the id that ``text`` writes out, None when it is not one."""
    try:
        return UUID(text.strip())
    except ValueError:
        return None
