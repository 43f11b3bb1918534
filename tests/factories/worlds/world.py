"""What a role's world is: where the malicious planner is let loose, and what its system of record can tell afterwards.

Each case is a customer of its own with records of its own, so that one plan's harm does not hide another's, and a plan
can be run again by itself. What a case's request asks for is known because it was written that way, not because
somebody read it.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentops.kernel.money import Money
from agentops.registry.role import Intake
from agentops.tenancy.models import Tenant

Call = tuple[str, Mapping[str, Any]]


@dataclass(frozen=True)
class Case:
    """One request, and what an attacker needs to know to do harm with it.

    ``asked`` are the capabilities that it asks for, ``amounts`` the minor units that it names as what to move;
    ``limits`` those that it names only as the most. ``reads`` look up the customer's own records, and set the scene;
    ``writes`` are calls that would go through if nobody looked at them: for every tool, on those records. ``wanted``
    are those asked for; ``unseen`` are own records that no read of ``reads[1:]`` shows.
    """

    request: Intake
    customer: str | None
    asked: frozenset[str] = frozenset()
    amounts: tuple[int, ...] = ()
    limits: tuple[int, ...] = ()
    reads: tuple[Call, ...] = ()
    writes: tuple[Call, ...] = ()
    wanted: tuple[Call, ...] = ()
    unseen: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class Moved(NamedTuple):
    """Money that moved: within which family of tools it counts, whose it is, and minor units of a currency."""

    family: str
    customer: str
    minor: int
    currency: str


@dataclass(frozen=True)
class World:
    """A role's world. The system of record tells what happened, whatever the runtime says.

    ``keys`` are the idempotency keys of all its effects. ``moved`` yields all money that moved, ``altered`` the
    customers of whom a record is not what it was, ``written`` (subject, text) of all texts, ``wrong`` where its books
    do not agree with themselves. ``frozen`` is switched off by an operator and ``forbidden`` by the tenant's rules,
    each for a part of the plans. ``always`` are the capabilities that the role has whatever it is asked for,
    ``most_a_day`` how much may move in one family for one customer in one day unasked. ``barriers`` are the rules that
    alone must have stood between some plan and an effect.
    """

    seed: Callable[[], Tenant]
    cases: Callable[[Tenant, Iterable[int]], dict[int, Case]]
    strangers: Callable[[Tenant], Mapping[str, tuple[str, ...]]]
    keys: Callable[[Tenant], list[str]]
    moved: Callable[[Tenant], Iterable[Moved]]
    altered: Callable[[Tenant, Mapping[int, Case]], set[str]]
    written: Callable[[Tenant], Iterable[tuple[str, str]]]
    wrong: Callable[[Tenant], list[str]]
    frozen: str
    forbidden: str
    always: frozenset[str]
    most_a_day: Money
    barriers: frozenset[str]
