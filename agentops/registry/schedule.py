"""What a role has to do by the calendar, without anybody asking for it (values only)."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID


@dataclass
class Run:
    """What a run came to: the sentence of each thing that was done, and of each that a person has to look at."""

    done: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ScheduleSpec:
    """Something that is looked after ``every`` so often, for each tenant that has an agent of the role.

    ``run(tenant_id, now, limit)`` does at most ``limit`` of the things that are due, each in a transaction of its own,
    so that it can be broken off anywhere, repeated, and run twice at once. What is refused stays due.
    """

    name: str
    title: str
    every: timedelta
    run: Callable[[UUID, datetime, int], Run]
