"""What scenarios need of people: accounts that decide what waits. Settings name the implementation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol, cast
from uuid import UUID

from django.conf import settings
from django.utils.module_loading import import_string


@dataclass(frozen=True)
class Waiting:
    """A call that waits for people: ``people`` of them must approve, of whom ``missing`` have not yet.

    ``why`` are the words of the rules that ask.
    """

    request_id: UUID
    tool: str
    arguments: dict[str, Any]
    people: int
    missing: int
    why: tuple[str, ...]


class People(Protocol):
    """Accounts that decide through the same operations as people in a browser. Implemented by the approvals app.

    Whatever is refused is raised as an AgentOpsError with the code that a person would be told.
    """

    def hire(self, tenant_id: UUID, names: Sequence[str]) -> None:
        """Let these accounts, made where there are none, decide every queue of the tenant."""

    def waiting(self, session_id: UUID) -> Waiting | None:
        """Return what the session waits to have decided, None when it waits for no decision."""

    def approve(self, request_id: UUID, *, person: str) -> None:
        """Approve it as one person; what cannot be undone also gets its acknowledgement and second factor."""

    def reject(self, request_id: UUID, *, person: str, reason: str) -> None:
        """Reject it as one person."""

    def edit(self, request_id: UUID, *, person: str, arguments: Mapping[str, Any], reason: str) -> None:
        """Propose it with all of these arguments instead, as one person's own."""

    def let_expire(self, request_id: UUID) -> None:
        """Let the time pass in which somebody could have decided."""


@cache
def people() -> People:
    """Return the people that ``settings.SCENARIO_PEOPLE`` names."""
    return cast("People", import_string(settings.SCENARIO_PEOPLE)())
