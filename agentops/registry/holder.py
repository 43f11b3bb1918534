"""What keeps data about people tells and erases it here (pure).

A holder is named in ``settings.SUBJECT_HOLDERS``, or by its role. It is called inside the transaction that destroys the
subject's keys, so that either everything is erased or nothing.
"""

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
