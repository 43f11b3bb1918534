"""What keeps data about people tells and erases it here (pure).

A holder is named in ``settings.SUBJECT_HOLDERS``, or by its role. It is called inside the transaction that destroys the
subject's keys, so that either everything is erased or nothing.
"""

import re
from typing import Protocol
from uuid import UUID

from agentops.kernel.canonical import JSON
from agentops.kernel.errors import AgentOpsError

ERASED = "Erased"
"""What stands where a text may not be empty."""


class CannotErase(AgentOpsError):
    """Something stands in the way of erasing a person's data, so nothing was erased."""

    code = "CANNOT_ERASE"
    next_step = "Remove what stands in the way, then erase again."


class SubjectHolder(Protocol):
    """Keeps data about people in rows of its own. ``subject`` is as in ``registry.subjects``.

    One that knows nothing about a kind of subject holds nothing about it.
    """

    @property
    def name(self) -> str:
        """What the report of an erasure and the export call it, in a word or two."""

    def held(self, tenant_id: UUID, subject: str) -> JSON:
        """Return everything that is held about the subject, as JSON for the person to read; empty for nothing."""

    def erase(self, tenant_id: UUID, subject: str) -> int:
        """Remove what names or describes the subject, in the caller's transaction, and return how many rows changed.

        Amounts, dates and ids that the books need stay. Raises CannotErase.
        """


_ID = re.compile(r"(?=.{3,64}\Z)(?:[A-Za-z]{1,12}[-_][A-Za-z0-9_-]*[0-9][A-Za-z0-9_-]*|#[A-Z]?[0-9]+|[A-Z]{3})\Z")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")


def bare(value: JSON) -> JSON:
    """Return what books need of JSON: numbers, ids, currencies and the form; every other text becomes empty.

    An id is one short word with a sign and a digit in it, such as INV-1001 or a UUID; digits alone may be a telephone
    number.
    """
    if isinstance(value, dict):
        return {key: bare(item) for key, item in value.items()}
    if isinstance(value, list):
        return [bare(item) for item in value]
    if isinstance(value, str):
        return value if _ID.match(value) or _UUID.match(value) else ""
    return value
